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
	awk '/^sudo podman run .*--read-only/ { on = 1 } on { print } on && !/\\$/ { exit }' "$TOP/docs/install.md"
}

# wrap NAME: the script on stdin is NAME in PATH from now on
wrap() {
	mkdir -p bin
	{ echo '#!/bin/sh' && cat; } >"bin/$1"
	chmod 755 "bin/$1"
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

# make_deb: makes the package, and prints the path of a copy. Scripts run at once.
make_deb() {
	# shellcheck disable=SC2016 # for the inner shell
	flock "$WORK/deb.lock" sh -euc 'make -s -C "$TOP" deb >deb.log 2>&1 || { tail -n 3 deb.log; exit 1; }
		cp "$(tail -n 1 deb.log)" .'
	make_deb_status=$?
	[ $make_deb_status -ne 0 ] || echo "$PWD/lineburn_$(version)_amd64.deb"
	return $make_deb_status
}

# ---- Debian in a folder ----

# debian_begin SUITE: makes a minimal system in $root. apt does not ask, and takes only what is needed.
debian_begin() {
	# The mirror that this machine's apt uses.
	# shellcheck disable=SC2016 # apt's own variable
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
	debootstrap --variant=minbase "$1" "$root" "$mirror" >debootstrap.log 2>&1 || { tail -n 1 debootstrap.log; return 1; }
	apt-config dump | grep -E '^Acquire::(Check-|Retries|http|ForceIPv)' >"$root/etc/apt/apt.conf.d/99machine"
	printf 'APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "false";\n' >"$root/etc/apt/apt.conf.d/98test"
	# There is no sudo in it, and its user is root.
	# shellcheck disable=SC2016 # for that script
	printf '#!/bin/sh\nexec "$@"\n' >"$root/usr/local/bin/sudo"
	chmod 755 "$root/usr/local/bin/sudo"
	mkdir "$root/srv/test"
	within sh -euc 'apt-get update -qq && apt-get install -qq python3-numba' >apt.log 2>&1 || { tail -n 1 apt.log; return 1; }
}

# within COMMAND...: runs it in $root, in /srv/test
within() {
	# shellcheck disable=SC2016 # for the inner shell
	timeout 400 unshare --mount --propagation private sh -euc '
		root=$1
		shift
		mount --bind "$root" "$root"
		for mount in proc sys dev; do
			mount --rbind /$mount "$root/$mount"
		done
		exec chroot "$root" env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -euc "cd /srv/test && exec \"\$@\"" sh "$@"
	' sh "$root" "$@"
}

# debian_records: README's block, with a Numba program
debian_records() {
	cp "$deb" "$root/srv/test"
	cat >"$root/srv/test/hot.py" <<'END'
import time

import numba


@numba.njit
def inner(n):
    total = 0.0
    for i in range(n):
        total += (i * 7 % 13) ** 0.5  # here
    return total


end = time.process_time() + 3
while time.process_time() < end:
    inner(1000000)
END
	within sh -euc "$(install_block 2)" >install.log 2>&1 || { tail -n 1 install.log; return 1; }
	grep -q '# here' install.log || { tail -n 1 install.log; return 1; }
	cp "$root/srv/test/lineburn.pb.gz" debian.pb.gz
	"$LB" annotate --json --skip-compile debian.pb.gz >debian.json || return 1
	profile_has debian.json "hottest().startswith('hot.py:')"
}

# debian_contents: what is there beside the program
debian_contents() {
	within getent group lineburn >/dev/null || { echo "no group"; return 1; }
	[ "$(within lineburn python-hook --path)" = /usr/share/lineburn/python/startup ] || { echo "no hook"; return 1; }
	for file in usr/share/man/man1/lineburn.1.gz usr/share/bash-completion/completions/lineburn \
		usr/share/zsh/vendor-completions/_lineburn usr/share/fish/vendor_completions.d/lineburn.fish \
		lib/systemd/system/lineburn-record.service; do
		[ -s "$root/$file" ] || { echo "no /$file"; return 1; }
	done
	# The service is off.
	! find "$root/etc/systemd" -name 'lineburn*' 2>/dev/null | grep .
}

# debian_upgrades: from an older package, which keeps the recordings; then purges it all
debian_upgrades() {
	dpkg-deb -R "$deb" older && sed -i 's/^Version: .*/Version: 0.0.1/' older/DEBIAN/control &&
		dpkg-deb -b older "$root/srv/test/older.deb" >/dev/null || return 1
	within dpkg --purge lineburn && within dpkg -i older.deb || return 1
	mkdir "$root/var/lib/lineburn"
	: >"$root/var/lib/lineburn/kept"
	within sh -c 'dpkg -i lineburn_*.deb' || return 1
	[ -e "$root/var/lib/lineburn/kept" ] || { echo "the recordings are gone"; return 1; }
	[ "$(within lineburn version)" = "lineburn $(version)" ] || { echo "the version is still $(within lineburn version)"; return 1; }
	within dpkg --purge lineburn || return 1
	! within getent group lineburn || { echo "its group is left"; return 1; }
	! within find / -xdev -name '*lineburn*' -not -path '/srv/*' | grep .
}

# debian SUITE: all of these
debian() {
	debian_said=$(make_deb) || { fail "packages-$1" "$debian_said"; return; }
	deb=$debian_said
	root=$(mktemp -d "/var/tmp/lineburn-$1.XXXXXX")
	chmod 755 "$root"
	trap 'rm -rf --one-file-system "$root"' EXIT
	if ! debian_said=$(debian_begin "$1"); then
		skip "packages-$1" "no new $1 can be had: $debian_said"
		return
	fi
	check "packages-$1-records" debian_records
	check "packages-$1-contents" debian_contents
	check "packages-$1-upgrades" debian_upgrades
}
