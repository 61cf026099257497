#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Takes inputs that tests/fuzz/long.sh found into the corpus of the tree: for each target as few
# and as small ones as reach all edges, and all levels of cost, that the corpus does not; at most
# CORPUS_BYTES (default 40000) for each target, the smallest first.
# usage: tests/fuzz/minimise.sh FOLDER TARGET...
set -eu
[ $# -ge 2 ] || {
	sed -n '3,6s/^# //p' "$0"
	exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
shift
few=$(mktemp -d)
trap 'rm -rf "$few"' EXIT
trap 'exit 130' INT TERM

for target; do
	name=$(basename "$target")
	corpus=$here/corpus/$name
	mkdir -p "$corpus" "$few/$name"
	# Files with a name in words were made by hand: they stay.
	cp "$corpus"/* "$few/$name/" 2>/dev/null || true
	"$target" -merge=1 -use_counters=0 -max_len=65536 -rss_limit_mb=1024 "$few/$name" "$folder/corpus/$name" \
		>"$few/log" 2>&1 || {
		tail "$few/log"
		exit 1
	}
	bytes=$(cat "$corpus"/* 2>/dev/null | wc -c)
	find "$few/$name" -type f -printf '%s %f\n' | sort -n >"$few/sizes"
	while read -r size input; do
		[ ! -e "$corpus/$input" ] || continue
		[ $((bytes + size)) -le "${CORPUS_BYTES:-40000}" ] || break
		bytes=$((bytes + size))
		cp "$few/$name/$input" "$corpus/$(echo "$input" | cut -c1-12)"
	done <"$few/sizes"
	echo "$name: $(find "$corpus" -type f | wc -l) files, $bytes bytes"
done
