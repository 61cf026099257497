#!/bin/sh
# Tests the committed tree on a new minimal Debian in a folder of its own, on this
# kernel, with real sampling. Takes minutes and 3 GB in /var/tmp.
# usage: tools/try-debian.sh bookworm|trixie [COMMAND...]   (default: tools/check.sh)
set -eu
cd "$(dirname "$0")/.."
. tools/as-root.sh

suite=${1:-}
case "$suite" in
bookworm | trixie) shift ;;
*)
	echo "usage: tools/try-debian.sh bookworm|trixie [COMMAND...]" >&2
	exit 2
	;;
esac
[ $# -gt 0 ] || set -- tools/check.sh
for tool in debootstrap git unshare; do
	command -v $tool >/dev/null 2>&1 || {
		echo "tools/try-debian.sh needs $tool: apt-get install debootstrap git util-linux" >&2
		exit 3
	}
done

# The mirror that this machine's apt uses for its own release.
# shellcheck disable=SC2016 # apt's own variable
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
[ -n "$mirror" ] || {
	echo "tools/try-debian.sh: apt has no sources here, see /etc/apt/sources.list.d" >&2
	exit 3
}

dir=$(mktemp -d /var/tmp/lineburn-"$suite".XXXXXX)
# This folder becomes "/", which every user must be able to enter.
chmod 755 "$dir"
# The system's mounts are in another mount namespace, so none is below $dir here.
trap 'rm -rf --one-file-system "$dir"' EXIT
trap 'exit 130' INT TERM
echo "== debootstrap $suite" >&2
debootstrap --variant=minbase "$suite" "$dir" "$mirror" >"$dir.log" 2>&1 || {
	tail -n 20 "$dir.log" >&2
	rm -f "$dir.log"
	exit 1
}
rm -f "$dir.log"
# Settings that this machine needs to reach the mirror.
apt-config dump | grep -E '^Acquire::(Check-|Retries|http|ForceIPv)' \
	>"$dir/etc/apt/apt.conf.d/99machine" || true
# The certificates that pip needs on this machine.
if [ -n "${PIP_CERT:-}" ]; then
	cp "$PIP_CERT" "$dir/etc/pip-cert.pem"
	PIP_CERT=/etc/pip-cert.pem
fi
git clone -q . "$dir/lineburn"
chown -R 0:0 "$dir/lineburn"

export TRY_DIR="$dir"
# The root must be a mount, as on a real machine: tests that make mount namespaces need that.
# shellcheck disable=SC2016 # for the inner shell
unshare --mount --propagation private sh -euc '
	mount --bind "$TRY_DIR" "$TRY_DIR"
	cd "$TRY_DIR"
	for mount in proc sys dev; do
		mount --rbind /$mount $mount
	done
	mkdir -p .outside
	pivot_root . .outside
	umount -l .outside
	exec chroot . env -i HOME=/root LANG=C.UTF-8 TERM=dumb \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		FUZZ_RUNS="${FUZZ_RUNS:-1000}" ${PIP_CERT:+"PIP_CERT=$PIP_CERT"} \
		sh -c "cd /lineburn && rmdir /.outside && exec \"\$@\"" sh "$@"
' sh "$@"
