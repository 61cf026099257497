#!/bin/sh
# Pages of lineburn html in chromium, opened from the disk: hostile names, figures beside annotate's,
# everything that one can click, accessibility, size and time.
# The screenshots of README.md, of a page of tests/workloads/python/dither.py (run -F 999 -o dither.html):
#   BROWSER_MODULES=build/browser node tests/nightly/browser/page.mjs shots dither.html docs/img
# Takes 250 s.
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
# of_hottest_line: its instructions
of_hottest_line() {
	"$LB" annotate --asm "$(python3 -c "import json
files = json.load(open('mixed.json'))['files']
print('%s:%d' % max((l['self_cpu_ns'], f['path'], l['line']) for f in files for l in f['lines'] if not l.get('no_code'))[1:])")" \
		--json mixed.pb.gz >asm.json && in_browser instructions mixed.html asm.json
}
figure html-instructions of_hottest_line

# A part of the page is that part of the profile.
"$LB" annotate --json --skip-compile mixed.pb.gz >program.json
check html-filtered in_browser figures mixed.html program.json 'phase=the+program+itself'
"$LB" annotate --json --time 0.5-1.5 mixed.pb.gz >middle.json
check html-time in_browser figures mixed.html middle.json time=0.5-1.5
"$LB" annotate --json --time 0.5-1.5 --skip-compile mixed.pb.gz >both.json
check html-time-filtered in_browser figures mixed.html both.json 'time=0.5-1.5&phase=the+program+itself'

# Two processes with threads: the page of one is that of --pid and --thread.
threads_recorded() {
	flows=$WORKLOADS/python/flows.py
	# shellcheck disable=SC2016 # for the shell that it starts
	record_json threads -F 999 --tid -- sh -c '"$0" "$1" threads 1 1.json & "$0" "$1" released 1 2.json & wait' \
		"$PYTHON" "$flows" && "$LB" html threads.pb.gz -o threads.html
}
check html-threads threads_recorded
figure html-filters in_browser filters threads.html Process Thread
# same_as process|thread: the heaviest one
same_as() {
	"$LB" report --by "$1" --json threads.pb.gz >groups.json || return 1
	python3 - "$1" >chosen <<-END || return 1
		import json, os, sys, urllib.parse
		group = json.load(open("groups.json"))["groups"][0]
		number = group["tid"] or group["pid"]
		name = os.path.basename(group["exe"]) if sys.argv[1] == "process" else group["comm"]
		print(number, urllib.parse.urlencode({sys.argv[1]: f"{name} ({number})"}))
	END
	read -r number fragment <chosen
	case $1 in
	process) option=--pid ;;
	thread) option=--thread ;;
	esac
	"$LB" annotate --json "$option" "$number" threads.pb.gz >group.json &&
		in_browser figures threads.html group.json "$fragment"
}
figure html-process same_as process
figure html-thread same_as thread

# A minute of a busy machine, with all labels; and more stacks than a page has room for.
busy() {
	for _ in $(seq "$(nproc)"); do
		timeout 66 "$PYTHON" "$WORKLOADS/python/dither.py" slow 200 >/dev/null 2>&1 &
	done
	timeout 66 sh -c 'while :; do sh -c "ls -lR /usr/share/doc | sort | gzip"; done' >/dev/null 2>&1 &
	"$LB" record -a -d 60 --tid -F 999 -o busy.html >out 2>err || { tail -n 1 err; return 1; }
	wait
	in_browser opens busy.html
}
figure html-busy-machine busy
many() {
	make -s -C "$TOP" build/tests/bench/many-stacks >&2 && "$TOP/build/tests/bench/many-stacks" 100000 many.pb.gz &&
		"$LB" html many.pb.gz -o many.html && in_browser opens many.html
}
figure html-many-stacks many

# Python, C and Numba: who looks for the hottest line of Numba code finds it, and who calls it.
demo() {
	record_json demo -F 999 -- "$PYTHON" "$WORKLOADS/python/mixed.py" 3 truth.json &&
		"$LB" html demo.pb.gz -o demo.html
}
check html-demo demo
figure html-finds in_browser finds demo.html demo.json "$WORKLOADS/python/mixed.py"
