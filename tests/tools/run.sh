#!/bin/sh
# Tests the tools: lint finds mistakes, set-up explains refusals, check.sh and run.sh add up results.
# Last line: "tools: N passed, N failed".
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# verdict NAME STATUS: records a result, in a file because callers often run in a subshell of a pipe
verdict() {
	if [ "$2" -eq 0 ]; then
		echo "ok $1" >>"$work/results"
	else
		echo "not ok $1" | tee -a "$work/results"
		sed 's/^/    /' "$work/out"
	fi
}
# holds NAME COMMAND...: the command succeeds
holds() {
	holds_name=$1
	holds_status=0
	shift
	"$@" || holds_status=$?
	verdict "$holds_name" $holds_status
}

# ends_with NAME STATUS COMMAND...: the command ends with that status
ends_with() {
	name=$1
	want=$2
	shift 2
	status=0
	"$@" >"$work/out" 2>&1 || status=$?
	verdict "$name" $((status != want))
}

# A copy of the tree, with the generated headers of the real one.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
tree=$work/tree
mkdir "$tree"
(cd "$top" && git ls-files -z ':!tests/fuzz/corpus' | xargs -0 cp -P --parents -t "$tree")
ln -s "$top/build" "$tree/build"
cp "$top/compile_commands.json" "$tree/" 2>/dev/null
git -C "$tree" init -q
git -C "$tree" add -A >/dev/null 2>&1

# finds CHECK FILE: appends stdin to FILE; lint's CHECK must fail and name the file
finds() {
	if [ -e "$tree/$2" ]; then
		cp "$tree/$2" "$work/before"
	fi
	cat >>"$tree/$2"
	git -C "$tree" add "$2"
	"$tree/tools/lint.sh" "$1" >"$work/out" 2>&1
	grep -qF "$(basename "$2")" "$work/out" &&
		grep -qE '^lint: [0-9]+ passed, [1-9][0-9]* failed' "$work/out"
	verdict "lint $1 finds what is wrong in $2" $?
	if [ -e "$work/before" ]; then
		mv "$work/before" "$tree/$2"
	else
		git -C "$tree" rm -qf --cached "$2"
		rm -f "$tree/$2"
	fi
}

ends_with "lint passes the tree as it is" 0 \
	"$tree/tools/lint.sh" includes libraries sizes loose

# A small tree, for checks that take long.
small=$work/small
mkdir "$small"
(cd "$tree" && cp --parents tools/lint.sh src/base/*.h "$small")
git -C "$small" init -q
git -C "$small" add -A

echo '#include "process/process.h"' | finds includes src/base/io.c
echo '# include "symbolize/symbolizer.h"' | finds includes src/render/annotate.c
echo '#include "io.h"' | finds includes src/base/vec.c
echo '#include <base/io.h>' | finds includes src/process/maps.c
cp "$tree/src/base/vec.h" "$work/vec.h"
echo '#include "base/io.h"' >>"$tree/src/base/vec.h"
"$tree/tools/lint.sh" includes >"$work/out" 2>&1
grep -q 'base/vec$' "$work/out" && grep -q ' 1 failed' "$work/out"
verdict "lint finds a circle" $?
cp "$work/vec.h" "$tree/src/base/vec.h"
for name in one:two two:one; do
	echo "void ${name#*:}(void); void ${name%:*}(void); void ${name%:*}(void) { ${name#*:}(); }" >"$small/src/base/${name%:*}.c"
	mkdir -p "$small/build/src/base"
	gcc -c -o "$small/build/src/base/${name%:*}.o" "$small/src/base/${name%:*}.c"
done
git -C "$small" add src
"$small/tools/lint.sh" decoders >"$work/out" 2>&1
grep -q 'base/one$' "$work/out" && grep -q ' 1 failed' "$work/out"
verdict "lint finds a circle of calls" $?
rm -r "$small/build" "$small/src/base/one.c" "$small/src/base/two.c"
git -C "$small" add -A
mkdir "$tree/src/misc"
echo '#include "base/io.h"' >"$tree/src/misc/x.c"
"$tree/tools/lint.sh" includes >"$work/out" 2>&1
grep -q '^src/misc$' "$work/out" && grep -q ' 1 failed' "$work/out"
verdict "lint finds a folder that is in no table" $?
rm -r "$tree/src/misc"
echo '#include <bpf/libbpf.h>' | finds libraries src/process/maps.c
echo '#include <libelf.h>' | finds libraries src/render/annotate.c
echo '#include <zlib.h>' | finds libraries src/collect/sampler.c
echo 'size_t needs_a_header(uint64_t x);' | tree=$small finds headers src/base/alone.h
head -c 50000 /dev/zero | tr '\0' '/' | finds sizes src/base/io.c
if clang-format-14 --version >/dev/null 2>&1; then
	printf 'int\n  f( void ) {return 1;}\n' | finds format src/base/crooked.c
fi
if clang-tidy-14 --version >/dev/null 2>&1; then
	{
		printf 'int long_one(int x);\nint long_one(int x)\n{\n'
		awk 'BEGIN { for (i = 0; i < 80; i++) print "\tx += x;" }'
		printf '\treturn x;\n}\n'
	} >"$work/long"
	# Six commits: only files that changed lately are checked, which is quick.
	git -C "$tree" add -A
	for _ in 1 2 3 4 5 6; do
		git -C "$tree" -c user.name=x -c user.email=x commit -q --allow-empty -m "the tree as it is"
	done
	finds tidy src/base/long.c <"$work/long"
	grep -q 'error: .*function-size' "$work/out" && grep -q 'clang-tidy of 1 files failed' "$work/out"
	verdict "clang-tidy finds a function above 70 lines, in what changed" $?
	ends_with "clang-tidy looks at nothing where nothing changed" 0 "$tree/tools/lint.sh" tidy
fi
# shellcheck disable=SC2016 # to be found, not expanded
printf '#!/bin/sh\necho $x\n' | tree=$small finds shell tools/careless.sh
echo '/* FIXME */' | finds loose src/base/io.c
echo '#if 0' | finds loose bpf/arch.h

git init -q "$work/empty" && mkdir "$work/empty/tools"
cp "$top/tools/lint.sh" "$work/empty/tools/"
ends_with "lint of nothing is a failure, not a success" 1 "$work/empty/tools/lint.sh"
ends_with "lint refuses an unknown check" 2 "$top/tools/lint.sh" nonsense
ends_with "setup refuses an unknown list" 2 "$top/tools/setup.sh" nonsense
ends_with "try-debian refuses an unknown release" 2 "$top/tools/try-debian.sh" potato

# A chain of three functions: two of 192 bytes, the middle one static or not, and one of THIRD bytes.
cat >"$work/chain.c" <<'BPF'
#define FUNCTION __attribute__((noinline)) int
FUNCTION third(int x)
{
	char room[THIRD];
	asm volatile("" : : "r"(room), "r"(x) : "memory");
	return x;
}
KIND FUNCTION second(int x)
{
	char room[192];
	asm volatile("" : : "r"(room), "r"(x) : "memory");
	return third(x);
}
__attribute__((section("perf_event"))) int first(int x)
{
	char room[192];
	asm volatile("" : : "r"(room), "r"(x) : "memory");
	return second(x);
}
BPF
clang=$(for name in clang-14 clang-19 clang; do command -v "$name"; done | head -n 1)
# chain STATUS THIRD KIND: compiles it; the stack of its functions must be judged with STATUS
chain() {
	"$clang" -O2 -target bpf -mcpu=v2 "-DTHIRD=$2" "-DKIND=$3" -fstack-usage -c -o "$work/chain.o" "$work/chain.c" &&
		ends_with "a BPF call chain with ${3:-global} functions and $((2 * 192 + $2)) bytes" "$1" "$top/tools/bpf-stack.py" -v "$work/chain.o"
}
for kind in '' static; do
	chain 0 128 "$kind"
	holds "its stack is added up" grep -qx '512 bytes of stack: first > second > third' "$work/out"
	chain 1 129 "$kind"
	holds "one byte more is 32 bytes more" grep -q 'refuse first > second > third: .* 544 bytes' "$work/out"
done

# preempted STATUS SECTION BYTES: a program of SECTION whose callee has BYTES of stack is judged so
cat >"$work/preempted.c" <<'BPF'
__attribute__((noinline)) int callee(int x)
{
	char room[BYTES];
	asm volatile("" : : "r"(room), "r"(x) : "memory");
	return x;
}
__attribute__((section(SECTION))) int program(int x)
{
	return callee(x);
}
BPF
preempted() {
	"$clang" -O2 -target bpf -mcpu=v2 "-DSECTION=\"$2\"" "-DBYTES=$3" -fstack-usage -c -o "$work/preempted.o" "$work/preempted.c" &&
		ends_with "a BPF program $2 that calls a function with $3 bytes of stack" "$1" "$top/tools/bpf-stack.py" "$work/preempted.o"
}
preempted 0 uprobe 48
preempted 1 uprobe 49
holds "the function is named" grep -q 'program > callee: 49 bytes of stack' "$work/out"
preempted 1 uretprobe/libc.so.6:malloc 64
preempted 1 uprobe.multi.s/libc.so.6:malloc 64
preempted 0 perf_event 64

# On other systems than Debian 12 and 13: one sentence that names the packages, and exit status 3.
mkdir -p "$work/else/tools"
cp "$top/tools/as-root.sh" "$work/else/tools/"
sed "s#/etc/os-release#$work/os-release#" "$top/tools/setup.sh" >"$work/else/tools/setup.sh"
chmod +x "$work/else/tools/setup.sh"
printf 'ID=arch\n' >"$work/os-release"
ends_with "setup elsewhere ends with 3" 3 "$work/else/tools/setup.sh"
[ "$(wc -l <"$work/out")" -eq 1 ] && grep -q 'libbpf-dev' "$work/out" &&
	grep -q 'libcmocka-dev' "$work/out"
verdict "setup elsewhere names the packages in one sentence" $?

# check.sh adds up suites; a suite that dies without a message is a failure.
mkdir -p "$work/sum/tools" "$work/sum/tests"
# Replaces the suites of check.sh by those of a file.
sed -e '/^tools\/setup.sh/d' -e '/^make /d' -e '/^setup=/d' -e '/^wait ..setup/d' -e '/as-root/d' -e '/^give_back/d' -e '/MAKEFLAGS/d' \
	-e '/^# Two at a time/,/^suite root/c\
. ./suites' "$top/tools/check.sh" >"$work/sum/tools/check.sh"
cp "$top/tools/suites.sh" "$work/sum/tools/"
printf '# of two machines\na (b|c): not here.*\nno-index: a d: no build/venv/x here\n' >"$work/sum/tests/skips.expected"
# sums NAME STATUS LAST-LINE: runs check.sh with the suites on stdin
sums() {
	cat >"$work/sum/suites"
	ends_with "check ends rightly: $1" "$2" sh "$work/sum/tools/check.sh"
	[ "$(tail -n 1 "$work/out")" = "$3" ]
	verdict "check adds up: $1" $?
}
sums "suites are added up" 0 "5 passed, 0 failed, 2 skipped" <<'SUITES'
suite a echo "a: 3 passed, 0 failed, 2 skipped"
suite b echo "b: 2 passed, 0 failed"
SUITES
sums "a failed test fails the whole" 1 "3 passed, 1 failed, 0 skipped" <<'SUITES'
suite a sh -c 'echo "a: 3 passed, 1 failed"; exit 1'
SUITES
sums "a suite that ends without a result is a failure" 1 "0 passed, 1 failed, 0 skipped" <<'SUITES'
suite a true
SUITES
sums "so is one that claims success and exits with an error" 1 "3 passed, 1 failed, 0 skipped" <<'SUITES'
suite a sh -c 'echo "a: 3 passed, 0 failed"; exit 139'
SUITES
sums "so is one that passes nothing" 1 "0 passed, 1 failed, 0 skipped" <<'SUITES'
suite a echo "a: 0 passed, 0 failed"
SUITES
sums "a skip that is expected is counted" 0 "1 passed, 0 failed, 1 skipped" <<'SUITES'
suite a printf 'skip b: not here, nor there\na: 1 passed, 0 failed, 1 skipped\n'
SUITES
sums "one that is not is a failure" 1 "1 passed, 1 failed, 1 skipped" <<'SUITES'
suite a printf 'skip e: not here\na: 1 passed, 0 failed, 1 skipped\n'
SUITES
grep -qx 'not ok a e: not here: this skip is not in tests/skips.expected' "$work/out"
verdict "check names the skip that nobody expects" $?
sums "so is one of another suite" 1 "1 passed, 1 failed, 1 skipped" <<'SUITES'
suite z printf 'skip b: not here\nz: 1 passed, 0 failed, 1 skipped\n'
SUITES
sums "what nobody can tell is counted" 0 "1 passed, 0 failed, 0 skipped, 1 inconclusive" <<'SUITES'
suite a printf 'inconclusive b: much noise\na: 1 passed, 0 failed, 0 skipped, 1 inconclusive\n'
SUITES
printf 'a ((: x\n' >>"$work/sum/tests/skips.expected"
sums "a line that is no expression expects nothing" 1 "1 passed, 1 failed, 1 skipped" <<'SUITES'
suite a printf 'skip e: not here\na: 1 passed, 0 failed, 1 skipped\n'
SUITES
sed -i '$d' "$work/sum/tests/skips.expected"
# No environment exists, and the pip of a new one reaches no package index.
mkdir "$work/no-index"
cat >"$work/no-index/python3" <<'PYTHON'
#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\nexit 1\n' >"$3/bin/pip"
chmod +x "$3/bin/pip"
PYTHON
chmod +x "$work/no-index/python3"
path=$PATH
PATH=$work/no-index:$PATH
sums "without a package index its packages may be missing" 0 "1 passed, 0 failed, 1 skipped" <<'SUITES'
suite a printf 'skip d: no build/venv/x here\na: 1 passed, 0 failed, 1 skipped\n'
SUITES
PATH=$path
mkdir -p "$work/sum/build/venv/x/bin"
cat >"$work/sum/build/venv/x/bin/pip" <<'PIP'
#!/bin/sh
while [ "$1" != -d ]; do shift; done
mkdir "$2"
PIP
chmod +x "$work/sum/build/venv/x/bin/pip"
sums "with one they may not" 1 "1 passed, 1 failed, 1 skipped" <<'SUITES'
suite a printf 'skip d: no build/venv/x here\na: 1 passed, 0 failed, 1 skipped\n'
SUITES
sums "scripts have their seconds" 0 "1 passed, 0 failed, 0 skipped" <<'SUITES'
suite a printf '   one: 7 s\n   two: 70 s\na: 1 passed, 0 failed\n'
SUITES
holds "check sorts them" test "$(grep -n '^ *70  a/two$' "$work/out" | cut -d : -f 1)" -lt "$(grep -n '^ *7  a/one$' "$work/out" | cut -d : -f 1)"
# check.sh must unset these.
export LB_GOLDEN_UPDATE=1 CLI_UPDATE=1
sums "what accepts output is unset" 0 "1 passed, 0 failed, 0 skipped" <<'SUITES'
suite a sh -c '[ -z "${LB_GOLDEN_UPDATE-}${CLI_UPDATE-}" ] && echo "a: 1 passed, 0 failed"'
SUITES
unset LB_GOLDEN_UPDATE CLI_UPDATE

# A failed script of tests/root is not run again; in statistics, noise is measured once more.
mkdir -p "$work/again/tests/root" "$work/again/tests/stats"
sed '/id -u/,/^fi/d' "$top/tests/root/run.sh" >"$work/again/tests/root/run.sh"
cp "$top/tests/stats/run.sh" "$work/again/tests/stats/"
chmod +x "$work/again/tests/root/run.sh"
# once SUITE NAME STATUS LAST-LINE: runs a suite of one script, whose body is on stdin
once() {
	rm -f "$work/before"
	{ echo '#!/bin/sh' && cat; } >"$work/again/tests/$1/one.sh"
	chmod +x "$work/again/tests/$1/one.sh"
	BEFORE=$work/before ends_with "tests/$1/run.sh ends rightly: $2" "$3" "$work/again/tests/$1/run.sh" /bin/true one
	[ "$(tail -n 1 "$work/out")" = "$1: $4" ]
	verdict "tests/$1/run.sh adds up: $2" $?
	rm "$work/again/tests/$1/one.sh"
}
once root "a failure is never run again" 1 "1 passed, 1 failed, 0 skipped" <<'SCRIPT'
[ -e "$BEFORE" ] && echo "ok a" && echo "ok b" && exit
: >"$BEFORE"
echo "ok a"
echo "not ok b: disturbed"
SCRIPT
once root "nor is what calls itself noise" 1 "0 passed, 1 failed, 0 skipped" <<'SCRIPT'
[ -e "$BEFORE" ] && echo "ok a" && exit
: >"$BEFORE"
echo "noise a: disturbed"
SCRIPT
once root "a script that dies has failed" 1 "1 passed, 1 failed, 0 skipped" <<'SCRIPT'
echo "ok a"
exit 3
SCRIPT
once root "what crashed has failed, whatever is said" 1 "1 passed, 1 failed, 0 skipped" <<'SCRIPT'
echo "ok a"
echo "not ok x: ended with status 139" >"$CRASHES"
SCRIPT
once root "a test that has no result has failed" 1 "2 passed, 1 failed, 0 skipped" <<'SCRIPT'
printf 'a\nb\nc d\n' >"$BEGUN"
echo "ok a"
echo "ok c d: 5 of 5"
SCRIPT
once root "what nobody can tell is counted" 0 "1 passed, 0 failed, 0 skipped, 1 inconclusive" <<'SCRIPT'
echo "ok a"
echo "inconclusive b: much noise"
SCRIPT
once root "there may be 20 statistics" 1 "1 passed, 1 failed, 0 skipped" <<'SCRIPT'
seq 21 >"$WORK/statistics"
echo "ok a"
SCRIPT
once root "nobody outlives a script" 1 "0 passed, 1 failed, 0 skipped" <<'SCRIPT'
sleep 1000 &
echo $! >"$BEFORE"
echo "not ok a"
SCRIPT
! readlink "/proc/$(cat "$work/before")/exe" >"$work/out"
verdict "tests/root/run.sh ends what a script has left" $?
cp "$top/tests/root/lib.sh" "$work/again/tests/root/"
SCRIPT_SECONDS=5 once root "a script may take so long" 1 "1 passed, 1 failed, 0 skipped" <<'SCRIPT'
. "$TOP/tests/root/lib.sh"
trap 'rm "$BEFORE"' EXIT
: >"$BEFORE"
echo "ok a"
sleep 1000
SCRIPT
holds "a script that is ended cleans up" test ! -e "$work/before"
cat >"$work/again/tests/root/one.sh" <<'SCRIPT'
#!/bin/sh
. "$TOP/tests/root/lib.sh"
trap 'rm "$BEFORE"' EXIT
: >"$BEFORE"
sleep 1000
SCRIPT
chmod +x "$work/again/tests/root/one.sh"
BEFORE=$work/before "$work/again/tests/root/run.sh" /bin/true one >"$work/out" 2>&1 &
for _ in $(seq 300); do
	[ ! -e "$work/before" ] || break
	sleep 0.1
done
kill $!
wait $!
holds "a script cleans up when run.sh is ended" test ! -e "$work/before"
rm "$work/again/tests/root/one.sh"
# judged NAME STATUS STOLEN ERROR...: the exit status of judge.py for batches with these errors
judged() {
	judged_name=$1
	judged_status=$2
	stolen=$3
	shift 3
	status=0
	for error; do
		echo "line $((500 + error)) 500 $stolen"
	done | python3 "$top/tests/root/judge.py" 10 >"$work/out" 2>&1 || status=$?
	[ $status -eq "$judged_status" ]
	verdict "a statistic that is $judged_name" $?
}
judged "right" 0 0 -3 4 -2 5 -4 1 2 -1
judged "wrong" 1 0 27 34 28 35 26 31 32 29
judged "wrong by less than its noise" 3 0 -10 40 -20 50 0 30 -5 45
judged "noisy" 3 0 -90 80 -70 95 -60 50 -85 77
judged "stolen from" 3 0.1 27 34 28 35 26 31 32 29
judged "of no batches" 2 0
ends_with "the judge of tests/bench/truth.sh accepts right stacks only" 0 env PYTHONDONTWRITEBYTECODE=1 python3 -S "$top/tests/tools/truth.py"

# A release of a tree whose builds are stubs: what it refuses, what it leaves.
release=$work/release
mkdir -p "$release/packaging" "$release/python" "$release/build/sysroot/arm64"
cp "$top/packaging/release.sh" "$top/packaging/sbom.py" "$release/packaging/"
echo 'image: localhost/lineburn' >"$release/packaging/daemonset.yaml"
printf 'version = "0.1.0"\n' >"$release/python/pyproject.toml"
printf '# Changelog\n\n## 2.0 (unreleased)\n\n- It is new.\n\n## 1.9 (2020-01-01)\n\n- It was new.\n' >"$release/CHANGELOG.md"
printf 'build/\ndist/\n' >"$release/.gitignore"
cat >"$release/Makefile" <<'MAKEFILE'
wheel deb image: static
	mkdir -p dist && echo $(ARCH) >dist/$@-$(ARCH)
static:
	mkdir -p build/static/$(ARCH)
	printf '#!/bin/sh\nprintf "lineburn 2.0\\ncompiler: gcc 12.2.0; x\\ncontains: glibc 2.36, zlib 1.2.13\\n"\n' >build/static/$(ARCH)/lineburn
	chmod +x build/static/$(ARCH)/lineburn
.PHONY: static wheel deb image
MAKEFILE
git -C "$release" init -q
git -C "$release" config user.name x
git -C "$release" config user.email x@x
git -C "$release" add -A
git -C "$release" commit -qm "the tree as it is"
# unchanged: no commit, no tag, no file
unchanged() {
	[ "$(git -C "$release" log --oneline | wc -l)" -eq 1 ] && [ -z "$(git -C "$release" tag)$(git -C "$release" status --porcelain)" ] &&
		[ ! -e "$release/dist" ]
}
ends_with "release refuses what is no version" 1 "$release/packaging/release.sh" v2
ends_with "release refuses a tree whose check fails" 1 env CHECK=false "$release/packaging/release.sh" 2.0.0
holds "and leaves it as it was" unchanged
echo x >"$release/stray"
ends_with "release refuses what is not committed" 1 env CHECK=true "$release/packaging/release.sh" 2.0.0
rm "$release/stray"
ends_with "release releases" 0 env CHECK=true "$release/packaging/release.sh" 2.0.0
released() {
	cd "$release" && [ "$(git tag)" = v2.0.0 ] && [ -z "$(git status --porcelain)" ] && grep -qx 'version = "2.0.0"' python/pyproject.toml &&
		grep -qE '^## 2\.0\.0 \([0-9]{4}-[0-9]{2}-[0-9]{2}\)$' CHANGELOG.md && grep -qx '## 1.9 (2020-01-01)' CHANGELOG.md &&
		git tag -n9 | grep -q 'It is new' && ! git tag -n9 | grep -q 'It was new' || return 1
	cd dist && sha256sum -c --quiet SHA256SUMS && [ "$(wc -l <SHA256SUMS)" -eq 11 ] && [ "$(find . -type f | wc -l)" -eq 12 ] &&
		grep -q '"zlib"' lineburn-2.0.0.spdx.json && cmp wheel-arm64 image-arm64 && tar tzf lineburn-2.0.0.tar.gz | grep -qx lineburn-2.0.0/CHANGELOG.md
}
holds "its files, tag and changelog are right" released
ends_with "release refuses a second release without news" 1 env CHECK=true "$release/packaging/release.sh" 2.0.1
sed -i 's/zlib 1/zlob 1/' "$release/Makefile"
sed -i '3i ## 3 (unreleased)\n' "$release/CHANGELOG.md"
git -C "$release" commit -qam "another library"
ends_with "release refuses a library whose licence is not known" 1 env CHECK=true "$release/packaging/release.sh" 2.0.1
holds "and names it" grep -q 'add the licence of zlob' "$work/out"

# Two scripts run at the same time (each waits for the other), then one runs alone.
for how in "beside others" plain alone; do
	name=$(echo "$how" | cut -d ' ' -f 1)
	cat >"$work/again/tests/root/$name.sh" <<SCRIPT
#!/bin/sh
# Runs $how.
: >"\$WORK/$name.here"
case $name in
beside | plain)
	for _ in \$(seq 300); do
		if [ -e "\$WORK/beside.here" ] && [ -e "\$WORK/plain.here" ]; then
			echo "ok $name"
			break
		fi
		sleep 0.1
	done
	: >"\$WORK/$name.gone"
	;;
*)
	[ -e "\$WORK/beside.gone" ] && [ -e "\$WORK/plain.gone" ] && echo "ok $name"
	;;
esac
SCRIPT
	chmod +x "$work/again/tests/root/$name.sh"
done
sed -i '/^# Runs plain/d' "$work/again/tests/root/plain.sh"
ends_with "tests/root/run.sh runs scripts beside each other" 0 "$work/again/tests/root/run.sh" /bin/true
holds "tests/root/run.sh adds up what ran beside each other" test "$(tail -n 1 "$work/out")" = "root: 3 passed, 0 failed, 0 skipped"
rm "$work/again/tests/root/beside.sh" "$work/again/tests/root/plain.sh" "$work/again/tests/root/alone.sh"
once stats "noise is measured once more" 0 "1 passed, 0 failed, 0 skipped, 1 scripts again" <<'SCRIPT'
[ -e "$BEFORE" ] && echo "ok b" && exit
: >"$BEFORE"
echo "noise b: disturbed"
SCRIPT
grep -q '^again b: disturbed' "$work/out"
verdict "tests/stats/run.sh tells what was noise" $?
once stats "noise again has failed" 1 "1 passed, 1 failed, 0 skipped, 1 scripts again" <<'SCRIPT'
echo "ok a"
echo "noise b: broken"
SCRIPT
once stats "what fails otherwise is never run again" 1 "0 passed, 2 failed, 0 skipped, 0 scripts again" <<'SCRIPT'
[ -e "$BEFORE" ] && echo "ok a" && echo "ok b" && exit
: >"$BEFORE"
echo "noise a: disturbed"
echo "not ok b: disturbed"
SCRIPT
once stats "nor is a crash beside noise" 1 "0 passed, 2 failed, 0 skipped, 0 scripts again" <<'SCRIPT'
[ -e "$BEFORE" ] && echo "ok a" && exit
: >"$BEFORE"
echo "noise a: disturbed"
echo "not ok x: ended with status 139" >"$CRASHES"
SCRIPT
once stats "what was noise and is skipped then has failed" 1 "1 passed, 1 failed, 1 skipped, 1 scripts again" <<'SCRIPT'
[ -e "$BEFORE" ] && echo "ok a" && echo "skip b: not here" && exit
: >"$BEFORE"
echo "ok a"
echo "noise b: disturbed"
SCRIPT

# A failed unit test program is not run again.
cat >"$work/program" <<'PROGRAM'
#!/bin/sh
[ -e "$0.before" ] && printf "[ RUN      ] a\n[       OK ] a\n" && exit
: >"$0.before"
echo "a.c:1: error: disturbed"
exit 1
PROGRAM
chmod +x "$work/program"
ends_with "tests/run-unit.sh fails at once" 1 "$top/tests/run-unit.sh" "$work/program"
holds "tests/run-unit.sh adds up" test "$(tail -n 1 "$work/out")" = "unit: 0 passed, 1 failed, 0 skipped"
printf '#!/bin/sh\nprintf "[ RUN      ] a\\nnot here\\n[  SKIPPED ] a\\n[==========] 1 test(s) run.\\n 1 SKIPPED TEST(S)\\n[  SKIPPED ] a\\n"\n' >"$work/program"
ends_with "tests/run-unit.sh passes what skips" 0 "$top/tests/run-unit.sh" "$work/program"
grep -qx 'skip program-a: not here' "$work/out"
verdict "tests/run-unit.sh says what is skipped, and why" $?
printf '#!/bin/sh\nprintf "[ RUN      ] a\\n[       OK ] a\\n[ RUN      ] b\\n"\n' >"$work/program"
ends_with "tests/run-unit.sh fails where a test ends its program" 1 "$top/tests/run-unit.sh" "$work/program"
printf '#!/bin/sh\n' >"$work/program"
ends_with "tests/run-unit.sh fails where nothing ran" 1 "$top/tests/run-unit.sh" "$work/program"
# shellcheck disable=SC2016 # the program expands it
printf '#!/bin/sh\nkill -9 $PPID\n' >"$work/program"
echo "0 0" >"$work/program.ended"
ends_with "tests/run-unit.sh fails where nobody saw the end" 1 "$top/tests/run-unit.sh" "$work/program"

# The names of unit tests in tests/skips.expected are names of files.
for name in $(sed -nE 's/^(no-index: )?unit(-sanitized|\(-sanitized\)\?)? \(?([a-z_|0-9]+)\)?-.*/\3/p' "$top/tests/skips.expected" | tr '|' ' '); do
	[ -n "$(find "$top/tests/unit" -name "$name.c")" ] || echo "$name"
done >"$work/out"
holds "tests/skips.expected names unit tests that there are" test ! -s "$work/out"
# A mutant whose text is no longer in the sources would test nothing.
(cd "$top" && tests/mutants/table.py verify) >"$work/out" 2>&1
verdict "tests/mutants/table.py has texts that are there once" $?

failed=$(grep -c '^not ok' "$work/results")
echo "tools: $(grep -c '^ok' "$work/results") passed, $failed failed"
[ "$failed" -eq 0 ]
