#!/bin/sh
# --limit: what is listed and what "omitted" counts are together what is listed without it.
python3 - <<'PYTHON'
import json
import subprocess

def shown(*arguments):
    return json.loads(subprocess.run(["lineburn", *arguments, "--json", "hot.pb.gz"], check=True,
                                     capture_output=True).stdout)

def lines(doc):
    return [line for file in doc["files"] for line in file["lines"] if not line["no_code"]]

for command, items, self in ((("annotate",), lines, "self"),
                             (("report",), lambda doc: doc["functions"], "self"),
                             (("report", "--by", "comm"), lambda doc: doc["groups"], "samples")):
    full = shown(*command)
    for limit in (1, 2, 100):
        some = shown(*command, "--limit", str(limit))
        omitted = some["omitted"]
        hottest = sorted((item[self] for item in items(full)), reverse=True)
        print(*command, limit, omitted)
        assert sorted((item[self] for item in items(some)), reverse=True) == hottest[:limit]
        assert omitted["self"] == sum(hottest[limit:])
        assert omitted["lines"] == ("files" in full and len(lines(full)) - len(lines(some)))
        for of in ("files", "functions", "processes", "groups"):
            assert len(full.get(of, ())) == len(some.get(of, ())) + omitted[of]
    assert "omitted" not in full

tree = shown("report", "--callees", "--limit", "2")["tree"]
print("tree of", len(tree["nodes"]), tree["total"] == tree["cut"]["samples"] + sum(
    node["ends"] + node["deeper"] + node["cut"]["samples"] for node in tree["nodes"]))
PYTHON
lineburn annotate --format csv --limit 2 hot.pb.gz
lineburn annotate --format quickfix --limit 2 hot.pb.gz
lineburn report --format csv --limit 2 hot.pb.gz
lineburn annotate --limit 1 --context 0 hot.pb.gz | sed -n '/^ self/,/more lines/p'
