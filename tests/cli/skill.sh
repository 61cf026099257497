#!/bin/sh
# Each command of docs/SKILL.md that reads a profile: its exit status. This profile has no machine code.
# shellcheck disable=SC2016 # the backquotes are Markdown's
top=$(dirname "$0")/../..
skill=$top/docs/SKILL.md
cp hot.pb.gz lineburn.pb.gz
sed -n '/^```sh$/,/^```$/s/^\(lineburn [ar].*[^ ]\)  *#.*/\1/p' "$skill" >commands
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
[ "$(wc -l <"$skill")" -lt 120 ] || echo "too long for an agent"
