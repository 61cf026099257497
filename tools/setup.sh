#!/bin/sh
# Installs what building and testing needs on Debian 12 or 13.
# usage: tools/setup.sh [build|test]   (default: test, which includes build)
set -eu
cd "$(dirname "$0")/.."
. tools/as-root.sh

want=${1:-test}
release=$(sed -n 's/^VERSION_ID="\{0,1\}\([0-9]*\).*/\1/p' /etc/os-release 2>/dev/null || true)
distro=$(sed -n 's/^ID=//p' /etc/os-release 2>/dev/null || true)
case "$distro-$release" in
debian-12) llvm=14 ;;
debian-13) llvm=19 ;;
*) llvm= ;;
esac

build="make gcc libc6-dev pkg-config clang${llvm:+-$llvm} llvm${llvm:+-$llvm} bpftool libbpf-dev
	libelf-dev libdw-dev zlib1g-dev liblzma-dev libprotobuf-c-dev protobuf-c-compiler
	libiberty-dev libjansson-dev nettle-dev"
# What the tests compile, run and compare with.
test="libcmocka-dev clang-format${llvm:+-$llvm} clang-tidy${llvm:+-$llvm}
	libclang-rt${llvm:+-$llvm}-dev shellcheck git g++ binutils elfutils dwz xz-utils python3 sudo
	procps util-linux man-db libdebuginfod1 linux-perf"

case "$want" in
build) packages=$build ;;
test)
	packages="$build $test"
	# Compilers and runtimes of any origin do.
	command -v node >/dev/null 2>&1 || packages="$packages nodejs"
	command -v go >/dev/null 2>&1 || packages="$packages golang-go"
	command -v rustc >/dev/null 2>&1 || packages="$packages rustc"
	;;
*)
	echo "usage: tools/setup.sh [build|test]" >&2
	exit 2
	;;
esac

if [ -z "$llvm" ]; then
	echo "tools/setup.sh knows Debian 12 and 13; install what these packages hold there:" \
		"$(echo "$packages" | tr -s '\n\t ' ' ')" >&2
	exit 3
fi

missing=
for package in $packages; do
	dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' ||
		missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "tools/setup.sh: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086 # a list of names
apt-get install -y -qq --no-install-recommends $missing >/tmp/lineburn-setup.$$.log 2>&1 || {
	cat "/tmp/lineburn-setup.$$.log" >&2
	exit 1
}
rm -f "/tmp/lineburn-setup.$$.log"
