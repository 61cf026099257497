#!/bin/sh
# lineburn's reader of debug information beside libdw, by part. The big file is that of dwarf.sh; the files
# with split DWARF are those of dwarf-split.sh.
set -eu
: "${TOP:?}" "${WORK:?}"
make -s -C "$TOP" build/tests/bench/dwarf-libdw >&2
program=$TOP/build/tests/bench/dwarf-libdw
[ -e "$WORK/big.so" ] || "$TOP/tests/bench/dwarf-big.sh" "$WORK/big.so" >&2

echo "## Reading debug information, by part, beside libdw"
echo
echo "| part | reader | found | CPU | peak memory |"
echo "|---|---|---|---|---|"
# row PART READER: of the measurement in $WORK/result
row() {
	sed -E "s/^([0-9]+) found, (.*) of CPU, peak (.*)/| $1 | $2 | \1 | \2 | \3 |/" "$WORK/result"
}
for part in rows frames; do
	for reader in ours libdw; do
		"$program" "$reader" "$part" "$WORK/big.so" 2>"$WORK/result"
		row "$part" "$reader"
	done
done
"$program" ours cfi "$WORK/big.so" >"$WORK/starts" 2>"$WORK/result"
row cfi ours
"$program" libdw cfi "$WORK/big.so" <"$WORK/starts" 2>"$WORK/result"
row cfi libdw
mkdir "$WORK/split"
"$TOP/tests/bench/dwarf-split.sh" "$WORK/split"
for reader in ours libdw; do
	"$program" "$reader" frames "$WORK/split/split.so" 2>"$WORK/result"
	row "frames, .dwo files" "$reader"
done
rm "$WORK"/split/*.dwo
for reader in ours libdw; do
	"$program" "$reader" frames "$WORK/split/packed/split.so" 2>"$WORK/result"
	row "frames, .dwp file" "$reader"
done
