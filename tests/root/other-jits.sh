#!/bin/sh
# Other runtimes that use GDB's JIT interface, or that write a perf map on request.
# Takes 15 s.
. "${TOP:?}/tests/root/lib.sh"

# functions_like JSON REGEX [PERCENT]: the name of the hottest JIT function matches, and all functions that
# match have at least PERCENT of the samples
functions_like() {
	python3 - "$@" <<'END'
import json
import re
import sys
d = json.load(open(sys.argv[1], encoding="ascii"))
found = sorted(((f["self"], f["name"]) for f in d["functions"] if f["object"].startswith("[") and f["object"] != "[kernel]"), reverse=True)
share = 100 * sum(n for n, name in found if re.search(sys.argv[2], name)) / max(1, d["samples"]["count"])
if not found or not re.search(sys.argv[2], found[0][1]) or any(share < float(least) for least in sys.argv[3:]):
    losses = {k: v for k, v in d["losses"].items() if v and k.startswith("jit")}
    sys.exit(f"not {sys.argv[2]}, {share:.1f} %, {losses}: {[(f['name'], f['object'], f['self']) for f in d['functions'][:6]]}")
END
}

# PHP: the main program has the interface's symbol; traces have names, but no real lines.
php_jit="-d opcache.enable_cli=1 -d opcache.jit_buffer_size=64M -d opcache.jit=tracing -d opcache.jit_debug=256"
# shellcheck disable=SC2086 # a list of options
if ! command -v php >/dev/null; then
	skip other-jits-php "no php"
elif [ "$(php $php_jit -r 'echo opcache_get_status()["jit"]["on"] ? "on" : "off";' 2>&1)" != on ]; then
	skip other-jits-php "this php has no JIT"
else
	record_json php -F 999 -- php $php_jit "$WORKLOADS/hot.php" "$(longer 0.8 2)" || fail other-jits-php "$(tail -n 1 php.err)"
	"$LB" annotate --leaf --json php.pb.gz >php.json
	check other-jits-php functions_like php.json 'inner'
	narrow other-jits-php-share functions_like php.json 'inner' 50
	check other-jits-php-sums profile_has php.json "sums_close()" "s['lost'] == 0" \
		"miss('jit-no-lines') > 0" "file_self('unknown') == 0"
fi

# Erlang: 100 objects in its own format, which lineburn skips and counts.
if ! command -v erlc >/dev/null; then
	skip other-jits-erlang "no erlang"
elif [ "$(erl -noshell -eval 'io:format("~s", [erlang:system_info(emu_flavor)])' -s init stop)" != jit ]; then
	skip other-jits-erlang "this erlang has no JIT"
else
	erlc "$WORKLOADS/hot.erl"
	record_json erlang -F 999 -- erl -noshell -eval 'hot:main(["'"$(longer 1 2)"'"])' -s init stop ||
		fail other-jits-erlang "$(tail -n 1 erlang.err)"
	check other-jits-erlang profile_has erlang.json "sums_close()" "s['lost'] == 0" \
		"losses['jit_objects_foreign'] > 0" "losses['jit_objects_lost'] == 0"
fi

# LuaJIT: most builds lack the interface.
lua=${LUAJIT:-luajit}
if ! command -v "$lua" >/dev/null; then
	skip other-jits-luajit "no luajit (LUAJIT=... names one)"
elif ! readelf -sW "$(readlink -f "$(command -v "$lua")")" | grep -q __jit_debug_register_code; then
	skip other-jits-luajit "this luajit was built without -DLUAJIT_USE_GDBJIT, as distributions do"
else
	record_json lua -F 999 -- "$lua" "$WORKLOADS/hot.lua" "$(longer 0.8 2)" || fail other-jits-luajit "$(tail -n 1 lua.err)"
	check other-jits-luajit profile_has lua.json "file_self('hot.lua') > 50" "sums_close()" "s['lost'] == 0"
	narrow other-jits-luajit-share profile_has lua.json "file_self('hot.lua') > 90"
fi

# Julia uses the interface only with ENABLE_GDBLISTENER=1.
if ! command -v julia >/dev/null; then
	skip other-jits-julia "no julia"
else
	cat >hot.jl <<'END'
function spin(x::UInt64, n)
    for i in 1:n
        x = x * 0x5851f42d4c957f2d + i
    end
    x
end
global x = UInt64(1)
finish = time() + 3
while time() < finish
    global x = spin(x, 1000000)
end
END
	record_json julia -F 999 -- env ENABLE_GDBLISTENER=1 julia hot.jl || fail other-jits-julia "$(tail -n 1 julia.err)"
	check other-jits-julia profile_has julia.json "file_self('hot.jl') > 0" "sums_close()"
	narrow other-jits-julia-share profile_has julia.json "file_self('hot.jl') > 30"
fi

# LLVM's newer engine (ORC), through llvmlite, registers code as the older one does.
if has_numba new other-jits-lljit; then
	record_json lljit -F 999 -- "$PYTHON" "$WORKLOADS/python/lljit.py" "$(longer 0.7 1.5)" ||
		fail other-jits-lljit "$(tail -n 1 lljit.err)"
	check other-jits-lljit profile_has lljit.json "hottest() == 'runs.src:10'" "sums_close()"
	narrow other-jits-lljit-share profile_has lljit.json "self_('runs.src:10') > 60"
fi

# OpenJDK writes a map of the code compiled so far, on request.
if ! command -v jcmd >/dev/null || ! java -version 2>/dev/null; then
	skip other-jits-openjdk "no jcmd"
else
	# Use one compiler only: code that a second one makes later would not be in the map.
	java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UseOnStackReplacement "$WORKLOADS/Hot.java" 60 &
	java=$!
	# Wait: java first compiles the source file, then the hot loop.
	is_compiled() {
		jcmd "$java" Compiler.perfmap >jcmd.out 2>&1 && grep -q 'Hot.*spin' "/tmp/perf-$java.map"
	}
	wait_until 60 jcmd "$java" help
	! jcmd "$java" help | grep -q Compiler.perfmap || wait_until 30 is_compiled
	enough 200 java "$(longer 1 2) 10" -p $java >enough.out || fail other-jits-openjdk "$(tail -n 1 enough.out)"
	"$LB" annotate --leaf --json java.pb.gz >java.json
	kill $java
	wait $java 2>/dev/null
	if [ -e "/tmp/perf-$java.map" ]; then
		check other-jits-openjdk functions_like java.json 'Hot.*spin'
		narrow other-jits-openjdk-share functions_like java.json 'Hot.*spin' 50
	else
		skip other-jits-openjdk "this JDK knows no Compiler.perfmap (17 and later do): $(tail -n 1 jcmd.out)"
	fi
	rm -f "/tmp/perf-$java.map"
fi
