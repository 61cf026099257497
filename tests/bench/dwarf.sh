#!/bin/sh
# Names 2,000 random addresses of a file with more than 100 MB of DWARF, and so do other tools.
set -eu
: "${TOP:?}" "${WORK:?}"
make -s -C "$TOP" build/tests/bench/dwarf-resolve >&2
"$TOP/tests/bench/dwarf-big.sh" "$WORK/big.so" >"$WORK/big.txt" 2>&1
echo "## Naming 2,000 random addresses of a big file"
echo
echo '```'
{
	cat "$WORK/big.txt"
	SHOW=0 python3 "$TOP/tests/bench/dwarf-compare.py" "$TOP/build/tests/bench/dwarf-resolve" \
		"$WORK/big.so" 2000 2>&1
} | sed "s#$WORK/##"
echo '```'
