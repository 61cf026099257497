#!/bin/sh
# The package of python/: a real notebook with %lineburn, %%lineburn and lineburn.profile(), IPython in a
# terminal, and users without rights.
# Takes 20 s.
. "${TOP:?}/tests/root/lib.sh"
programs=$WORKLOADS/python
has_numba notebook notebook || exit 0
# Ignore the user's settings.
export HOME="$PWD" JUPYTER_PREFER_ENV_PATH=1 PYTHONPATH="$TOP/python" LINEBURN="$LB"
unset XDG_RUNTIME_DIR JUPYTER_PATH JUPYTER_DATA_DIR JUPYTER_RUNTIME_DIR JUPYTER_CONFIG_DIR IPYTHONDIR IPYKERNEL_CELL_NAME

timeout 300 "$PYTHON" "$programs/execute.py" "$programs/hot.ipynb" >notebook.out 2>notebook.err ||
	fail notebook "$(tail -n 1 notebook.err)"

# value N: what cell N returned
value() {
	sed -n "s/^$1 //p" notebook.out | tr -d "'"
}

# cell_is NAME CELL LINE: in NAME.pb.gz this line is the hottest, and the profile has the cell's text
cell_is() {
	"$LB" annotate --json "$1.pb.gz" >"$1.json" || return 1
	profile_has "$1.json" "hottest() == '$(basename "$(value "$2")"):$3'" "sums_close()" "s['lost'] == 0" \
		"all(f['source']['from'] == 'recorded' for f in d['files'] if f['path'] == '$(value "$2")')" \
		"any('# line $3' in (line['text'] or '') for f in d['files'] if f['path'] == '$(value "$2")' for line in f['lines'])" \
		"all(p['comm'] != 'lineburn' for p in d['processes'])"
}
# shows FILE CELL:LINE FUNCTION: the first line of its listing
shows() {
	grep -q 'background:rgba(' "$1" || { echo "no heat"; return 1; }
	grep -o 'Cell In\[[0-9]*\]:[0-9]* *[a-z_.]*' "$1" | head -n 1 >first
	case $(cat first) in
	"Cell In[${2%:*}]:${2#*:} "*"$3") ;;
	*)
		echo "$(cat first), not cell $2"
		return 1
		;;
	esac
}
# Numba's code in a cell has a line, because %load_ext came before numba.
check notebook-cell-magic cell_is numba 2 10
check notebook-cell-magic-shows shows 4.html 2:10 wave
check notebook-line-magic cell_is python 5 6
check notebook-line-magic-shows shows 6.html 5:6 squares
dataframe() {
	value 6
	[ "$(value 6)" = "(True, 6)" ] && grep -q '# line 6' 6.txt
}
check notebook-dataframe dataframe
check notebook-block cell_is block 5 6
check notebook-block-shows shows 7.html 5:6 squares

# In a terminal, the name of a cell is not even a path.
terminal() {
	"$PYTHON" -m IPython --no-banner --colors=NoColor -c '%load_ext lineburn
import time
def squares(seconds):
    before = time.process_time()
    while time.process_time() - before < seconds:
        sum(i * i for i in range(2000))  # here
%lineburn -o terminal.pb.gz squares(0.5)' >terminal.txt 2>&1 || { tail -n 1 terminal.txt; return 1; }
	"$LB" annotate --json terminal.pb.gz >terminal.json
	profile_has terminal.json "any(f['path'].startswith('<ipython-input-') and line['self'] > 50 and '# here' in line['text'] for f in d['files'] for line in f['lines'])" || return 1
	tail -n 3 terminal.txt
	grep -q '100\.0 .*# here\|9[0-9]\.[0-9] .*# here' terminal.txt
}
check notebook-terminal terminal

# as_nobody COMMAND...: without rights
as_nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@"
}
cat >busy.py <<'END'
import sys
import time

import lineburn

before = time.process_time()
with lineburn.profile(output=sys.argv[1]) as p:
    while time.process_time() - before < 0.5:
        sum(i * i for i in range(2000))
print(p.lines[0].file == __file__, p.lines[0].text.strip())
END
chmod 755 .
mkdir -m 777 theirs
cp "$LB" theirs/lineburn
chmod 755 theirs/lineburn
system_python=/usr/bin/python3
denied() {
	as_nobody env LINEBURN="$PWD/theirs/lineburn" $system_python busy.py theirs/denied.pb.gz >denied.out 2>denied.err && return 1
	tail -n 1 denied.err
	grep -q '^lineburn\._binary\.NotAllowed: ' denied.err &&
		grep -qx "    sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep $PWD/theirs/lineburn" denied.err
}
# With the line that the message names, it works.
allowed() {
	as_nobody env LINEBURN="$PWD/theirs/lineburn" $system_python "$PWD/busy.py" theirs/allowed.pb.gz >allowed.out 2>allowed.err ||
		{ tail -n 1 allowed.err; return 1; }
	[ "$(cat allowed.out)" = "True sum(i * i for i in range(2000))" ] || { cat allowed.out; return 1; }
}
if ! as_nobody $system_python -c 'import sys; sys.path.insert(0, sys.argv[1]); import lineburn' "$TOP/python" 2>/dev/null; then
	skip notebook-denied "the user nobody cannot read $TOP/python"
else
	check notebook-denied denied
	if ! setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep theirs/lineburn 2>/dev/null; then
		skip notebook-allowed "this file system keeps no capabilities"
	elif [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ]; then
		skip notebook-allowed "kernel.perf_event_paranoid is above 2"
	else
		check notebook-allowed allowed
	fi
fi
