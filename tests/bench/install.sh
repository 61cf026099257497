#!/bin/sh
# The packages: their sizes, and the time from "pip install" of the wheel to the first listing.
# INSTALL_ROUNDS: new environments (9).
. "${TOP:?}/tests/root/lib.sh"
make -C "$TOP" -s wheel deb image >made || exit 1
wheel=$TOP/$(grep '\.whl$' made)
printf '%s\n' 'import time' 'end = time.process_time() + 1' 'while time.process_time() < end:' '    pass' >hot.py

for _ in $(seq "${INSTALL_ROUNDS:-9}"); do
	rm -rf venv
	python3 -m venv venv || exit 1
	python3 -S - "$wheel" >>seconds <<'END'
import subprocess
import sys
import time

def seconds(*words):
    begin = time.monotonic()
    subprocess.run(words, check=True, capture_output=True)
    return time.monotonic() - begin

print(seconds("venv/bin/pip", "install", "-q", "--no-index", sys.argv[1]),
      seconds("venv/bin/lineburn", "run", "--", "venv/bin/python", "hot.py"))
END
done
python3 -S - "$TOP" made <<'END'
import os
import statistics
import sys

pairs = [tuple(map(float, line.split())) for line in open("seconds", encoding="ascii")]
print("## The packages\n\n| file | bytes |\n|---|---|")
for line in open("made", encoding="ascii"):
    path = os.path.join(sys.argv[1], line.strip())
    print("| {} | {:,} |".format({"whl": "wheel", "deb": "package of Debian", "tar": "image"}[path[-3:]], os.path.getsize(path)))
medians = [statistics.median(column) for column in zip(*pairs)]
print("\nFrom a file to the first listing, median of {}: {:.1f} s for `pip install`, {:.1f} s for `lineburn run` of a Python program that "
      "uses 1 s of CPU. Without that second: {:.1f} s, at most {:.1f} s.".format(
          len(pairs), *medians, statistics.median(sum(pair) - 1 for pair in pairs), max(sum(pair) - 1 for pair in pairs)))
END
