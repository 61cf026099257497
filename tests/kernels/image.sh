#!/bin/sh
# Makes the initramfs that run.sh boots: busybox, lineburn, the unit tests that load BPF
# programs, programs with known answers, and guest.sh as init.
# usage: tests/kernels/image.sh BIN UNIT_TESTS FILE
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
bin=$(realpath "${1:?usage: image.sh BIN UNIT_TESTS FILE}")
unit=$(realpath "${2:?usage: image.sh BIN UNIT_TESTS FILE}")
file=${3:?usage: image.sh BIN UNIT_TESTS FILE}
workloads=$top/tests/workloads
root=$(mktemp -d /tmp/lineburn-image.XXXXXX)
trap 'rm -rf "$root"' EXIT
trap 'exit 130' INT TERM
chmod 755 "$root"
mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/test"

# as_it_is PATH...: copies files to the same paths
as_it_is() {
	for as_it_is_path; do
		mkdir -p "$root/$(dirname "$as_it_is_path")"
		[ -e "$root/$as_it_is_path" ] || cp -L "$as_it_is_path" "$root/$as_it_is_path"
	done
}

# libraries PROGRAM: copies the libraries that the dynamic linker needs
libraries() {
	# shellcheck disable=SC2046 # paths of libraries have no blanks
	as_it_is $(ldd "$1" | grep -oE '/[^ ]+')
}

install -m 755 /bin/busybox "$root/bin/busybox"
install -m 755 "$here/guest.sh" "$root/init"
install -m 755 "$bin" "$root/bin/lineburn"
libraries "$bin"
# busybox has none that sets capabilities.
install -m 755 "$(command -v setpriv)" "$root/test/setpriv"
libraries "$root/test/setpriv"
for test in unwind jit_probe map_sizes sampler; do
	install -D -m 755 "$unit/$test" "$root/unit/$test"
	libraries "$unit/$test"
done
gcc -O2 -g -fomit-frame-pointer -fno-builtin -pthread -o "$root/test/stacks" \
	"$workloads/unwind/stacks.c"

# Only the Python modules that the program imports, with byte code: compiling takes long in the guest.
python=$(realpath /usr/bin/python3)
as_it_is "$python"
libraries "$python"
ln -s "$python" "$root/bin/python3"
cp "$workloads/python/recursion.py" "$workloads/python/clocked.py" "$root/test/"
(cd "$workloads/python" && PYTHONDONTWRITEBYTECODE=1 "$python" -S -E -c '
import sys
sys.path.insert(0, ".")
import clocked, runpy
for module in list(sys.modules.values()):
    for path in getattr(module, "__file__", None), getattr(module, "__cached__", None):
        if path and path.startswith("/"):
            print(path)
') >"$root/modules"
while read -r path; do
	case $path in
	"$top"/*) continue ;;
	*.so) libraries "$path" ;;
	esac
	if [ -e "$path" ]; then as_it_is "$path"; fi
done <"$root/modules"
rm "$root/modules"

(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$file.tmp"
mv "$file.tmp" "$file"
