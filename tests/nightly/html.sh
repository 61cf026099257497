#!/bin/sh
# Pages of lineburn html in chromium, opened from the disk: hostile names, figures beside annotate's,
# everything that one can click, accessibility, size and time.
# The screenshots of README.md, of a page of tests/workloads/python/dither.py (run -F 999 -o dither.html):
#   BROWSER_MODULES=build/browser node tests/nightly/browser/page.mjs shots dither.html docs/img
. "${TOP:?}/tests/root/lib.sh"
browser=$TOP/tests/nightly/browser
for command in chromium node npm; do
	command -v $command >/dev/null || { skip html "no $command here"; exit 0; }
done

BROWSER_MODULES=$TOP/build/browser
export BROWSER_MODULES
modules() {
	mkdir -p "$BROWSER_MODULES" && cp "$browser"/package*.json "$BROWSER_MODULES" &&
		npm ci --prefix "$BROWSER_MODULES" --no-audit --no-fund --silent
}
check html-modules modules

# in_browser CHECK PAGE [ARGUMENT...]
in_browser() {
	timeout 300 node "$browser/page.mjs" "$@"
}

mkdir evil
python3 -S "$browser/hostile.py" evil.gz evil
"$LB" html evil.gz -o evil.html 2>/dev/null
check html-hostile in_browser harmless evil.html
check html-hostile-accessible in_browser accessible evil.html

has_numba new html-numba || exit 0
recorded() {
	record_json mixed -F 999 -- "$PYTHON" "$WORKLOADS/python/dither.py" slow 2 &&
		"$LB" html mixed.pb.gz -o mixed.html
}
check html-recorded recorded
figure html-figures in_browser figures mixed.html mixed.json
check html-uses in_browser uses mixed.html
check html-accessible in_browser accessible mixed.html
figure html-opens in_browser opens mixed.html

# A part of the page is that part of the profile.
"$LB" annotate --json --skip-compile mixed.pb.gz >program.json
check html-filtered in_browser figures mixed.html program.json 'phase=the+program+itself'
"$LB" annotate --json --time 0.5-1.5 mixed.pb.gz >middle.json
check html-time in_browser figures mixed.html middle.json time=0.5-1.5
"$LB" annotate --json --time 0.5-1.5 --skip-compile mixed.pb.gz >both.json
check html-time-filtered in_browser figures mixed.html both.json 'time=0.5-1.5&phase=the+program+itself'

# Python, C and Numba: who looks for the hottest line of Numba code finds it, and who calls it.
demo() {
	record_json demo -F 999 -- "$PYTHON" "$WORKLOADS/python/mixed.py" 3 truth.json &&
		"$LB" html demo.pb.gz -o demo.html
}
check html-demo demo
figure html-finds in_browser finds demo.html demo.json "$WORKLOADS/python/mixed.py"
