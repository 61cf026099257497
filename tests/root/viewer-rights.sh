#!/bin/sh
# Root that views a profile of another user has given up its rights before it decodes a byte of it. What the command
# line asks for is done all the same: -o into folders of root, --source-path.
. "${TOP:?}/tests/root/lib.sh"

here=$(pwd)
mkdir -m 700 closed
printf 'int only_root_may_read_this;\n' >closed/secret.c
chmod 600 closed/secret.c
# A user named by many functions: the listings are longer than a pipe.
# shellcheck disable=SC2046 # a list of words
python3 "$TOP/tests/cli/data/naming.py" strange.made.gz "$here/closed/secret.c" $(seq -f '/b/%g.c' 300)
chown 65534:65534 strange.made.gz
"$LB" run -F 999 -o hot.pb.gz -- "$(build hot.c)" 2 >out 2>err || fail hot "$(tail -n 1 err)"
chown 65534:65534 hot.pb.gz
chmod 644 strange.made.gz hot.pb.gz
cp strange.made.gz closed/
cp "$LB" lineburn
chmod 755 . lineburn

# all_views COMMAND...: runs the command, and all ways to view a profile behind it
all_views() {
	"$@" annotate --no-pager strange.made.gz &&
		"$@" annotate --json strange.made.gz &&
		"$@" annotate --asm=five hot.pb.gz &&
		"$@" report strange.made.gz &&
		"$@" html -o - strange.made.gz &&
		"$@" export -f firefox -o - strange.made.gz &&
		"$@" export -f pprof -o - strange.made.gz &&
		"$@" diff --format json strange.made.gz strange.made.gz
}

# without_rights COMMAND...: it has none while it writes; as the user would see it
without_rights() {
	python3 -S "$TOP/tests/root/rights.py" writing own out "$LB" "$@" 2>err || { tail -n 1 err; return 1; }
	setpriv --reuid=65533 --regid=65533 --clear-groups "$here/lineburn" "$@" >user.out 2>user.err ||
		{ tail -n 1 user.err; return 1; }
	cmp out user.out && cmp err user.err
}
check rights-given-up all_views without_rights

# Those of the user who called sudo, if the profile is that user's; root's own are kept.
sudos_user() {
	SUDO_UID=65534 SUDO_GID=65534 python3 -S "$TOP/tests/root/rights.py" writing 65534 out \
		"$LB" annotate --json strange.made.gz 2>err || { tail -n 1 err; return 1; }
	SUDO_UID=65533 SUDO_GID=65533 python3 -S "$TOP/tests/root/rights.py" writing own out \
		"$LB" annotate --json strange.made.gz 2>err || { tail -n 1 err; return 1; }
	cp strange.made.gz roots.made.gz
	! python3 -S "$TOP/tests/root/rights.py" writing 0 out "$LB" annotate --json --sources roots.made.gz 2>err || return 1
	[ "$(cat err)" = "CapPrm $(sed -n 's/^CapPrm:\t//p' /proc/self/status)" ] || { cat err; return 1; }
	"$LB" annotate --json strange.made.gz >direct.json && grep -q '"withheld\|not a file of yours' direct.json &&
		grep -q only_root out
}
check rights-by-owner sudos_user

# Before the first byte of a profile: also if a file is written, by a process of its own.
# waits_without OUTPUT COMMAND...: the profile comes through a pipe; root's folder has the same as stdout
waits_without() {
	output=$1
	shift
	INPUT=strange.made.gz python3 -S "$TOP/tests/root/rights.py" reading own none "$LB" "$@" -o "closed/$output" - 2>err ||
		{ tail -n 1 err; return 1; }
	[ ! -s none ] || { echo "it wrote to stdout"; return 1; }
	[ "$(stat -c %U:%a "closed/$output")" = root:600 ] || { stat "closed/$output"; return 1; }
	"$LB" "$@" -o - - <strange.made.gz >direct 2>/dev/null && cmp direct "closed/$output"
}
into_roots_folder() {
	waits_without page.html html && waits_without x.json export -f firefox && waits_without x.csv export -f csv || return 1
	"$LB" diff strange.made.gz roots.made.gz --format json -o closed/d.json 2>err || { tail -n 1 err; return 1; }
	"$LB" diff strange.made.gz roots.made.gz --format json >direct && cmp direct closed/d.json
}
check output-into-roots-folder into_roots_folder

# The process that writes says so itself; the exit status is as ever.
says_why() {
	"$LB" html -o closed/again.html strange.made.gz 2>err || { cat err; return 1; }
	[ "$(sed '/not opened/d' err)" = "lineburn: the page is closed/again.html" ] || { cat err; return 1; }
	ln -sfn /proc/self/fd/1 closed/link
	status=0
	"$LB" html -o closed/link strange.made.gz 2>err || status=$?
	[ $status -eq 1 ] && one_sentence err && grep -q "it is a link to an open file" err
}
check output-refused says_why

asked_for() {
	"$LB" annotate --asm=five --sources hot.pb.gz >asm 2>err || { tail -n 1 err; return 1; }
	grep -q ' imul ' asm || { echo "no instructions: $(grep 'no instr' asm)"; return 1; }
	"$LB" annotate --json --source-path "$here=$here" strange.made.gz >by.json 2>err || return 1
	grep -q only_root_may_read_this by.json || { echo "--source-path shows nothing"; return 1; }
	"$LB" annotate --json --sources strange.made.gz >by.json 2>err && grep -q only_root_may_read_this by.json
}
check files-opened-by-request asked_for

# Debug info from a server: the caller's folder for it is not this user's any more.
from_a_server() {
	gcc -g -O1 -o bare "$WORKLOADS/hot.c" && id=$(readelf -n bare | sed -n 's/.*Build ID: //p') &&
		mkdir -p "server/buildid/$id" && objcopy --only-keep-debug bare "server/buildid/$id/debuginfo" && strip bare || return 1
	"$LB" run -F 999 -o bare.made.gz -- ./bare 2 >out 2>err || { tail -n 1 err; return 1; }
	chown 65534 bare.made.gz
	mkdir -p home tmp
	chmod 1777 tmp
	HOME=$here/home TMPDIR=$here/tmp DEBUGINFOD_URLS=file://$here/server "$LB" annotate --json bare.made.gz >bare.json 2>err ||
		{ tail -n 1 err; return 1; }
	grep -q 'hot\.c"' bare.json || { echo "no lines"; return 1; }
	[ -z "$(find tmp home -mindepth 1)" ] || { echo "left behind: $(find tmp home -mindepth 1)"; return 1; }
}
check debug-info-from-a-server from_a_server

# Garbage and a bomb: one sentence, no file, nothing left behind.
refuses() {
	chown 65534:65534 "$1"
	find closed >before
	status=0
	"$LB" html -o closed/none.html "$1" >out 2>err || status=$?
	[ $status -eq 1 ] || { echo "$1: status $status"; return 1; }
	one_sentence err && find closed | cmp - before
}
hostile() {
	head -c 100000 /dev/urandom >garbage && head -c 200m /dev/zero | gzip -1 | cat - - - - >bomb || return 1
	head -c 1000 strange.made.gz >cut.off
	refuses garbage && refuses bomb && refuses cut.off
}
check hostile-profiles hostile

# The capabilities of a lineburn that may record open nothing for its user, who is the writer here.
cp strange.made.gz users.made.gz
chown 65533:65533 users.made.gz
capable() {
	setpriv --reuid=65533 --regid=65533 --clear-groups --inh-caps=+dac_read_search,+sys_ptrace \
		--ambient-caps=+dac_read_search,+sys_ptrace "$here/lineburn" annotate --json users.made.gz >cap.json 2>err ||
		{ tail -n 1 err; return 1; }
	! grep only_root_may cap.json
}
check capabilities-open-nothing capable

# Nor do they lead its output through a closed folder, into one that anybody may write to.
mkdir -m 700 shut && mkdir -m 777 shut/open
writes_nowhere() {
	for command in "html -o shut/open/page.html users.made.gz" \
		"export -f folded -o shut/open/stacks users.made.gz" \
		"diff -o shut/open/diff.txt users.made.gz users.made.gz"; do
		# shellcheck disable=SC2086 # words
		! setpriv --reuid=65533 --regid=65533 --clear-groups --inh-caps=+dac_read_search,+dac_override \
			--ambient-caps=+dac_read_search,+dac_override "$here/lineburn" $command 2>err || return 1
		grep -q "cannot write shut/open/.*: Permission denied" err || { cat err; return 1; }
	done
	[ -z "$(ls shut/open)" ]
}
check capabilities-write-nothing writes_nowhere
