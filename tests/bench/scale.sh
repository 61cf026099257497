#!/bin/sh
# What 512 CPUs, 10,000 processes and 100,000 different stacks cost. This machine has fewer: the
# recorder runs on the machine of tests/fake with synthetic rows, and the kernel's maps, made for 512
# CPUs, are filled by tests/bench/scale.bpf.c. CPU times, not wall times.
set -eu
: "${TOP:?}" "${WORK:?}"
make -s -C "$TOP" build/tests/bench/scale build/tests/bench/scale-maps >&2
scale=$TOP/build/tests/bench/scale
maps=$TOP/build/tests/bench/scale-maps
clang=$(command -v clang-14 || command -v clang)
"$clang" -g -O2 -target bpf -I/usr/include/"$(gcc -print-multiarch)" -c -o scale.bpf.o "$TOP/tests/bench/scale.bpf.c"

echo "## 512 CPUs"
echo
echo "| stacks, processes | sampled | rows | merging, a drain: mean (most) | events, processes | naming, building | writing | memory while sampling, at most | file | samples lost |"
echo "|---|---|---|---|---|---|---|---|---|---|"
for stacks in 1000 10000 100000; do
	for processes in 100 1000 10000; do
		"$scale" $stacks $processes
	done
done
"$scale" 100000 10000 999 10
echo
echo "| map | entries, bytes of a ring | 99 Hz | entries, bytes of a ring | 999 Hz |"
echo "|---|---|---|---|---|"
"$maps" memory 99 >memory.99
"$maps" memory 999 >memory.999
paste -d '|' memory.99 memory.999 | awk -F '|' '{ printf "|%s|%s|%s|%s|%s|\n", $2, $3, $4, $8, $9 }'
echo
echo "| rows of a drain | room for rows | drain, user | drain, kernel | interval | rows without stack |"
echo "|---|---|---|---|---|---|"
for rows in 0 5000 32000; do
	"$maps" drain 99 $rows scale.bpf.o
done
for rows in 0 51000 100000 250000; do
	"$maps" drain 999 $rows scale.bpf.o
done
echo
echo "| CPUs | entries | map of that size | kept | map of lineburn's size | kept |"
echo "|---|---|---|---|---|---|"
"$maps" lru
