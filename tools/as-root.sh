# shellcheck shell=sh
# Sourced: runs the calling script again as root, through sudo, or says how.
# usage: . tools/as-root.sh   (with $0 and "$@" of the script)
if [ "$(id -u)" -ne 0 ]; then
	if command -v sudo >/dev/null 2>&1; then
		echo "$0: needs root to install packages and to sample, going through sudo" >&2
		exec sudo -- "$0" "$@"
	fi
	echo "$0: needs root, and there is no sudo here: run it as root (su -c $0)" >&2
	exit 3
fi
