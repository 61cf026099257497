# shellcheck shell=sh
# Functions for packages.sh and packages-debian.sh.

version() {
	make -C "$TOP" -s print-version
}

# install_block N: the commands of the Nth block of README's "Install"
install_block() {
	awk -v wanted="$1" '/^## / { inside = $0 == "## Install" }
		inside && /^```/ { fences++; next }
		inside && fences == 2 * wanted - 1' "$TOP/README.md"
}

# least_line: the command of docs/install.md that runs the image with the fewest rights
least_line() {
	awk '/^sudo podman run .*--cap-drop/ { on = 1 } on { print } on && !/\\$/ { exit }' "$TOP/docs/install.md"
}

# wrap NAME [GLOBAL... SUBCOMMAND OPTION...]: NAME is a script in PATH from now on: it adds the options to
# the real one. sudo alone is "as it is", where there is none or it has no rules for root.
wrap() {
	mkdir -p bin
	wrap_name=$1
	shift
	{
		echo '#!/bin/sh'
		if [ "$wrap_name" = sudo ]; then
			# shellcheck disable=SC2016 # for that script
			echo 'exec "$@"'
		else
			wrap_globals=${*%% run *}
			wrap_options=${*#* run }
			# shellcheck disable=SC2016 # for that script
			printf 'command=$1\nshift\n[ "$command" = run ] || exec %s "$command" "$@"\nexec %s run %s "$@"\n' \
				"$(command -v "$wrap_name")" "$(command -v "$wrap_name") $wrap_globals" "$wrap_options"
		fi
	} >"bin/$wrap_name"
	chmod 755 "bin/$wrap_name"
	case $PATH in
	"$PWD/bin":*) ;;
	*) PATH=$PWD/bin:$PATH ;;
	esac
}

# python_of VERSION: the path of this CPython; nothing if it is not here
python_of() {
	for python_of in "$HOME/.pyenv/versions/$1".*/bin/python "$(command -v "python$1")"; do
		if [ -x "$python_of" ] && "$python_of" -c 'import ensurepip' 2>/dev/null &&
			[ "$("$python_of" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" = "$1" ]; then
			echo "$python_of"
			return
		fi
	done
}
