#!/bin/sh
# The cost of a tick that the filter drops: BPF time by the kernel's statistics, while all
# CPUs run programs that are not chosen. For comparison: a BPF program that does nothing.
. "${TOP:?}/tests/root/lib.sh"
seconds=${CHOICE_SECONDS:-5}

cat >hog.c <<'END_OF_HOG'
#include <stdlib.h>

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 4096;
	volatile unsigned char *bytes = calloc(1, size);

	for (size_t at = 0;; at = (at + 64) % size)
		bytes[at]++;
}
END_OF_HOG
# shellcheck disable=SC2086 # a list of flags
gcc $C_FLAGS -o hog hog.c || exit 1
clang=$(command -v clang-14 || command -v clang)
"$clang" -g -O2 -target bpf -I/usr/include/"$(gcc -print-multiarch)" -c -o depth.bpf.o "$TOP/tests/bench/depth.bpf.c" || exit 1
make -s -C "$TOP" build/tests/bench/filter || exit 1

v2=$(mount_of cgroup2)
memory=$(mount_of cgroup memory)
named=$(mount_of cgroup name=systemd)
group=lineburn-bench-$$
for mount in $v2 $memory $named; do
	mkdir "$mount/$group" || exit 1
done
hogs=
cleanup() {
	# shellcheck disable=SC2086 # a list
	kill $hogs $sleeper 2>/dev/null
	wait 2>/dev/null
	for mount in $v2 $memory $named; do
		rmdir "$mount/$group"
	done
}
sleep 3600 &
sleeper=$!
trap cleanup EXIT

# program_of PID: the id of the BPF program on the process's perf events
program_of() {
	awk '/^prog_type:/ { is_ours = $2 == 7 } /^prog_id:/ && is_ours { print $2; exit }' "/proc/$1/fdinfo"/* 2>/dev/null
}

# row NAME OPTION...
row() {
	name=$1
	shift
	"$LB" record -F "$rate" -d $((seconds + 30)) -o choice.pb.gz "$@" >/dev/null 2>choice.err &
	recording=$!
	wait_until 20 records $recording || { cat choice.err; exit 1; }
	sleep 1
	program=$(program_of $recording)
	said=$("$TOP/build/tests/bench/filter" depth.bpf.o "$program" "$rate" "$seconds")
	kill -INT $recording
	wait $recording
	# shellcheck disable=SC2086 # three words
	set -- $said
	echo "| $hog, $rate Hz | \`$name\` | $1 | $2 | $(($1 - $2)) | $3 |"
}

echo "## Cost of a tick that is not sampled"
echo
echo "| all CPUs are in | option | ns a tick | ns of nothing | difference | ticks |"
echo "|---|---|---|---|---|---|"
# At the higher rate the program's data stays in the CPU caches, whatever else runs.
for load in "999 a loop" "9999 a loop" "999 64 MB of memory"; do
	rate=${load%% *}
	hog=${load#* }
	size=4096
	[ "$hog" = "a loop" ] || size=67108864
	hogs=
	i=0
	while [ $i -lt "$(nproc)" ]; do
		./hog $size &
		hogs="$hogs $!"
		i=$((i + 1))
	done
	# shellcheck disable=SC2086 # a list
	excluded=$(printf ' -p !%s' $hogs)
	[ -z "$v2" ] || row "-G GROUP, v2" -G "$v2/$group"
	[ -z "$memory" ] || row "-G GROUP, v1" -G "$memory/$group"
	[ -z "$named" ] || row "-G GROUP, v1 without a controller" -G "$named/$group"
	[ -z "$v2$memory" ] || row "-G GROUP, hybrid" -G "$group"
	[ -z "$v2" ] || row "-G !/, v2" -G "!$v2"
	row "-p PID" -p $sleeper
	# shellcheck disable=SC2086 # a list
	row "-p !PID... --user UID" $excluded --user 65533
	row "-t TID" -t $sleeper
	row "--user UID" --user 65533
	row "--comm GLOB" --comm 'no*such?name'
	row "--comm !GLOB" --comm '!*'
	# shellcheck disable=SC2046 # a list
	row "--comm GLOB, 16 of them" $(for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do echo --comm "no*such$i"; done)
	row "-a: each is sampled" -a
	# shellcheck disable=SC2086 # a list
	kill $hogs
	# shellcheck disable=SC2086
	wait $hogs 2>/dev/null || true
done
