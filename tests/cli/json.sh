#!/bin/sh
# The sums of the JSON output add up, and both commands agree.
lineburn annotate --json hot.pb.gz >annotate.json
lineburn report --json hot.pb.gz >report.json
python3 - <<'END'
import json
a, r = (json.load(open(name, encoding="ascii")) for name in ("annotate.json", "report.json"))
s = a["samples"]
print(a["lineburn"], a["kind"], r["kind"], a["command"], sorted(set(a) - set(r)), sorted(set(r) - set(a)))
print(s == r["samples"], a["functions"] == r["functions"], a["misses"] == r["misses"])
print(s["with_line"] + s["function_only"] + s["unknown"] == s["count"],
      s["count"] + s["lost"] == a["losses"]["sampled"],
      a["losses"]["sampled"] + s["missed"] == a["losses"]["due"],
      sum(line["self"] for f in a["files"] for line in f["lines"]) == s["with_line"])
END
