#!/bin/sh
# Makes a package for Debian 12 and newer of a static lineburn, by debhelper. Prints its path.
# usage: packaging/deb.sh ARCH FOLDER     ARCH: x86_64 or arm64; "make deb" builds the program before
# SOURCE_DATE_EPOCH (default: the last commit's time): the same files give the same bytes.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS # of a make that runs this
arch=$1
mkdir -p "$2"
dist=$(realpath "$2")
case $arch in
x86_64) deb_arch=amd64 ;;
arm64) deb_arch=arm64 ;;
*)
	echo "packaging/deb.sh: no architecture $arch" >&2
	exit 2
	;;
esac
for tool in dpkg-buildpackage dh; do
	command -v $tool >/dev/null || {
		echo "packaging/deb.sh needs $tool: apt-get install dpkg-dev debhelper" >&2
		exit 3
	}
done
version=$(make -s print-version)
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
# More threads compress to other bytes.
export DPKG_DEB_THREADS_MAX=1
umask 022

work=build/deb/$arch
rm -rf "$work"
tree=$work/lineburn-$version
mkdir -p "$tree"
cp -r packaging/debian "$tree/debian"
cp packaging/lineburn-record.service "$tree/debian/lineburn.lineburn-record.service"
make -s install ARCH="$arch" INSTALLED="build/static/$arch/lineburn" DESTDIR="$tree" PREFIX=/usr
mkdir -p "$tree/usr/share/zsh/vendor-completions"
mv "$tree/usr/share/zsh/site-functions/_lineburn" "$tree/usr/share/zsh/vendor-completions/_lineburn"
rmdir "$tree/usr/share/zsh/site-functions"
cp CHANGELOG.md "$tree/usr/share/doc/lineburn/NEWS"
cp README.md "$tree/usr/share/doc/lineburn/README.md"
cat >"$tree/debian/changelog" <<END
lineburn ($version) unstable; urgency=medium

  * /usr/share/doc/lineburn/NEWS.gz has what changed.

 -- $(sed -n 's/^Maintainer: //p' packaging/debian/control)  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
END
log=$work/log
(cd "$tree" && dpkg-buildpackage -b -us -uc -d -a"$deb_arch") >"$log" 2>&1 || {
	tail -n 20 "$log" >&2
	exit 1
}
deb=lineburn_${version}_$deb_arch.deb
cp "$work/$deb" "$dist/$deb"
echo "$dist/$deb"
