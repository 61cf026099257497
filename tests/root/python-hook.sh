#!/bin/sh
# The environment that "run" gives to its command, also for the user who called sudo.
. "${TOP:?}/tests/root/lib.sh"
# shellcheck disable=SC2016 # for the command's shell
show='echo "$PYTHONPATH|$LINEBURN_PYTHON_HOOK"'
hook=$("$LB" python-hook --path) || fail python-hook-path "no path"

# shows EXPECTED COMMAND...: the first line that the command prints
shows() {
	expected=$1
	shift
	timeout 30 "$@" >out 2>err || { tail -n 1 err; return 1; }
	[ "$(head -n 1 out)" = "$expected" ] && return 0
	echo "$(head -n 1 out), not $expected"
	return 1
}
check hook-in-environment shows "$hook|run" env -u PYTHONPATH "$LB" run -- sh -c "$show"
check hook-before-others shows "$hook:/a|run" env PYTHONPATH=/a "$LB" run -- sh -c "$show"
check hook-turned-off shows "/a|off" env PYTHONPATH=/a "$LB" run --no-python-hook -- sh -c "$show"
check hook-starts shows "True True" "$LB" run -- python3 -c \
	'import sys; print("lineburn_hook" in sys.modules, not any("startup" in p for p in sys.path))'

# An installed lineburn, called by the user nobody with sudo, finds the hook beside the prefix's bin.
make -s -C "$TOP" install PREFIX="$WORK/prefix" >make.out 2>&1 || tail -n 1 make.out
chmod 777 .
installed=$WORK/prefix/share/lineburn/python/startup
check hook-installed shows "$installed" "$WORK/prefix/bin/lineburn" python-hook --path
# The installed package finds the installed program.
check package-installed shows "$WORK/prefix/bin/lineburn" env -u LINEBURN PYTHONPATH="${installed%/startup}" \
	python3 -c 'import lineburn._binary; print(lineburn._binary.find())'
as_nobody() {
	sudo -u nobody true 2>/dev/null || return 1
	SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody shows "True" \
		"$WORK/prefix/bin/lineburn" run -o nobody.pb.gz -- python3 -B -c \
		'import os, sys; print("lineburn_hook" in sys.modules and os.getuid() == 65534)'
}
check hook-under-sudo as_nobody
# A hook that another user has put beside root's program gets nowhere; root's is taken from a user's clone.
mkdir -p planted/x clone/x
cp "$LB" planted/x/lineburn
cp -r "$WORK/prefix/share/lineburn/python" planted/
cp -r planted/* clone/
echo 'print("planted")' >planted/python/startup/sitecustomize.py
chown -R 65534:65534 planted/python clone
refused() {
	shows "|" env -u PYTHONPATH -u LINEBURN_PYTHON_HOOK planted/x/lineburn run -o planted.pb.gz -- sh -c "$show" || return 1
	shows "True" planted/x/lineburn run -o planted.pb.gz -- python3 -c 'print(True)' || return 1
	[ "$(grep -c "gets no lines: the Python files in $PWD/planted/python are not used, because .* belongs to uid 65534" err)" -eq 1 ] ||
		{ echo "no line says so"; return 1; }
	python3 -m venv --without-pip venv || return 1
	! planted/x/lineburn python-hook --install venv 2>err || { echo "installed"; return 1; }
	one_sentence err && [ -z "$(find venv -name 'lineburn*')" ]
}
check hook-of-a-stranger refused
of_the_clone() {
	shows "$PWD/clone/python/startup" clone/x/lineburn python-hook --path || return 1
	SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody shows "$PWD/clone/python/startup|run" \
		env -u PYTHONPATH clone/x/lineburn run -o clone.pb.gz -- sh -c "$show"
}
check hook-of-a-clone of_the_clone
# If the user cannot read the hook's folder, one line says so, and the command runs.
mkdir -m 700 closed
cp -r "$WORK/prefix" closed/
unreadable() {
	SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody shows "|" \
		env -u PYTHONPATH -u LINEBURN_PYTHON_HOOK closed/prefix/bin/lineburn run -o closed.pb.gz -- sh -c "$show" || return 1
	SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody shows "True" \
		closed/prefix/bin/lineburn run -o closed.pb.gz -- python3 -c 'print(True)' || return 1
	[ "$(grep -c 'gets no lines' err)" -eq 1 ] || { echo "no line says so"; return 1; }
}
check hook-unreadable unreadable
