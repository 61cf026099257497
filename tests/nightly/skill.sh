#!/bin/sh
# The example of docs/benchmarks.md ("The hot line of a program that one has not seen"): the commands of
# docs/SKILL.md name the line and its caller.
. "${TOP:?}/tests/root/lib.sh"

# names_the_line: the first note is the loop of find()
names_the_line() {
	"$LB" annotate --format quickfix --limit 1 chains.pb.gz >note || return 1
	cat note
	number=$(grep -n 'HOT chain' "$WORKLOADS/chains.c" | cut -d : -f 1)
	grep -Eq "/chains\.c:$number:1: note: [0-9.]+ % self, [0-9.]+ % total, find\$" note
}
names_the_caller() {
	"$LB" report --callers=find chains.pb.gz | grep -E '^ +[0-9.]+ +main +.*/chains\.c:[0-9]+$'
}
chains=$(build chains.c)
"$LB" run -F 999 -o chains.pb.gz -- "$chains" 3000 >/dev/null 2>chains.log || fail skill-recorded "$(tail -n 1 chains.log)"
figure skill-line names_the_line
figure skill-caller names_the_caller
