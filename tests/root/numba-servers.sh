#!/bin/sh
# Numba in Pythons that servers start: workers of gunicorn, the kernel of a notebook.
# Takes 20 s.
. "${TOP:?}/tests/root/lib.sh"
programs=$WORKLOADS/python
has_numba servers numba-servers || exit 0
# Ignore the user's settings of both.
export HOME="$PWD" JUPYTER_PREFER_ENV_PATH=1
unset XDG_RUNTIME_DIR JUPYTER_PATH JUPYTER_DATA_DIR JUPYTER_RUNTIME_DIR JUPYTER_CONFIG_DIR IPYTHONDIR IPYKERNEL_CELL_NAME

# Each worker compiles for itself, and has its lines.
workers() {
	record_json served -F 999 -- "$PYTHON" "$programs/served.py" "$(longer 1.5 2)" || { tail -n 1 served.err; return 1; }
	profile_has served.json "self_('served.py served') > 0.8 * file_self('served.py') > 0" "sums_close()" ||
		return 1
	workers=$(grep -x '[0-9]* [0-9]*' served.txt)
	[ "$(echo "$workers" | wc -w)" -eq 2 ] || { echo "workers: $workers"; return 1; }
	for worker in $workers; do
		"$LB" annotate --json --pid "$worker" served.pb.gz >worker.json
		profile_has worker.json "self_('served.py served') > 0" || return 1
	done
}
check numba-gunicorn workers
narrow numba-gunicorn-share profile_has served.json "file_self('served.py') > 10"
workers_share() {
	read -r workers <<END
$(grep -x '[0-9]* [0-9]*' served.txt)
END
	for worker in $workers; do
		"$LB" annotate --json --pid "$worker" served.pb.gz >worker.json
		profile_has worker.json "self_('served.py served') > 10" "s['count'] > 500" || return 1
	done
}
narrow numba-gunicorn-workers workers_share

# Lines count from the start of the cell, whose path names no file.
cell_of() {
	grep -x '/.*/ipykernel_[0-9]*/[0-9]*\.py' notebook.txt
}
notebook() {
	record_json notebook -F 999 -- "$PYTHON" "$programs/notebook.py" "$(longer 0.8 2)" || { tail -n 1 notebook.err; return 1; }
	cell=$(cell_of) || { echo "no cell: $(tail -n 1 notebook.txt)"; return 1; }
	profile_has notebook.json "self_('$(basename "$cell"):9') > 0.8 * file_self('$(basename "$cell")') > 0" \
		"any(f['path'] == '$cell' and 'does not keep its cells in a file' in (f['source']['note'] or '') for f in d['files'])" "sums_close()"
}
check numba-notebook notebook
narrow numba-notebook-share profile_has notebook.json "file_self('$(basename "$(cell_of)")') > 10"
