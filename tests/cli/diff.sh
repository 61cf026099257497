#!/bin/sh
# Two versions of a program (tests/workloads/python/dither.py): by work, by shares, several
# recordings of each, limits; and the same recording twice.
here=$(dirname "$0")
cp "$here/../workloads/python/dither.py" dither.py
record() {
	python3 "$here/../lib/recording.py" "$1"
}
# slow NAME COUNT, fast NAME COUNT: a recording of that many images
slow() {
	record "$1.pb.gz" <<EOT
command python dither.py slow
wall 5.4
source /srv/dither.py dither.py
$(($2 * 4200 / 255)) dither_slow@/srv/dither.py:25/15 main@/srv/dither.py:71/62
$(($2 * 700 / 255)) dither_slow@/srv/dither.py:29/15 main@/srv/dither.py:71/62
15 main@/srv/dither.py:70/62
400 import_all@/srv/lib.py:8/3
EOT
}
fast() {
	record "$1.pb.gz" <<EOT
command python dither.py fast
wall 5.4
source /srv/dither.py dither.py
$(($2 * 2900 / 758)) dither_fast@/srv/dither.py:50/42 main@/srv/dither.py:71/62
$(($2 * 2000 / 758)) dither_fast@/srv/dither.py:54/42 main@/srv/dither.py:71/62
15 main@/srv/dither.py:70/62
410 import_all@/srv/lib.py:8/3
EOT
}
slow dither 255
fast dither2 758
lineburn diff --per before=255,after=758 dither.pb.gz dither2.pb.gz
echo "exit $?"
lineburn diff --per sample --limit 1 dither.pb.gz - <dither2.pb.gz
echo "exit $?"
slow a1 250
slow a2 255
slow a3 262
fast b1 750
fast b2 768
lineburn diff a1.pb.gz a2.pb.gz a3.pb.gz --per before=250+255+262,after=750+768 \
	--after b1.pb.gz b2.pb.gz
echo "exit $?"
lineburn diff --format=github hot.pb.gz hot.pb.gz
lineburn diff hot.pb.gz hot.pb.gz
echo "exit $?"
lineburn diff --json --limit 1 dither.pb.gz dither2.pb.gz | python3 -c '
import json, sys
d = json.load(sys.stdin)
line = d["lines"][0]
print(d["kind"], d["per"], d["unit"], line["line"], line["text"]["before"].strip(), line["match"])
print(d["significant_lines"], d["omitted"], d["whole"]["significant"])'
lineburn diff dither.pb.gz dither2.pb.gz --fail-if 'main +10%' --fail-if 'dither.py:54 +10%' \
	--fail-if 'total +3%' >out
echo "exit $?"
sed -n '/^--fail-if/,$p' out
lineburn diff --format github dither.pb.gz dither2.pb.gz --fail-if 'dither.py:dither_fast +10%'
echo "exit $?"
