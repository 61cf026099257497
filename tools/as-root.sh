# shellcheck shell=sh
# Sourced from the top of the tree, with $0 and "$@" of a script in tools/: runs
# that script again as root, through sudo, or says how.
if [ "$(id -u)" -ne 0 ]; then
	if command -v sudo >/dev/null 2>&1; then
		echo "$0: needs root to install packages and to sample, going through sudo" >&2
		exec sudo -- "$PWD/tools/${0##*/}" "$@"
	fi
	echo "$0: needs root, and there is no sudo here: run it as root (su -c $PWD/tools/${0##*/})" >&2
	exit 3
fi

# What root built in the clone of the user who called sudo becomes that user's:
# a plain "make" afterwards must work.
give_back() {
	if [ -n "${SUDO_UID:-}" ] && [ "$(stat -c %u .)" = "$SUDO_UID" ]; then
		chown -hR "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" build* lineburn compile_commands.json \
			2>/dev/null || true
	fi
}
