#!/bin/sh
# Downloads the kernel of a Debian suite from the mirror of this machine's apt, without changing
# apt's state: the version and checksum in the file "pinned", else the suite's newest kernel.
# usage: tests/kernels/fetch.sh FOLDER SUITE[-rt] [SERIES]   (-rt: PREEMPT_RT; SERIES: 5.10; default: any)
# KERNELS_NEWEST=1: always the newest.
# Writes FOLDER/vmlinuz and FOLDER/version. A newest kernel that is there already is used for a week.
# Exit status 1: no kernel; the last line says why.
set -eu
folder=${1:?usage: fetch.sh FOLDER SUITE [SERIES]}
suite=${2:?}
series=${3:-}
flavour=cloud
keys=/usr/share/keyrings/debian-archive-keyring.gpg

pinned=
checksum=
if [ -z "${KERNELS_NEWEST:-}" ]; then
	pinned=$(sed -n "s/^$suite \\([^ ]*\\) .*/\\1/p" "$(dirname "$0")/pinned")
	checksum=$(sed -n "s/^$suite $pinned //p" "$(dirname "$0")/pinned")
fi
case $suite in
*-rt)
	suite=${suite%-rt}
	flavour=rt
	;;
esac

# is_pinned: whether FOLDER has the pinned kernel
is_pinned() {
	[ "$(cat "$folder/version" 2>/dev/null)" = "$pinned" ] &&
		[ "$(sha256sum <"$folder/vmlinuz" 2>/dev/null)" = "$checksum  -" ]
}

if [ -n "$pinned" ]; then
	if is_pinned; then
		exit 0
	fi
elif [ -s "$folder/version" ] && [ -n "$(find "$folder/vmlinuz" -mtime -7 2>/dev/null)" ]; then
	exit 0
fi

# mirror LABEL: the URL from which apt gets Debian, or its security updates
mirror() {
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		sed -n "s/^$1 //p" | head -n 1
}

debian=$(mirror Debian)
security=$(mirror Debian-Security)
[ -n "$debian" ] || {
	echo "apt knows no mirror of Debian here"
	exit 1
}
mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
folder=$(cd "$folder" && pwd)
echo "deb [signed-by=$keys] $debian $suite main" >"$folder/apt/sources.list"
case $suite in
sid | experimental) ;;
*)
	[ -z "$security" ] ||
		echo "deb [signed-by=$keys] $security $suite-security main" >>"$folder/apt/sources.list"
	;;
esac

# private APT-COMMAND ARGUMENT...
private() {
	private_command=$1
	shift
	"$private_command" -q -o Dir::Etc::SourceList="$folder/apt/sources.list" \
		-o Dir::Etc::SourceParts=/nonexistent -o Dir::State::Lists="$folder/apt/lists" \
		-o Dir::State::status=/dev/null -o Dir::Cache="$folder/apt/cache" \
		-o Acquire::Languages=none -o APT::Sandbox::User= "$@"
}

if ! private apt-get update >"$folder/apt/log" 2>&1; then
	grep -m 1 '^E:' "$folder/apt/log" || echo "apt-get update failed"
	exit 1
fi

# of_series: filters a list of packages, the newest first. A suite may also have kernels of newer
# suites (0.deb11, +deb12); only SERIES distinguishes them.
of_series() {
	if [ -n "$pinned" ]; then
		grep -xF "linux-image-$pinned"
		return
	fi
	of_series_numbers='[0-9.]+'
	[ -z "$series" ] || of_series_numbers="$(echo "$series" | sed 's/\./\\./g')(\.[0-9.]+)?"
	grep -E "^linux-image-$of_series_numbers([-+~].*)?-$flavour-amd64\$" | sort -rV
}

# unpack PACKAGE: extracts its kernel, if it has one, to FOLDER/vmlinuz
unpack() {
	(cd "$folder/apt" && rm -f ./*.deb && private apt-get download "$1" >>log 2>&1) || return 1
	dpkg-deb --fsys-tarfile "$folder"/apt/*.deb >"$folder/apt/files.tar"
	unpack_path=$(tar -tf "$folder/apt/files.tar" | grep -E '/vmlinuz(-[^/]*)?$' | head -n 1)
	[ -n "$unpack_path" ] || return 1
	tar -xOf "$folder/apt/files.tar" "$unpack_path" >"$folder/vmlinuz"
}

tried=0
for package in $(private apt-cache pkgnames linux-image- | of_series); do
	tried=$((tried + 1))
	# The index may list packages that the mirror no longer has. Newer kernels are in linux-binary-*.
	if unpack "$package" || unpack "linux-binary-${package#linux-image-}"; then
		echo "${package#linux-image-}" >"$folder/version"
		if [ -n "$pinned" ] && ! is_pinned; then
			echo "$suite's $pinned has another checksum than the one of tests/kernels/pinned"
			rm -f "$folder/vmlinuz" "$folder/version"
			exit 1
		fi
		rm -rf "$folder/apt"
		exit 0
	fi
	[ $tried -lt 8 ] || break
done
rm -f "$folder/vmlinuz" "$folder/version"
if [ $tried -eq 0 ] && [ -n "$pinned" ]; then
	echo "$suite has no $pinned any more: KERNELS_NEWEST=1 prints what to pin"
elif [ $tried -eq 0 ]; then
	echo "$suite has no kernel ${series:-at all}"
else
	echo "none of $tried kernels of $suite can be had: $(grep '^E:' "$folder/apt/log" | tail -n 1)"
fi
exit 1
