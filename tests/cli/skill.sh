#!/bin/sh
# Each command of docs/SKILL.md that reads a profile: its exit status. This profile has no machine code.
# shellcheck disable=SC2016 # the backquotes are Markdown's
top=$(dirname "$0")/../..
skill=$top/docs/SKILL.md
for copy in lineburn before after b1 b2 a1 a2; do
	cp hot.pb.gz $copy.pb.gz
done
sed -nE '/^```sh$/,/^```$/s/^(lineburn (annotate|report|diff) .*[^ ])  *#.*/\1/p' "$skill" >commands
while read -r command; do
	status=0
	eval "$command" >out || status=$?
	echo "$status $command: $([ ! -s out ] || echo printed)"
done <commands
# There are the members that its table names.
grep '^| `' "$skill" | grep -o '`[a-z_0-9]*`' | tr -d '`' | sort -u >members
while read -r member; do
	grep -q "\"$member\":" "$top/tests/golden/typical.annotate.limit.json" || echo "no member $member"
done <members
wc -l <members
grep '^Each change has ' "$skill" | grep -o '`[a-z_0-9]*`' | tr -d '`' >changes
while read -r member; do
	grep -q "\"$member\":" "$top/tests/golden/diff.typical.json" || echo "no member $member of a change"
done <changes
wc -l <changes
[ "$(wc -l <"$skill")" -lt 120 ] || echo "too long for an agent"
