#!/bin/sh
# Each text format of export, of one profile; formats by the output's name; wrong formats.
for format in folded folded-perfanno folded-emacs perf callgrind autofdo csv quickfix; do
	echo "== $format"
	lineburn export -f $format hot.pb.gz
done
lineburn export -f json hot.pb.gz >one.json
lineburn annotate --json hot.pb.gz | cmp - one.json && echo "json is that of annotate"
for name in x.folded x.callgrind callgrind.out.1 x.afdo x.csv x.qf x.json x.pb.gz x.speedscope.json x.cpuprofile x.json.gz; do
	lineburn export hot.pb.gz -o $name && echo "$name: $(wc -c <$name | awk '{ print ($1 > 0) ? "written" : "empty" }')"
done
lineburn export -f folded hot.pb.gz | cmp - x.folded && echo "the same by name"
cmp x.callgrind callgrind.out.1 && echo "the name that KCachegrind looks for"
lineburn export -f folded --labels none hot.pb.gz
head -n 1 x.speedscope.json x.cpuprofile && gunzip -c x.json.gz | head -c 8 && echo
lineburn export -f csv --labels pid hot.pb.gz
echo "exit $?"
lineburn export -f yaml hot.pb.gz
echo "exit $?"
lineburn export hot.pb.gz -o x.yaml
echo "exit $?"
lineburn export hot.pb.gz
