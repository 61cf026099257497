# shellcheck shell=sh
# Scripts in tools/ source this file from the top of the tree, with their "$@". Without root it runs
# the script again through sudo, or says how to run it.
if [ "$(id -u)" -ne 0 ]; then
	if command -v sudo >/dev/null 2>&1; then
		echo "$0: needs root to install packages and to sample, going through sudo" >&2
		exec sudo -- "$PWD/tools/${0##*/}" "$@"
	fi
	echo "$0: needs root, and there is no sudo here: run it as root (su -c $PWD/tools/${0##*/})" >&2
	exit 3
fi

# give_back: gives files that root built to the user who called sudo and owns the clone, so that a
# plain "make" works afterwards.
give_back() {
	if [ -n "${SUDO_UID:-}" ] && [ "$(stat -c %u .)" = "$SUDO_UID" ]; then
		chown -hR "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" build* lineburn compile_commands.json \
			2>/dev/null || true
	fi
}
