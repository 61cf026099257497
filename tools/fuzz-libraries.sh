#!/bin/sh
# Builds libelf and capstone from the source packages of this Debian with coverage and
# AddressSanitizer, so that fuzzing sees into them: FOLDER/libelf.a, libeu.a and libcapstone.a.
# The sources are of the versions that are installed. They come from the mirror that apt uses here;
# nothing outside of FOLDER is changed.
# usage: tools/fuzz-libraries.sh FOLDER
set -eu
# Of the make that calls this: it has no jobs for these.
unset MAKEFLAGS
[ $# -eq 1 ] || {
	sed -n '2,6s/^# //p' "$0"
	exit 2
}
clang=$(for name in "${CLANG:-clang-14}" clang-19 clang; do command -v "$name"; done | head -n 1)
flags="-O1 -gline-tables-only -fPIE -w -fsanitize=address,fuzzer-no-link"
mkdir -p "$1/apt/lists/partial"
cd "$1"

# A list of sources of its own, so that the machine's needs no deb-src.
# shellcheck disable=SC2016 # apt's own variables
apt-get indextargets 'Created-By: Packages' 'Origin: Debian' 'Component: main' --format \
	'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(REPO_URI) $(RELEASE) main' |
	sort -u >apt/sources.list
apt() {
	apt-get -qq -o Dir::Etc::SourceList="$PWD/apt/sources.list" -o Dir::Etc::SourceParts=- \
		-o Dir::State::Lists="$PWD/apt/lists" -o Dir::Cache="$PWD/apt" -o APT::Sandbox::User=root "$@"
}
apt update
for package in libelf-dev libcapstone-dev; do
	# shellcheck disable=SC2016 # dpkg's own
	apt source --download-only "$(dpkg-query -W -f '${source:Package}=${source:Version}' "$package")"
done
rm -rf elfutils capstone
dpkg-source --no-check -x elfutils_*.dsc elfutils >/dev/null
dpkg-source --no-check -x capstone_*.dsc capstone >/dev/null

# Its tests of the compiler do not work with sanitizers.
(cd elfutils && ./configure -q CC="$clang" CXX="$clang++" CFLAGS="-O1 -w" --disable-debuginfod \
	--disable-libdebuginfod --disable-nls --without-zstd)
make -s -C elfutils/lib CFLAGS="$flags"
make -s -C elfutils/libelf CFLAGS="$flags" libelf.a
make -s -C capstone CC="$clang" AR=ar CAPSTONE_ARCHS="x86 aarch64" CAPSTONE_SHARED=no CAPSTONE_BUILD_CORE_ONLY=yes \
	CFLAGS="$flags -Iinclude -DCAPSTONE_USE_SYS_DYN_MEM -DCAPSTONE_HAS_X86 -DCAPSTONE_HAS_ARM64"
cp elfutils/lib/libeu.a elfutils/libelf/libelf.a capstone/libcapstone.a .
