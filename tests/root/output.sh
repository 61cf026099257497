#!/bin/sh
# The output file: written safely, the old one kept, with the right owner, or not written; the page beside it.
. "${TOP:?}/tests/root/lib.sh"

hot=$(build hot.c)

kept() {
	"$LB" run -- "$hot" 3 >/dev/null 2>err && cp lineburn.pb.gz first || return 1
	"$LB" run -- "$hot" 3 >/dev/null 2>err || return 1
	cmp -s first lineburn.pb.gz.old || { echo "no lineburn.pb.gz.old with the first"; return 1; }
	[ "$(stat -c %a lineburn.pb.gz)" = 600 ] || { echo "mode $(stat -c %a lineburn.pb.gz)"; return 1; }
}
check old-output-kept kept

# The output file replaces a link; the link's target stays unchanged.
# replaces FILE: records to FILE, which is a link
replaces() {
	"$LB" run -F 999 -o "$1" -- "$hot" 3 >/dev/null 2>err || { echo "status $?: $(tail -n 1 err)"; return 1; }
	[ ! -L "$1" ] || { echo "the link is still there"; return 1; }
	"$LB" annotate --json "$1" >link.json && profile_has link.json "s['count'] > 20"
}
symlink() {
	echo precious >target
	ln -sf target link.pb.gz
	replaces link.pb.gz || return 1
	[ "$(cat target)" = precious ] || { echo "the target was overwritten"; return 1; }
}
check output-symlink symlink
dangling() {
	ln -sf nowhere dangling.pb.gz
	replaces dangling.pb.gz || return 1
	[ ! -e nowhere ] || { echo "written through the link"; return 1; }
}
check output-symlink-dangling dangling

# recorded TARGET OPTION...: "record" of -a or -p beside a busy program, which is the target of -p; for longer if
# that got no CPU time (status 4)
recorded() {
	recorded_target=$1
	shift
	"$hot" 1000 >/dev/null &
	recorded_hot=$!
	[ "$recorded_target" = -a ] || recorded_target="-p $recorded_hot"
	for s in 0.2 2 20; do
		status=0
		# shellcheck disable=SC2086 # an option and its argument
		"$LB" record $recorded_target -F 999 -d $s "$@" >out 2>err || status=$?
		[ $status -eq 4 ] || break
	done
	kill_own $recorded_hot
	return "$status"
}

# A hard link of the output is another file, and keeps its text. What is no file is refused, and not opened.
hard_link() {
	echo precious >target
	ln -f target hard.pb.gz
	recorded -a -o hard.pb.gz || { tail -n 1 err; return 1; }
	[ "$(cat target)" = precious ] || { echo "the other name was changed"; return 1; }
	[ "$(stat -c %h target)" -eq 1 ] || { echo "it is a link still"; return 1; }
}
check output-hard-link hard_link
# refuses FILE COMMAND...: in one sentence, and before it begins
refuses() {
	file=$1
	shift
	status=0
	timeout 60 "$LB" "$@" >out 2>err || status=$?
	[ $status -eq 1 ] && [ ! -e started ] && one_sentence err && grep -q "$file: it is a pipe, socket or disk;" err && return 0
	echo "$1: status $status: $(tail -n 1 err)"
	return 1
}
no_file() {
	mkfifo fifo.out
	mknod whiteout.out c 0 0
	mknod -m 600 disk.out b 1 0
	for file in fifo.out whiteout.out disk.out; do
		refuses "$file" record -a -d 60 -o "$file" && refuses "$file" run -o "$file" -- touch started || return 1
	done
}
check output-is-no-file no_file

# A full disk.
mkdir disk
if mount -t tmpfs -o size=64k tmpfs disk 2>mount.err; then
	full() {
		head -c 1m /dev/zero >disk/fill 2>/dev/null
		recorded -a -o disk/p.pb.gz
		[ "$status" -eq 1 ] || { echo "record: status $status: $(tail -n 1 err)"; return 1; }
		one_sentence err || return 1
		[ "$(ls disk)" = fill ] || { echo "left behind: $(ls disk)"; return 1; }
		status=0
		"$LB" run -F 99 -o disk/p.pb.gz -- "$hot" 3 >out 2>err || status=$?
		[ "$status" -eq 125 ] || { echo "run: status $status: $(tail -n 1 err)"; return 1; }
		[ "$(ls disk)" = fill ] || { echo "left behind: $(ls disk)"; return 1; }
		grep -q "^Where the CPU goes" out || { echo "run: no listing"; return 1; }
	}
	check disk-full full
	umount disk
else
	skip disk-full "$(tail -n 1 mount.err)"
fi

# ---- pages ----

# has_page NAME: NAME.html and NAME.pb.gz are there, with the owner and mode of each other; err names both, and
# the page is that of lineburn html.
has_page() {
	[ "$(stat -c %U:%a "$1.html")" = "$(stat -c %U:%a "$1.pb.gz")" ] ||
		{ echo "page $(stat -c %U:%a "$1.html"), profile $(stat -c %U:%a "$1.pb.gz")"; return 1; }
	grep -q "^lineburn: the page is $1.html, the profile $1.pb.gz\$" err || { tail -n 1 err; return 1; }
	"$LB" html "$1.pb.gz" -o - >again.html 2>html.err || { tail -n 1 html.err; return 1; }
	cmp again.html "$1.html"
}
run_page() {
	"$LB" run -F 999 -o p.html -- "$hot" 3 >out 2>err || { tail -n 1 err; return 1; }
	has_page p && grep -q "^Where the CPU goes" out
}
check run-writes-a-page run_page
record_page() {
	recorded -p -o q.html || { tail -n 1 err; return 1; }
	has_page q
}
check record-writes-a-page record_page
# A browser is not started as root.
mkdir bin
cat >bin/xdg-open <<-END
	#!/bin/sh
	echo "\$(id -un) \$1" >"$PWD/home/opened.new"
	mv "$PWD/home/opened.new" "$PWD/home/opened"
END
chmod 755 bin bin/xdg-open
mkdir home
open_as_root() {
	PATH=$PWD/bin:$PATH "$LB" run -F 999 --open -o r.html -- "$hot" 3 >out 2>err || { tail -n 1 err; return 1; }
	grep -q "lineburn starts no browser as root: open $PWD/r.html as" err || { tail -n 1 err; return 1; }
	has_page r && [ ! -e home/opened ]
}
check root-opens-no-browser open_as_root

missing_folder() {
	status=0
	"$LB" record -a -d 1 -o no/such/folder.pb.gz >out 2>err || status=$?
	[ "$status" -eq 1 ] && one_sentence err
}
check output-without-folder missing_folder

# ---- under sudo ----

if ! command -v sudo >/dev/null || [ ! -d /etc/sudoers.d ]; then
	skip sudo "no sudo"
	exit 0
fi
user=lbtest$$
rule=/etc/sudoers.d/$user
cleanup() {
	rm -f "$rule"
	userdel "$user" 2>/dev/null
	groupdel "$user-extra" 2>/dev/null
}
trap cleanup EXIT
if ! { groupadd "$user-extra" && useradd -M -d /nonexistent -s /bin/sh -G "$user-extra" "$user"; } 2>add.err; then
	skip sudo "$(tail -n 1 add.err)"
	exit 0
fi
echo "$user ALL=(root) NOPASSWD: ALL" >"$rule"
chmod 440 "$rule"
chown "$user" home
cp "$LB" /tmp/"$user"
chmod 755 /tmp/"$user"
chmod 755 .
# shellcheck disable=SC2016 # for the user's shell
as_user() {
	setpriv --reuid="$user" --regid="$user" --init-groups env -i PATH="$PATH" FOO=bar HOME="$PWD/home" \
		sh -c "cd '$PWD/home' && $1"
}
sudo_run() {
	as_user "sudo -n /tmp/$user run -F 999 -- sh -c 'id; echo \"FOO=\$FOO SUDO=\$SUDO_UID HOME=\$HOME\"; i=0; while [ \$i -lt 200000 ]; do i=\$((i+1)); done'" >out 2>err ||
		{ tail -n 1 err; return 1; }
	grep -q "^uid=[0-9]*($user) gid=[0-9]*($user) groups=.*$user-extra" out || { echo "id: $(head -n 1 out)"; return 1; }
	grep -q "^FOO=bar SUDO= HOME=$PWD/home\$" out || { echo "environment: $(sed -n 2p out)"; return 1; }
}
check sudo-user-and-environment sudo_run
check sudo-owner-of-output test "$(stat -c %U:%a home/lineburn.pb.gz)" = "$user:600"
sudo_annotate() {
	as_user "/tmp/$user annotate --json" >sudo.json 2>err || { tail -n 1 err; return 1; }
	profile_has sudo.json "s['count'] > 50" "sums_close()"
}
check sudo-user-reads-it sudo_annotate
# The page belongs to the user, whose browser opens it; the profile, too.
sudo_page() {
	as_user "PATH='$PWD/bin':\$PATH sudo -n /tmp/$user run -F 999 --open -o p.html -- sh -c 'i=0; while [ \$i -lt 200000 ]; do i=\$((i+1)); done'" >out 2>err ||
		{ tail -n 1 err; return 1; }
	[ "$(stat -c %U:%a home/p.html home/p.pb.gz)" = "$user:600
$user:600" ] || { echo "owners: $(stat -c %U:%a home/p.html home/p.pb.gz)"; return 1; }
	wait_until 10 test -e home/opened || { echo "nothing opened it: $(tail -n 1 err)"; return 1; }
	[ "$(cat home/opened)" = "$user $PWD/home/p.html" ] || { echo "opened: $(cat home/opened), not $PWD/home/p.html"; return 1; }
}
check sudo-opens-the-page sudo_page
# Under sudo, lineburn refuses a folder that the user cannot write to, before it starts the command.
sudo_no_escape() {
	mkdir -p closed
	chmod 700 closed
	status=0
	as_user "touch '$PWD/home/started' && rm '$PWD/home/started'" || { echo "it cannot be seen"; return 1; }
	as_user "sudo -n /tmp/$user run -o '$PWD/closed/p.pb.gz' -- touch '$PWD/home/started'" >out 2>err || status=$?
	[ "$status" -eq 1 ] && [ ! -e closed/p.pb.gz ] && [ ! -e home/started ] && return 0
	echo "status $status, in the folder: $(ls closed)"
	return 1
}
check sudo-writes-as-the-user sudo_no_escape
# The command puts another folder in place of that of the output, where only root may write: a link to it.
sudo_swapped() {
	as_user "mkdir -p '$PWD/home/swapped'" || return 1
	status=0
	as_user "sudo -n /tmp/$user run -o swapped/p.html -- sh -c 'mv swapped was; ln -s $PWD/closed swapped; $PWD/hot 3'" >out 2>err || status=$?
	# Profile and page are in the folder that the name led to at first.
	[ "$status" -eq 0 ] && [ -z "$(ls closed)" ] && [ -s home/was/p.pb.gz ] && [ -s home/was/p.html ] &&
		[ "$(grep -c "the file is in $PWD/home/was" err)" -eq 2 ] && return 0
	echo "status $status, in the folders: $(ls closed), $(ls home/was): $(tail -n 1 err)"
	return 1
}
cp "$hot" hot
check sudo-folder-swapped sudo_swapped
rm -f /tmp/"$user"
