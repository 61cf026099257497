#!/bin/sh
# Unpacks Debian's static libraries of another architecture into build/sysroot/ARCH, with apt's
# sources and keys, but in folders of its own: this machine's packages stay as they are.
# usage: tools/sysroot.sh ARCH   (of Debian: arm64)
set -eu
cd "$(dirname "$0")/.."
arch=${1:?usage: tools/sysroot.sh ARCH}
target=build/sysroot/$arch
[ ! -e "$target/complete" ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/packages"
apt() {
	apt-get -qq -o APT::Architecture="$arch" -o APT::Architectures::="$arch" -o APT::Sandbox::User=root \
		-o Dir::State="$work/state" -o Dir::State::status=/dev/null -o Dir::Cache="$work/cache" "$@"
}
echo "tools/sysroot.sh: getting libraries for $arch" >&2
if ! { apt update && cd "$work/packages" && apt download libbpf-dev libelf-dev zlib1g-dev liblzma-dev \
	libprotobuf-c-dev libiberty-dev libjansson-dev nettle-dev libcapstone-dev libncurses-dev \
	libzstd-dev; } >"$work/log" 2>&1; then
	cat "$work/log" >&2
	echo "tools/sysroot.sh: apt-get could not get the libraries for $arch: see above" >&2
	exit 1
fi
cd "$OLDPWD"
rm -rf "$target"
mkdir -p "$target"
for package in "$work/packages"/*.deb; do
	dpkg-deb -x "$package" "$target"
done
touch "$target/complete"
