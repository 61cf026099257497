#!/bin/sh
# diff as a page: its name, what chooses it, its figures, what is refused.
here=$(dirname "$0")
cp "$here/../workloads/python/dither.py" before.py
sed 's/old \/ 255/old \/ 256/' before.py >after.py
# record NAME COUNT: a recording
record() {
	python3 "$here/../lib/recording.py" "$1.pb.gz" <<EOT
command python dither.py slow
wall 5.4
source /srv/dither.py $1.py
$2 dither_slow@/srv/dither.py:25/15 main@/srv/dither.py:71/62
700 dither_slow@/srv/dither.py:29/15 main@/srv/dither.py:71/62
400 import_all@/srv/lib.py:8/3
EOT
}
record before 4200
record after 2900
lineburn diff before.pb.gz after.pb.gz -o x.html
head -n 1 x.html
lineburn diff --format=html before.pb.gz after.pb.gz | cmp - x.html && echo "the same by --format"
lineburn diff before.pb.gz after.pb.gz -o x.json && head -n 3 x.json
lineburn diff --format=text before.pb.gz after.pb.gz -o y.html && head -n 1 y.html
lineburn diff --json before.pb.gz after.pb.gz >diff.json
python3 - <<'EOT'
import json, re
page = open("x.html", encoding="utf-8").read()
facts, stacks = (json.loads(re.search('id="%s-data">(.*?)</script>' % name, page)[1]) for name in ("facts", "stacks"))
diff = json.load(open("diff.json"))
KEYS = "before", "after", "before_samples", "after_samples", "difference", "low", "high", "p"
for what in "lines", "functions":
    rows = [facts[what][i:i + 16] for i in range(0, len(facts[what]), 16)]
    same = [[*row["total"].values(), *(row["self"][key] for key in KEYS)] for row in diff[what]]
    print(len(rows), what, [row[5:15] for row in rows] == same)
for file in facts["files"]:
    rows = [row for row in file["rows"] if row[2]]
    print(facts["paths"][file["path"]], file["self"], len(file["rows"]), rows)
names = [facts["texts"][facts["functions"][16 * row]] for row in stacks["functions"][::4]]
for i in range(0, len(stacks["nodes"]), 4):
    print(stacks["nodes"][i], names[stacks["nodes"][i + 1]], stacks["nodes"][i + 2:i + 4])
EOT
# A function of the file "program" is not one without a file in the object "program".
for name in file1 file2; do
	python3 "$here/../lib/recording.py" $name.pb.gz <<EOT
500 f@program:3 f@:0
EOT
done
lineburn diff file1.pb.gz file2.pb.gz -o file.html
python3 - <<'EOT'
import json, re
page = open("file.html", encoding="utf-8").read()
facts, stacks = (json.loads(re.search('id="%s-data">(.*?)</script>' % name, page)[1]) for name in ("facts", "stacks"))
for i in range(0, len(stacks["nodes"]), 4):
    row = 16 * stacks["functions"][4 * stacks["nodes"][i + 1]]
    path = facts["functions"][row + 2]
    print(stacks["nodes"][i], facts["paths"][path] if path >= 0 else "(no file)", facts["functions"][row + 5:row + 7])
EOT
lineburn diff before.pb.gz after.pb.gz --fail-if 'total +0%' -o kept.html
echo "exit $?"
lineburn diff after.pb.gz before.pb.gz --fail-if 'total +10%' -o grown.html
echo "exit $?, $(grep -c '</html>' grown.html) page"
lineburn diff before.pb.gz after.pb.gz -o no/x.html
echo "exit $?"
lineburn diff before.pb.gz after.pb.gz -o after.pb.gz
echo "exit $?"
lineburn diff --open before.pb.gz after.pb.gz
echo "exit $?"
lineburn diff --open --format html before.pb.gz after.pb.gz
echo "exit $?"
lineburn diff --open before.pb.gz after.pb.gz -o x.json
echo "exit $?"
{
	lineburn diff --format html before.pb.gz after.pb.gz
	echo "exit $?" >status
} | head -c 9
echo
cat status
lineburn diff --format html before.pb.gz after.pb.gz >/dev/full
echo "exit $?"
