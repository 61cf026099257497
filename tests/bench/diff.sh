#!/bin/sh
# CPU time and memory of comparing two recordings of 100,000 different stacks each.
. "${TOP:?}/tests/root/lib.sh"
for seed in 1 2; do
	python3 "$TOP/tests/bench/stacks.py" $seed.pb.gz 100000 $seed
done

# row WORDS COMMAND...
row() {
	words=$1
	shift
	/usr/bin/time -f '%U %S %M' -o spent "$@" >/dev/null
	awk -v words="$words" '{ printf "| %s | %.2f s | %.0f MB |\n", words, $1 + $2, $3 / 1024 }' spent
}

echo "## Comparing recordings of 100,000 stacks"
echo
echo "| command | CPU | peak memory |"
echo "|---|---|---|"
row "\`diff\`" "$LB" diff 1.pb.gz 2.pb.gz
row "\`diff --json\`" "$LB" diff --json 1.pb.gz 2.pb.gz
row "\`diff --format=html\`" "$LB" diff --format=html 1.pb.gz 2.pb.gz
row "\`diff\`, five recordings of each side" "$LB" diff 1.pb.gz 1.pb.gz 1.pb.gz 1.pb.gz 1.pb.gz \
	--after 2.pb.gz 2.pb.gz 2.pb.gz 2.pb.gz 2.pb.gz
row "\`annotate\` of one" "$LB" annotate 1.pb.gz
row "\`annotate --json\` of one" "$LB" annotate --json 1.pb.gz
row "\`html\` of one" "$LB" html 1.pb.gz -o page.html
