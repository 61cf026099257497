#!/bin/sh
# How many stacks the limit of frames cuts, the default and lower ones: pip that installs packages, pytest, and
# a Numba program that imports and compiles. The packages and the tests are generated here.
# WHOLE_RATE: samples a second (499).
. "${TOP:?}/tests/root/lib.sh"
has_numba notebook whole || exit 1

# Packages of 300 modules that need one another, and 3,000 tests.
cat >generate.py <<'END'
import os
import sys
import zipfile

FUNCTION = "def function_{i}(a, b=None):\n    return [x for x in (a, b) if x] or {{'n': {i}}}\n\n\n"
os.mkdir("wheels")
for n in range(8):
    with zipfile.ZipFile(f"wheels/deep{n}-1.0-py3-none-any.whl", "w") as wheel:
        def add(path, text):
            wheel.writestr(path, text)
            record.append(f"{path},,")
        record = []
        for module in range(300):
            add(f"deep{n}/module_{module}.py", "".join(FUNCTION.format(i=i) for i in range(30)))
        add(f"deep{n}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: deep{n}\nVersion: 1.0\n" +
            "".join(f"Requires-Dist: deep{other}\n" for other in range(n)))
        add(f"deep{n}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        add(f"deep{n}-1.0.dist-info/RECORD", "\n".join(record) + "\n")
os.mkdir("tests")
for n in range(30):
    with open(f"tests/test_{n}.py", "w", encoding="ascii") as tests:
        tests.write("import pytest\n\n\n@pytest.fixture\ndef numbers():\n    return list(range(50))\n\n\n")
        for i in range(100):
            tests.write(f"def test_{i}(numbers, tmp_path_factory):\n    assert sum(numbers[:{i}]) >= 0\n\n\n")
END
"$PYTHON" generate.py || exit 1

# row NAME COMMAND...: one recording for each limit; the last one is the default
row() {
	name=$1
	shift
	for limit in 127 255 ""; do
		rm -rf installed
		# shellcheck disable=SC2086 # no option at all if it is empty
		"$LB" run -F "${WHOLE_RATE:-499}" ${limit:+--max-frames $limit} -o whole.pb.gz -- "$@" >whole.out 2>&1 ||
			{ tail -n 3 whole.out >&2; exit 1; }
		"$LB" annotate --json whole.pb.gz >whole.json
		python3 - "$name" "${limit:-default}" <<'END'
import json
import sys
stacks = json.load(open("whole.json", encoding="ascii"))["stacks"]
total, cut = sum(stacks.values()), stacks["truncated"]
print(f"| {sys.argv[1]} | {sys.argv[2]} | {total} | {cut} | {100 * cut / total:.1f} % |")
END
	done
}
echo "## Stacks that are cut"
echo
echo "| program | frames at most | samples | cut | share |"
echo "|---|---|---|---|---|"
row "pip install, 8 packages" "$PYTHON" -m pip install --no-index --find-links wheels --target installed deep7
row "pytest, 3,000 tests" "$PYTHON" -m pytest -q -p no:cacheprovider tests
row "Numba" "$PYTHON" "$WORKLOADS/python/dither.py" slow 3
