#!/bin/sh
# The cache lines and pages that a sample of 20 native frames touches, counted: what it costs when nothing of it
# is in the caches, regardless of the machine. In qemu, with the pinned kernel of tests/kernels, by a
# plugin that sees each access of the kernel and of the BPF programs.
# LB_OTHER="/path/to/another/lineburn ...": counts for these, too. LINES_DETAIL=1: also what touched the lines.
. "${TOP:?}/tests/root/lib.sh"
suite=trixie
kernel=$TOP/build/kernels/$suite

# image BIN FILE: an initramfs that records "cold" for 20 s and prints symbols meanwhile
image() {
	rm -rf root
	mkdir -p root/bin root/proc root/sys root/dev root/tmp root/test
	cp -L /bin/busybox root/bin/busybox
	cp "$1" root/bin/lineburn
	# shellcheck disable=SC2046 # paths of libraries have no blanks
	for library in $(ldd "$1" | grep -oE '/[^ ]+'); do
		mkdir -p "root/$(dirname "$library")"
		cp -L "$library" "root/$library"
	done
	gcc -O2 -g -fomit-frame-pointer -o root/test/cold "$TOP/tests/workloads/cold.c"
	cat >root/init <<'END'
#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
sysctl -w net.core.bpf_jit_kallsyms=1
sysctl -w kernel.randomize_va_space=0 # each stack is at the same place in its pages
taskset 2 /test/cold 100000 &
sleep 2
lineburn record -a -F 99 -d 20 -o /tmp/profile.pb.gz &
recording=$!
until grep -q prog_id /proc/$recording/fdinfo/*; do
	kill -0 $recording || poweroff -f
	sleep 1
done
if grep -q symbols=all /proc/cmdline; then cat /proc/kallsyms; else grep '\[bpf\]' /proc/kallsyms; fi >/dev/ttyS1
wait "$recording"
poweroff -f
END
	chmod 755 root/init
	(cd root && find . | cpio -o -H newc --quiet | gzip -1) >"$2"
}

# boot SYMBOLS [OPTION...]: writes the file "symbols": all of the kernel, or those of BPF programs ("bpf")
boot() {
	boot_symbols=$1
	shift
	timeout 900 qemu-system-x86_64 -M q35 -cpu max -accel tcg,thread=single -m 1024 -smp 2 \
		-kernel "$kernel/vmlinuz" -initrd image.gz \
		-append "console=ttyS0 quiet nokaslr panic=-1 oops=panic no_timer_check symbols=$boot_symbols" \
		-nodefaults -display none -no-reboot -serial file:console -serial file:symbols.raw "$@" </dev/null || {
		tail -n 5 console >&2
		exit 1
	}
	tr -d '\r' <symbols.raw >symbols
}

# This machine's apt may have nothing newer than what is there.
"$TOP/tests/kernels/fetch.sh" "$kernel" "$suite" >fetched 2>&1 || {
	tail -n 1 fetched >&2
	exit 1
}
gcc -O2 -Wall -Wextra -fPIC -shared -o lines.so "$TOP/tests/bench/lines-plugin.c"

echo "## Cache lines of a sample"
echo
echo "Linux $(cat "$kernel/version"), 20 native frames, events of the program in user space; medians."
echo
echo "| program | events | instructions | data lines | data pages | code lines | code pages |"
echo "|---|---|---|---|---|---|---|"
where=
for bin in "$LB" ${LB_OTHER:-}; do
	image "$bin" image.gz
	if [ -z "$where" ]; then
		# The same addresses at each boot, except those of BPF programs.
		boot all
		mv symbols kallsyms
		where=$(python3 "$TOP/tests/bench/lines.py" addresses kallsyms)
	fi
	boot bpf -plugin "$PWD/lines.so,$where,out=$PWD/list"
	grep -v '\[bpf\]' kallsyms | cat - symbols >all
	python3 "$TOP/tests/bench/lines.py" row all list "$bin"
done
