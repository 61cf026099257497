#!/bin/sh
# The figures of docs/benchmarks.md, as Markdown on stdout. Root; about five minutes
# on a machine that does nothing else.
# usage: tests/bench/run.sh BIN [PART...]   (answers cost slowdown agent dwarf; default: all)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
lineburn=$(realpath "${1:?usage: run.sh BIN [PART...]}")
shift
[ $# -gt 0 ] || set -- answers cost slowdown agent dwarf
if [ "$(id -u)" -ne 0 ]; then
	echo "tests/bench/run.sh needs root: it samples the machine" >&2
	exit 3
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
unset DEBUGINFOD_URLS

sampling=
for part in "$@"; do
	case $part in
	answers | cost | slowdown | agent) sampling="$sampling $part" ;;
	dwarf) ;;
	*)
		echo "usage: tests/bench/run.sh BIN [answers|cost|slowdown|agent|dwarf]..." >&2
		exit 2
		;;
	esac
done
if [ -n "$sampling" ]; then
	# shellcheck disable=SC2086 # a list of names
	python3 "$here/sampling.py" "$lineburn" "$work" $sampling
fi

# 2,000 random addresses of a file with more than 100 MB of DWARF, beside other tools.
case " $* " in
*" dwarf "*)
	tree=$(cd "$here/../.." && pwd)
	make -s -C "$tree" build/tests/bench/dwarf-resolve >&2
	"$here/dwarf-big.sh" "$work/big.so" >"$work/big.txt" 2>&1
	printf '\n## Naming 2,000 random addresses of a big file\n\n```\n'
	sed "s#$work/##" "$work/big.txt"
	SHOW=0 python3 "$here/dwarf-compare.py" "$tree/build/tests/bench/dwarf-resolve" \
		"$work/big.so" 2000 2>&1 | sed "s#$work/##"
	printf '```\n'
	;;
esac
