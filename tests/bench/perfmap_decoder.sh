#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds and runs tests/bench/perfmap_decoder.c on a perf map of a million lines.
# Limits of docs/benchmarks.md: less than 1 s, less than 100 MB.
set -e
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
make -s -C "$here" build/liblineburn.a
${CC:-gcc} -O2 -std=gnu11 -D_GNU_SOURCE -I"$here/src" -I"$here/include" \
	-o "$work/perfmap" "$here/tests/bench/perfmap_decoder.c" "$here/build/liblineburn.a"
"$work/perfmap" make "$work/perf-1.map" 1000000
echo "perfmap file: $(wc -l <"$work/perf-1.map") lines, $(wc -c <"$work/perf-1.map") bytes"
for way in serve serve store; do
	"$work/perfmap" "$way" "$work/perf-1.map" 2000
done
