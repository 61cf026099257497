#!/bin/sh
# Installs the packages that lineburn needs on Debian 12 or 13; for the demo and the tests also Numba
# and others, in Python environments below build/venv (tools/venv.sh). If everything is installed it
# ends quickly and needs no root.
# usage: tools/setup.sh [build|demo|test|nightly|cross|release]   (default: test, which includes build and demo;
# nightly: also runtimes and tools that only tools/nightly.sh uses; cross: build, and what "make static
# ARCH=arm64" needs; release: test and cross, and what "make deb" needs)
set -eu
cd "$(dirname "$0")/.."

want=${1:-test}
distro=$(sed -n 's/^ID=//p' /etc/os-release 2>/dev/null || true)
release=$(sed -n 's/^VERSION_ID="\{0,1\}\([0-9]*\).*/\1/p' /etc/os-release 2>/dev/null || true)
# Package names differ by release. On other systems the script prints them without versions.
llvm=
case "$distro-$release" in
debian-12)
	llvm=-14
	;;
debian-13)
	llvm=-19
	;;
esac

build="make gcc libc6-dev pkg-config clang$llvm llvm$llvm bpftool libbpf-dev libelf-dev
	libdw-dev zlib1g-dev liblzma-dev libprotobuf-c-dev protobuf-c-compiler libiberty-dev
	libjansson-dev nettle-dev libcapstone-dev libncurses-dev ncurses-bin python3"
# Packages that the tests need.
test="libcmocka-dev clang-format$llvm clang-tidy$llvm libclang-rt$llvm-dev shellcheck git g++
	llvm binutils elfutils dwz xz-utils sudo procps util-linux man-db debuginfod
	linux-perf musl-tools tmux podman runc crun e2fsprogs libc6-dbg"

cross="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static"
deb="dpkg-dev debhelper"

# Adds package $2 unless command $1 exists, whatever its origin.
add_command() {
	command -v "$1" >/dev/null 2>&1 || packages="$packages $2"
}

# Debian's Python lacks ensurepip, which virtual environments need; other Pythons have it.
add_python() {
	add_command python3 python3
	python3 -c 'import ensurepip' >/dev/null 2>&1 || packages="$packages python3-venv"
}

# Packages that only tools/nightly.sh needs.
add_nightly() {
	packages="$packages python3-dev $deb lintian"
	venvs="$venvs old notebook"
	add_command setcap libcap2-bin
	add_command javac default-jdk-headless
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || packages="$packages postgresql"
	add_command luajit luajit
	add_command npm npm
	add_command systemd-nspawn systemd-container
	add_command qemu-system-x86_64 qemu-system-x86
	add_command busybox busybox-static
	add_command stress stress
	add_command cpio cpio
	add_command debootstrap debootstrap
	add_command fish fish
	add_command zsh zsh
	add_command callgrind_annotate valgrind
	add_command chromium chromium
}

packages=$build
venvs=
case "$want" in
build) ;;
cross)
	packages="$packages $cross"
	;;
demo)
	add_command node nodejs
	add_python
	venvs=new
	;;
test | nightly | release)
	packages="$packages $test"
	add_python
	venvs="new stacks servers"
	add_command node nodejs
	add_command go golang-go
	add_command php php-cli
	add_command erl erlang-base
	add_command rustc rustc
	[ "$want" != nightly ] || add_nightly
	[ "$want" != release ] || packages="$packages $cross $deb"
	;;
*)
	echo "usage: tools/setup.sh [build|demo|test|nightly|cross|release]" >&2
	exit 2
	;;
esac

if [ -z "$llvm" ]; then
	# shellcheck disable=SC2086 # a list of names
	echo "tools/setup.sh installs on Debian 12 and 13 only; here, install what these packages" \
		"of Debian hold, then run make:" $packages >&2
	exit 3
fi

# shellcheck disable=SC2086 # a list of names
installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' $packages 2>/dev/null |
	sed -n 's/^ii *//p')
missing=
for package in $packages; do
	echo "$installed" | grep -qxF "$package" || missing="$missing $package"
done
if [ -n "$missing" ]; then
	. tools/as-root.sh
	echo "tools/setup.sh: installing$missing" >&2
	export DEBIAN_FRONTEND=noninteractive
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	trap 'exit 130' INT TERM
	# shellcheck disable=SC2086 # a list of names
	if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } \
		>"$log" 2>&1 </dev/null; then
		cat "$log" >&2
		echo "tools/setup.sh: apt-get could not install$missing: see above" >&2
		exit 1
	fi
fi

if [ -n "$venvs" ]; then
	# shellcheck disable=SC2086 # a list of names
	tools/venv.sh $venvs ||
		echo "tools/setup.sh: what needs Numba or another package of Python is skipped, and says so" >&2
	if [ "$(id -u)" -eq 0 ]; then
		. tools/as-root.sh
		give_back
	fi
fi

case $want in
cross | release) tools/sysroot.sh arm64 ;;
esac

# Call pprof once: newer Go compiles it at the first call, which takes a minute.
case $want in
test | nightly | release) ! command -v go >/dev/null || go tool pprof -help >/dev/null 2>&1 || true ;;
esac
