#!/bin/sh
# The static binary in roots without libraries: an empty one, with the C library that musl-tools
# installs, read-only, without BTF or names of the kernel's functions; that of arm64 under qemu.
# Takes 120 s.
. "${TOP:?}/tests/root/lib.sh"
static=$TOP/build/static/x86_64/lineburn
arm64=$TOP/build/static/arm64/lineburn

# An archive of a distribution with musl cannot be had here: musl's loader and a program for it stand for it.
make_roots() {
	make -C "$TOP" -s -j1 static >build.log 2>&1 || { tail -n 1 build.log; return 1; }
	: >nothing
	for root in empty musl; do
		mkdir -p $root/proc $root/sys $root/tmp
		cp "$static" $root/lineburn || return 1
	done
	# shellcheck disable=SC2086 # flags
	gcc $C_FLAGS -static -o empty/hot "$WORKLOADS/hot.c" &&
		musl-gcc $C_FLAGS -o musl/hot "$WORKLOADS/hot.c" || return 1
	loader=$(readelf -p .interp musl/hot | sed -n 's/.*\(\/lib.*\)/\1/p')
	mkdir -p "musl$(dirname "$loader")" && cp "$(realpath "$loader")" "musl$loader"
}
check static-roots make_roots

# within ROOT BEFORE COMMAND...: runs COMMAND in ROOT with /proc, /sys and an empty /tmp, after the shell's BEFORE
within() {
	# shellcheck disable=SC2016 # for the inner shell
	timeout 120 unshare -m --propagation private sh -c '
		root=$1 before=$2
		shift 2
		mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount -t sysfs sys "$root/sys" || exit 99
		eval "$before" || exit 99
		exec chroot "$root" "$@"' sh "$@"
}

# recorded_in ROOT BEFORE FILE SEEN: the lines of /hot are found by a recording into FILE, which is SEEN outside
recorded_in() {
	rm -f "$4"
	within "$1" "$2" /lineburn run -F 499 -o "$3" -- /hot 10 >run.log 2>&1 || { tail -n 1 run.log; return 1; }
	"$LB" annotate --json "$4" >out.json || return 1
	profile_has out.json "s['count'] >= 100" "s['with_line'] >= 0.9 * s['count']" "s['lost'] == 0" "hottest() == is_at('hot.c five')"
}
check static-empty-root recorded_in empty : /out.pb.gz empty/out.pb.gz
check static-musl-root recorded_in musl : /out.pb.gz musl/out.pb.gz

# Only the folder of the recording can be written to, and nothing in it can be executed.
mkdir -p out
# shellcheck disable=SC2016 # for the inner shell
check static-read-only recorded_in empty \
	'mount --bind out $root/tmp && mount -o remount,bind,noexec $root/tmp && mount -o remount,bind,ro $root' \
	/tmp/out.pb.gz out/out.pb.gz

# A list of the kernel's functions that is empty.
# shellcheck disable=SC2016 # for the inner shell
check static-no-kallsyms recorded_in empty 'mount --bind nothing $root/proc/kallsyms' /out.pb.gz empty/out.pb.gz

# A recording in the empty root is seen there: text, page, other formats.
seen_inside() {
	within empty : /lineburn annotate /out.pb.gz >annotate.out 2>&1 && grep -q 'hot.c:.*five' annotate.out || { tail -n 1 annotate.out; return 1; }
	within empty : /lineburn annotate --asm /out.pb.gz >asm.out 2>&1 && grep -q imul asm.out || { tail -n 1 asm.out; return 1; }
	within empty : /lineburn html -o /out.html /out.pb.gz >html.out 2>&1 && [ -s empty/out.html ] || { cat html.out; return 1; }
}
check static-views seen_inside

# says BEFORE TEXT COMMAND...: the command ends with one sentence, TEXT
says() {
	said_before=$1 said=$2
	shift 2
	! within empty "$said_before" /lineburn "$@" >said.out 2>&1 || { echo "it ended well"; return 1; }
	[ "$(wc -l <said.out)" -eq 1 ] && grep -qF "$said" said.out || { cat said.out; return 1; }
}
# shellcheck disable=SC2016 # for the inner shell
{
	check static-no-btf says 'mount -t tmpfs none $root/sys/kernel/btf' CONFIG_DEBUG_INFO_BTF run -- /hot 1
	check static-no-proc says 'umount $root/proc' "mount -t proc proc /proc" run -- /hot 1
	check static-no-sys says 'umount $root/sys' "mount sysfs" run -- /hot 1
	check static-read-only-default says 'mount -o remount,bind,ro $root' "choose another place with -o" run -- /hot 1
}
check static-no-getent says : "no /usr/bin/getent here that knows others; give the user's number" record -d 1 --user from-afar

# A terminal that nothing here describes: top has its description.
screen_without_terminfo() {
	within_top="unshare -m --propagation private sh -c 'mount -t proc proc empty/proc && mount -t sysfs sys empty/sys &&
		exec chroot empty /lineburn top'"
	(sleep 4; printf q) | TERM=xterm-256color timeout 60 script -qec "$within_top" /dev/null >top.out 2>&1 ||
		{ tail -n 1 top.out; return 1; }
	grep -q 'samples at 99 Hz' top.out || { tail -n 1 top.out; return 1; }
}
check static-top screen_without_terminfo

# Of another architecture, under qemu, which has no BPF: what shows a profile prints the same as here.
views_agree() {
	"$TOP/tools/setup.sh" cross >>build.log 2>&1 && make -C "$TOP" -s static ARCH=arm64 >>build.log 2>&1 ||
		{ tail -n 1 build.log; return 1; }
	qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64)
	cp empty/out.pb.gz . || return 1
	for view in --help "annotate out.pb.gz" "annotate --json out.pb.gz" "report out.pb.gz" "report --callees out.pb.gz" \
		"export -f folded -o - out.pb.gz" "export -f speedscope -o - out.pb.gz" "export -f pprof -o - out.pb.gz" \
		"diff out.pb.gz out.pb.gz"; do
		# shellcheck disable=SC2086 # words
		"$LB" $view >native 2>&1 || { tail -n 1 native; return 1; }
		# shellcheck disable=SC2086 # words
		"$qemu" "$arm64" $view >other 2>&1 || { echo "$view: $(tail -n 1 other)"; return 1; }
		cmp native other || { echo "$view: they differ"; return 1; }
	done
}
check static-arm64 views_agree

# Two builds in folders of other names are the same, byte by byte, and do not name them.
reproducible() {
	git -C "$TOP" diff --quiet HEAD || echo "note: only what is committed is built"
	for folder in one another/folder; do
		git clone -q "$TOP" $folder && make -C $folder -s static >>build.log 2>&1 &&
			mkdir -p $folder/build/sysroot && ln -s "$TOP/build/sysroot/arm64" $folder/build/sysroot/arm64 &&
			make -C $folder -s static ARCH=arm64 >>build.log 2>&1 || { tail -n 1 build.log; return 1; }
	done
	for arch in x86_64 arm64; do
		cmp one/build/static/$arch/lineburn another/folder/build/static/$arch/lineburn || return 1
		! grep -qaF "$PWD" one/build/static/$arch/lineburn || { echo "$arch: it has the name of its folder"; return 1; }
		bytes=$(stat -c %s one/build/static/$arch/lineburn)
		[ "$bytes" -le 8000000 ] || { echo "$arch: $bytes bytes"; return 1; }
	done
}
check static-reproducible reproducible
