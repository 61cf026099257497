#!/bin/sh
# Root reads other users' profiles: lineburn opens no file that they name, except with --sources.
. "${TOP:?}/tests/root/lib.sh"

here=$(pwd)
printf 'int only_root_may_read_this;\n' >secret.c
chmod 600 secret.c
printf 'int everybody_may_read_this;\n' >public.c
chmod 644 public.c
mkfifo -m 666 fifo.c
python3 "$TOP/tests/cli/data/naming.py" names.made.gz \
	"$here/secret.c" "$here/public.c" "$here/fifo.c" /proc/kmsg /proc/version
chown 65534:65534 names.made.gz
cp names.made.gz roots.made.gz
chown 0:0 roots.made.gz

# view ARGUMENT...: annotate's JSON goes to "json", its messages to "said", opened files to "opened"
view() {
	# shellcheck disable=SC2016 # for the inner shell
	python3 -S "$TOP/tests/root/opened.py" secret.c public.c fifo.c -- \
		sh -c '"$LB" annotate --json "$@" >json 2>said' annotate "$@" 2>opened || {
		echo "annotate $*: $(cat said opened)"
		return 1
	}
}

# is SHOWN OPENED: the texts of the lines that are shown, and the files that were opened
is() {
	shown=$(python3 -c '
import json
print(*sorted(line["text"] for f in json.load(open("json"))["files"] for line in f["lines"]
              if line["text"]), sep=",")')
	[ "$shown" = "$1" ] || { echo "shown: $shown, not $1"; return 1; }
	[ "$(sort -u opened | tr '\n' ' ')" = "$2" ] || { echo "opened: $(cat opened), not $2"; return 1; }
}

# tells NR: the message that NR files were not opened, and what to do about it
tells() {
	[ "$(cat said)" = "lineburn: $1 files that the profile names were not opened, since the profile is not a file of yours; --sources opens what it names" ] ||
		{ echo "said: $(cat said)"; return 1; }
}
public="int everybody_may_read_this;"
secret="int only_root_may_read_this;"

of_another() {
	view names.made.gz && is "" "" && tells 5
}
check strangers-profile-opens-nothing of_another

from_a_pipe() {
	# shellcheck disable=SC2016 # for the inner shell
	python3 -S "$TOP/tests/root/opened.py" secret.c public.c fifo.c -- \
		sh -c 'cat roots.made.gz | "$LB" annotate --json - >json 2>said' 2>opened || return 1
	is "" "" && tells 5
}
check profile-from-a-pipe-opens-nothing from_a_pipe

asked_for() {
	view --sources names.made.gz && is "$public,$secret" "public.c secret.c "
}
check sources-when-asked-for asked_for

of_root() {
	view roots.made.gz && is "$public,$secret" "public.c secret.c "
}
check own-profile-shows-sources of_root

# A profile of the user who called sudo: sources are read with that user's rights.
of_sudos_user() {
	SUDO_UID=65534 SUDO_GID=65534 view names.made.gz && is "$public" "public.c " || return 1
	SUDO_UID=65533 SUDO_GID=65533 view names.made.gz && is "" ""
}
check sudo-reads-sources-as-the-user of_sudos_user
