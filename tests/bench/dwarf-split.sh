#!/bin/sh
# Makes FOLDER/split.so: 60 C units of 100 functions, each with inlined calls, whose debug information is in
# .dwo files beside it, and with it in FOLDER/packed/split.so.dwp. It is linked without libraries and never run.
#
# usage: dwarf-split.sh FOLDER
set -eu
clang=$(command -v clang-14 || command -v clang)
cd "$1"
cat >inline.h <<'END'
static inline int twice(int x)
{
	return x % 7 ? x * 2 : x / 3;
}

static inline int both(int x, int y)
{
	int z = twice(x);

	for (int i = 0; i < y; i++)
		z += twice(z ^ i);
	return z;
}
END
unit=0
while [ $unit -lt 60 ]; do
	awk -v unit=$unit 'BEGIN {
		print "#include \"inline.h\"\n"
		for (i = 0; i < 100; i++)
			printf "int work_%d_%d(int *a, int n)\n{\n\tint sum = %d;\n\n\tfor (int i = 0; i < n; i++)\n" \
				"\t\tsum += both(a[i], %d);\n\treturn twice(sum);\n}\n\n", unit, i, i, i % 9 + 1
	}' >"unit$unit.c"
	unit=$((unit + 1))
done
printf '%s\n' unit*.c | xargs -n 10 -P "$(nproc)" "$clang" -O2 -fPIC -gdwarf-5 -gsplit-dwarf -c
"$clang" -shared -nostdlib -o split.so unit*.o
mkdir packed
cp split.so packed/
llvm-dwp -o packed/split.so.dwp unit*.dwo
