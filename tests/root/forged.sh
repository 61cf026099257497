#!/bin/sh
# A user mounts a library with the path and the build id of another, or a debug file of a program that all
# share, in a mount namespace of his own, and runs it first: the programs of other users keep their names.
# Takes 20 s.
. "${TOP:?}/tests/root/lib.sh"

chmod 755 .
mkdir lib || exit 1
cat >work.c <<'END'
static __attribute__((noinline)) unsigned long NAME(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++)
		sum += i * i ^ sum >> 3;
	return sum;
}

unsigned long work(unsigned long n);
unsigned long work(unsigned long n)
{
	return NAME(n) + 1;
}
END
cat >main.c <<'END'
#include <unistd.h>

unsigned long work(unsigned long n);

int main(void)
{
	alarm(600);
	for (;;)
		work(1000000);
}
END
# library NAME FILE
library() {
	gcc -g -O1 -shared -fPIC -DNAME="$1" -Wl,--build-id=0x00112233445566778899aabbccddeeff00112233 -o "$2" work.c
}
library genuine lib/libwork.so && library forged forged.so &&
	gcc -g -O1 -o innocent main.c lib/libwork.so -Wl,-rpath,"$PWD/lib" && cp innocent forger || exit 1

# as UID COMMAND...: in the background
as() {
	as_uid=$1
	shift
	setpriv --reuid="$as_uid" --clear-groups "$@" &
	pids="$pids $!"
}
pids=
# shellcheck disable=SC2086 # a list of numbers
trap 'kill_own $pids' EXIT

# shellcheck disable=SC2016 # for the inner shell
if ! setpriv --reuid=12345 --clear-groups unshare -Urm true 2>/dev/null; then
	skip forged "users may not make user namespaces here"
	exit 0
fi
# A program without symbols, whose debug file is beside it. The forged one has its build id.
mkdir bin || exit 1
# program NAME FILE FIRST: the function's name, and the first byte of the build id
program() {
	gcc -g -O1 -DNAME="$1" -Wl,--build-id=0x"$3"112233445566778899aabbccddeeff00112233 -o "$2" \
		main.c work.c && objcopy --only-keep-debug "$2" "$2.debug"
}
# programs FILE FIRST: bin/FILE, and what debug/ has of it
programs() {
	program shared "bin/$1" "$2" && program lied lie "$2" && mkdir -p "debug/.build-id/$2" &&
		cp lie.debug "debug/.build-id/$2/112233445566778899aabbccddeeff00112233.debug" &&
		(cd bin && strip "$1" && objcopy --add-gnu-debuglink="$1.debug" "$1")
}
programs program f0 && programs second f1 || exit 1
for name in liar honest roots; do ln -s program bin/$name; done
for name in boxed unboxed; do ln -s second bin/$name; done

"$LB" record -a -F 499 -o forged.pb.gz >record.out 2>&1 &
recorder=$!
wait_until 60 records $recorder || exit 1
# shellcheck disable=SC2016 # for the inner shell
as 12345 unshare -Urm sh -c 'mount --bind forged.so lib/libwork.so && exec ./forger'
works "${pids##* }" 300
# shellcheck disable=SC2016 # for the inner shell
as 12345 unshare -Urm sh -c 'mount --bind debug /usr/lib/debug && exec bin/liar'
liar=${pids##* }
works "$liar" 300
# As in a sandbox whose program is set-uid root: without a user namespace.
# shellcheck disable=SC2016 # for the inner shell
unshare -m sh -c 'mount --bind debug /usr/lib/debug && exec setpriv --reuid=12345 --clear-groups bin/boxed' &
boxed=$!
pids="$pids $boxed"
works $boxed 300
# Names stay for later samples.
kill -USR1 $recorder
wait_until 60 test -s forged.pb.gz || exit 1
kill_own "$liar" $boxed
bin/roots &
pids="$pids $!"
works $! 500
as 12346 ./innocent
works "${pids##* }" 500
as 12346 bin/honest
works "${pids##* }" 500
as 12346 bin/unboxed
works "${pids##* }" 500
kill -INT $recorder
wait $recorder
"$LB" annotate --json --comm innocent forged.pb.gz >innocent.json
"$LB" annotate --json --comm forger forged.pb.gz >forger.json
check forged-innocent profile_has innocent.json "function('genuine') > 90" "function('forged') == 0"
check forged-forger profile_has forger.json "function('genuine') == 0" "function('forged') > 90"

for name in honest roots unboxed; do
	"$LB" annotate --json --comm $name forged.pb.gz >$name.json
	check forged-debug-file-$name profile_has $name.json "function('shared') > 90" "function('lied') == 0"
done
for name in liar boxed; do
	"$LB" annotate --json --comm $name forged.pb.gz >$name.json
	check forged-debug-file-$name profile_has $name.json "function('lied') > 90"
done

# Asks for another profile, and checks the last one.
spin_is_known() {
	kill -USR1 $recorder
	"$LB" annotate --json --comm spinner first.pb.gz >spinner.json && profile_has spinner.json "function('spin') > 80"
}

# Who maps a file first, or under another name, decides for nobody else what it is, what it is called, and
# with whose rights its debug files are read.
mapped_first() {
	mkdir mounts private && touch mounts/notpy mounts/vmlinux || return 1
	printf 'def spin():\n    while True:\n        for i in range(1000):\n            i * i\nspin()\n' >spin.py
	gcc -g -O1 -DNAME=mine -o owned main.c work.c || return 1
	cat >private/split.c <<-'END'
		static inline __attribute__((always_inline)) unsigned long inlined(unsigned long n)
		{
			unsigned long sum = 0;

			for (unsigned long i = 0; i < n; i++)
				sum += i * i ^ sum >> 3;
			return sum;
		}

		volatile unsigned long sink;

		int main(void)
		{
			for (;;)
				sink = inlined(1000000);
		}
	END
	(cd private && gcc -g -O1 -gsplit-dwarf -o split split.c) && mv private/split . || return 1
	ln -s split hers && ln -s split his && ln -s /usr/bin/python3 spinner && chown -R 12346 private && chmod 700 private || return 1

	"$LB" record -a -F 499 -o first.pb.gz >record.out 2>&1 &
	recorder=$!
	wait_until 60 records $recorder || return 1
	# shellcheck disable=SC2016 # for the inner shell
	as 12345 unshare -Urm sh -c 'mount --bind /usr/bin/python3 mounts/notpy && exec mounts/notpy -S -E spin.py'
	works "${pids##* }" 300
	# shellcheck disable=SC2016 # for the inner shell
	as 12345 unshare -Urm sh -c 'mount --bind owned mounts/vmlinux && exec mounts/vmlinux'
	works "${pids##* }" 300
	as 12345 ./hers
	works "${pids##* }" 300
	kill -USR1 $recorder
	wait_until 60 test -s first.pb.gz || return 1
	as 12346 ./spinner -S -E spin.py
	# Its start is not in spin().
	wait_until 60 spin_is_known
	as 12346 ./owned
	works "${pids##* }" 500
	as 12346 ./his
	works "${pids##* }" 500
	kill -INT $recorder
	wait $recorder
	for name in spinner owned vmlinux his; do
		"$LB" annotate --json --comm $name first.pb.gz >$name.json || return 1
	done
	check forged-first-python profile_has spinner.json "function('spin') > 80" \
		"not [f for f in d['functions'] if f['object'] == 'notpy']"
	check forged-first-name profile_has owned.json "function('mine') > 90" \
		"{f['object'] for f in d['functions'] if f['name'] == 'mine'} == {'owned'}" \
		"file_self('work.c') > 90"
	check forged-first-own-name profile_has vmlinux.json "function('mine') > 90" \
		"{f['object'] for f in d['functions'] if f['name'] == 'mine'} == {'vmlinux'}" \
		"file_self('work.c') > 90"
	check forged-first-debug-file profile_has his.json "function('inlined') > 90"
}
mapped_first || fail forged-first "it did not run: $(tail -n 1 record.out)"
