#!/bin/sh
# Pages of lineburn diff --format=html in chromium, opened from the disk: hostile names, figures beside those
# of diff --json, everything that one can click, accessibility, size and time.
. "${TOP:?}/tests/root/lib.sh"
browser=$TOP/tests/nightly/browser
for command in chromium node npm; do
	command -v $command >/dev/null || { skip html-diff "no $command here"; exit 0; }
done

BROWSER_MODULES=$TOP/build/browser-diff # html.sh may run at the same time
export BROWSER_MODULES
modules() {
	mkdir -p "$BROWSER_MODULES" && cp "$browser"/package*.json "$BROWSER_MODULES" &&
		npm ci --prefix "$BROWSER_MODULES" --no-audit --no-fund --silent
}
check html-diff-modules modules

# in_browser CHECK PAGE [ARGUMENT...]
in_browser() {
	timeout 300 node "$browser/diff.mjs" "$@"
}

# compared NAME BEFORE AFTER [OPTION...]: NAME.html and NAME.json
compared() {
	name=$1
	shift
	"$LB" diff "$@" -o "$name.html" 2>/dev/null && "$LB" diff --json "$@" >"$name.json"
}

python3 -S "$browser/hostile-diff.py" evil1.gz evil2.gz
check html-diff-written compared evil evil1.gz evil2.gz
check html-diff-hostile in_browser harmless evil.html
figure html-diff-hostile-figures in_browser figures evil.html evil.json
check html-diff-hostile-accessible in_browser accessible evil.html

# Two versions of a program: a line is edited, others are new and have moved down.
cp "$WORKLOADS/python/dither.py" dither1.py
sed 's/old \/ 255/old \/ 256/; s/^def main/def helper():\n    return None  # new\n\n\ndef main/' dither1.py >dither2.py
python3 "$TOP/tests/lib/recording.py" dither1.pb.gz <<EOT
command python dither.py slow
wall 5.4
source /srv/dither.py dither1.py
4200 dither_slow@/srv/dither.py:25/15 main@/srv/dither.py:71/62
700 dither_slow@/srv/dither.py:29/15 main@/srv/dither.py:71/62
15 main@/srv/dither.py:70/62
400 import_all@/srv/lib.py:8/3
EOT
python3 "$TOP/tests/lib/recording.py" dither2.pb.gz <<EOT
command python dither.py slow
wall 5.4
source /srv/dither.py dither2.py
2900 dither_slow@/srv/dither.py:25/15 main@/srv/dither.py:75/66
710 dither_slow@/srv/dither.py:29/15 main@/srv/dither.py:75/66
200 helper@/srv/dither.py:63/62 main@/srv/dither.py:75/66
15 main@/srv/dither.py:74/66
410 import_all@/srv/lib.py:8/3
EOT
check html-diff-runs compared dither dither1.pb.gz dither2.pb.gz
figure html-diff-figures in_browser figures dither.html dither.json
check html-diff-uses in_browser uses dither.html
check html-diff-accessible in_browser accessible dither.html
check html-diff-of-shares compared shares --per sample dither1.pb.gz dither2.pb.gz
figure html-diff-shares in_browser figures shares.html shares.json

# As large as a page gets.
for seed in 1 2; do
	python3 "$TOP/tests/bench/stacks.py" large$seed.pb.gz 20000 $seed
done
check html-diff-of-many compared large large1.pb.gz large2.pb.gz
figure html-diff-opens in_browser opens large.html
