/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fake machines for the doctor: "healthy", and how others differ from it. */
#ifndef LB_TEST_MACHINES_H
#define LB_TEST_MACHINES_H

#include <stddef.h>

enum machine_part_kind {
	PART_FILE,
	PART_LINK,
	PART_ABSENT, /* removes the part that "healthy" has */
};

#define FILE_OF(literal) PART_FILE, literal, sizeof(literal) - 1
#define LINK(to)         PART_LINK, to, 0
#define ABSENT           PART_ABSENT, NULL, 0

/* Symbols as shown to users from whom the kernel hides addresses. */
#define HIDDEN_KALLSYMS                    \
	"0000000000000000 T function_0\n"  \
	"0000000000000000 T function_1\n"  \
	"0000000000000000 T function_2\n"  \
	"0000000000000000 T function_3\n"  \
	"0000000000000000 T function_4\n"  \
	"0000000000000000 T function_5\n"  \
	"0000000000000000 T function_6\n"  \
	"0000000000000000 T function_7\n"  \
	"0000000000000000 T function_8\n"  \
	"0000000000000000 T function_9\n"  \
	"0000000000000000 T function_10\n" \
	"0000000000000000 T function_11\n" \
	"0000000000000000 T function_12\n" \
	"0000000000000000 T function_13\n" \
	"0000000000000000 T function_14\n" \
	"0000000000000000 T function_15\n" \
	"0000000000000000 T function_16\n" \
	"0000000000000000 T function_17\n" \
	"0000000000000000 T function_18\n" \
	"0000000000000000 T function_19\n" \
	"0000000000000000 T function_20\n" \
	"0000000000000000 T function_21\n" \
	"0000000000000000 T function_22\n" \
	"0000000000000000 T function_23\n" \
	"0000000000000000 T function_24\n" \
	"0000000000000000 T function_25\n" \
	"0000000000000000 T function_26\n" \
	"0000000000000000 T function_27\n" \
	"0000000000000000 T function_28\n" \
	"0000000000000000 T function_29\n" \
	"0000000000000000 T function_30\n" \
	"0000000000000000 T function_31\n" \
	"0000000000000000 T function_32\n" \
	"0000000000000000 T function_33\n" \
	"0000000000000000 T function_34\n" \
	"0000000000000000 T function_35\n" \
	"0000000000000000 T function_36\n" \
	"0000000000000000 T function_37\n" \
	"0000000000000000 T function_38\n" \
	"0000000000000000 T function_39\n"

static const struct machine_part {
	const char *machine, *path;
	enum machine_part_kind kind;
	const char *content; /* of a file; or the target of a link */
	size_t len;
} machine_parts[] = {
	{"healthy", "/proc/kallsyms",
	 FILE_OF("0000000000000000 A fixed_percpu_data\n"
		 "0000000000000000 A __per_cpu_start\n"
		 "0000000000001000 A cpu_debug_store\n"
		 "ffffffff81000000 T startup_64\n")},
	{"healthy", "/proc/version",
	 FILE_OF("Linux version 6.1.0-56-amd64 (debian-kernel@lists.debian.org) (gcc-12 "
		 "(Debian 12.2.0-14+deb12u1) 12.2.0, GNU ld (GNU Binutils for Debian) 2."
		 "40) #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-1 (2026-10-20)\n")},
	{"healthy", "/proc/self/cgroup",
	 FILE_OF("0::/user.slice/user-1000.slice/session-3.scope\n")},
	{"healthy", "/proc/self/mountinfo",
	 FILE_OF("22 27 0:20 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sys"
		 "fs rw\n"
		 "23 27 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:14 - proc pr"
		 "oc rw\n"
		 "27 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard,errors"
		 "=remount-ro\n"
		 "29 22 0:25 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 -"
		 " cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n")},
	{"healthy", "/proc/self/status",
	 FILE_OF("Name:\tlineburn\n"
		 "Umask:\t0022\n"
		 "State:\tR (running)\n"
		 "Tgid:\t4711\n"
		 "Pid:\t4711\n"
		 "PPid:\t4700\n"
		 "Uid:\t0\t0\t0\t0\n"
		 "Gid:\t0\t0\t0\t0\n"
		 "NSpid:\t4711\n"
		 "Threads:\t1\n"
		 "CapInh:\t0000000000000000\n"
		 "CapPrm:\t000001ffffffffff\n"
		 "CapEff:\t000001ffffffffff\n"
		 "CapBnd:\t000001ffffffffff\n"
		 "CapAmb:\t0000000000000000\n"
		 "Seccomp:\t0\n")},
	{"healthy", "/proc/self/ns/cgroup", LINK("cgroup:[4026531835]")},
	{"healthy", "/proc/self/ns/pid", LINK("pid:[4026531836]")},
	{"healthy", "/proc/self/ns/user", LINK("user:[4026531837]")},
	{"healthy", "/proc/sys/kernel/kptr_restrict", FILE_OF("0\n")},
	{"healthy", "/proc/sys/kernel/osrelease", FILE_OF("6.1.0-56-amd64\n")},
	{"healthy", "/proc/sys/kernel/perf_event_max_sample_rate", FILE_OF("100000\n")},
	{"healthy", "/proc/sys/kernel/perf_event_paranoid", FILE_OF("3\n")},
	{"healthy", "/proc/sys/kernel/seccomp/actions_avail",
	 FILE_OF("kill_process kill_thread trap errno user_notif trace log allow\n")},
	{"healthy", "/proc/sys/net/core/bpf_jit_enable", FILE_OF("1\n")},
	{"healthy", "/sys/bus/event_source/devices/uprobe/type", FILE_OF("8\n")},
	{"healthy", "/sys/kernel/btf/vmlinux",
	 FILE_OF("\237\353\001\000\030\000\000\000")},
	{"healthy", "/sys/kernel/security/lockdown",
	 FILE_OF("[none] integrity confidentiality\n")},
	{"healthy", "/sys/kernel/security/lsm",
	 FILE_OF("lockdown,capability,landlock,yama,apparmor\n")},
	{"admin-only", "/proc/self/status",
	 FILE_OF("Name:\tlineburn\n"
		 "Umask:\t0022\n"
		 "State:\tR (running)\n"
		 "Tgid:\t4711\n"
		 "Pid:\t4711\n"
		 "PPid:\t4700\n"
		 "Uid:\t1000\t1000\t1000\t1000\n"
		 "Gid:\t1000\t1000\t1000\t1000\n"
		 "NSpid:\t4711\n"
		 "Threads:\t1\n"
		 "CapInh:\t0000000000000000\n"
		 "CapPrm:\t0000000000200000\n"
		 "CapEff:\t0000000000200000\n"
		 "CapBnd:\t000001ffffffffff\n"
		 "CapAmb:\t0000000000000000\n"
		 "Seccomp:\t0\n")},
	{"btf-empty", "/sys/kernel/btf/vmlinux", FILE_OF("")},
	{"caps-paranoid-2", "/proc/self/status",
	 FILE_OF("Name:\tlineburn\n"
		 "Umask:\t0022\n"
		 "State:\tR (running)\n"
		 "Tgid:\t4711\n"
		 "Pid:\t4711\n"
		 "PPid:\t4700\n"
		 "Uid:\t1000\t1000\t1000\t1000\n"
		 "Gid:\t1000\t1000\t1000\t1000\n"
		 "NSpid:\t4711\n"
		 "Threads:\t1\n"
		 "CapInh:\t0000000000000000\n"
		 "CapPrm:\t000001c400080004\n"
		 "CapEff:\t000001c400080004\n"
		 "CapBnd:\t000001ffffffffff\n"
		 "CapAmb:\t0000000000000000\n"
		 "Seccomp:\t0\n")},
	{"caps-paranoid-2", "/proc/sys/kernel/perf_event_paranoid", FILE_OF("2\n")},
	{"caps-paranoid-3", "/proc/self/status",
	 FILE_OF("Name:\tlineburn\n"
		 "Umask:\t0022\n"
		 "State:\tR (running)\n"
		 "Tgid:\t4711\n"
		 "Pid:\t4711\n"
		 "PPid:\t4700\n"
		 "Uid:\t1000\t1000\t1000\t1000\n"
		 "Gid:\t1000\t1000\t1000\t1000\n"
		 "NSpid:\t4711\n"
		 "Threads:\t1\n"
		 "CapInh:\t0000000000000000\n"
		 "CapPrm:\t000001c400080004\n"
		 "CapEff:\t000001c400080004\n"
		 "CapBnd:\t000001ffffffffff\n"
		 "CapAmb:\t0000000000000000\n"
		 "Seccomp:\t0\n")},
	{"cgroup-hybrid", "/proc/self/mountinfo",
	 FILE_OF("27 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n"
		 "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
		 "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
		 "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,nam"
		 "e=systemd\n"
		 "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 "
		 "rw\n")},
	{"cgroup-namespace", "/proc/self/ns/cgroup", LINK("cgroup:[4026532302]")},
	{"cgroup-none", "/proc/self/mountinfo",
	 FILE_OF("27 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n"
		 "28 27 0:30 / /mnt/cgroup2 rw - tmpfs cgroup2 rw\n")},
	{"cgroup-v1", "/proc/self/mountinfo",
	 FILE_OF("27 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n"
		 "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
		 "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
		 "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,nam"
		 "e=systemd\n")},
	{"docker", "/.dockerenv", FILE_OF("")},
	{"docker", "/proc/self/cgroup", FILE_OF("0::/\n")},
	{"docker", "/proc/self/status",
	 FILE_OF("Name:\tlineburn\n"
		 "Umask:\t0022\n"
		 "State:\tR (running)\n"
		 "Tgid:\t4711\n"
		 "Pid:\t4711\n"
		 "PPid:\t4700\n"
		 "Uid:\t0\t0\t0\t0\n"
		 "Gid:\t0\t0\t0\t0\n"
		 "NSpid:\t4711\n"
		 "Threads:\t1\n"
		 "CapInh:\t0000000000000000\n"
		 "CapPrm:\t00000000a80425fb\n"
		 "CapEff:\t00000000a80425fb\n"
		 "CapBnd:\t000001ffffffffff\n"
		 "CapAmb:\t0000000000000000\n"
		 "Seccomp:\t0\n")},
	{"docker", "/proc/self/ns/cgroup", LINK("cgroup:[4026532302]")},
	{"docker", "/proc/self/ns/pid", LINK("pid:[4026532301]")},
	{"docker-hostpid", "/.dockerenv", FILE_OF("")},
	{"docker-hostpid", "/proc/self/cgroup", FILE_OF("0::/../../system.slice\n")},
	{"docker-hostpid", "/proc/self/ns/cgroup", LINK("cgroup:[4026532302]")},
	{"docker-service", "/proc/self/cgroup",
	 FILE_OF("0::/system.slice/docker.service\n")},
	{"docker-v1", "/proc/self/cgroup",
	 FILE_OF("4:memory:/docker/0123456789abcdef\n"
		 "0::/\n")},
	{"garbage", "/proc/kallsyms", FILE_OF("zzzz\n")},
	{"garbage", "/proc/self/mountinfo",
	 FILE_OF(" - cgroup2 \n"
		 " - \n"
		 "\n")},
	{"garbage", "/proc/self/status",
	 FILE_OF("CapEff:\n"
		 "Uid:\n")},
	{"garbage", "/proc/sys/kernel/osrelease", FILE_OF("\033]52;c;aGk=\007\377\n")},
	{"garbage", "/proc/sys/kernel/perf_event_paranoid", FILE_OF("many\n")},
	{"jit-hidden", "/proc/sys/net/core/bpf_jit_enable", ABSENT},
	{"jit-off", "/proc/sys/net/core/bpf_jit_enable", FILE_OF("0\n")},
	{"kallsyms-absent", "/proc/kallsyms", ABSENT},
	{"kallsyms-no-syslog", "/proc/kallsyms", FILE_OF(HIDDEN_KALLSYMS)},
	{"kallsyms-no-syslog", "/proc/sys/kernel/kptr_restrict", FILE_OF("1\n")},
	{"kallsyms-restricted", "/proc/kallsyms", FILE_OF(HIDDEN_KALLSYMS)},
	{"kallsyms-restricted", "/proc/sys/kernel/kptr_restrict", FILE_OF("2\n")},
	{"kernel-5.10", "/proc/version",
	 FILE_OF("Linux version 5.10.0-46-amd64 (debian-kernel@lists.debian.org) (gcc-12"
		 " (Debian 12.2.0-14+deb12u1) 12.2.0, GNU ld (GNU Binutils for Debian) 2"
		 ".40) #1 SMP PREEMPT_DYNAMIC Debian 5.10.300-1 (2026-09-01)\n")},
	{"kernel-5.10", "/proc/sys/kernel/osrelease", FILE_OF("5.10.0-46-amd64\n")},
	{"kernel-5.10-no-caps", "/proc/version",
	 FILE_OF("Linux version 5.10.0-46-amd64 (debian-kernel@lists.debian.org) (gcc-12"
		 " (Debian 12.2.0-14+deb12u1) 12.2.0, GNU ld (GNU Binutils for Debian) 2"
		 ".40) #1 SMP PREEMPT_DYNAMIC Debian 5.10.300-1 (2026-09-01)\n")},
	{"kernel-5.10-no-caps", "/proc/self/status",
	 FILE_OF("Name:\tlineburn\n"
		 "Umask:\t0022\n"
		 "State:\tR (running)\n"
		 "Tgid:\t4711\n"
		 "Pid:\t4711\n"
		 "PPid:\t4700\n"
		 "Uid:\t1000\t1000\t1000\t1000\n"
		 "Gid:\t1000\t1000\t1000\t1000\n"
		 "NSpid:\t4711\n"
		 "Threads:\t1\n"
		 "CapInh:\t0000000000000000\n"
		 "CapPrm:\t0000000000000000\n"
		 "CapEff:\t0000000000000000\n"
		 "CapBnd:\t000001ffffffffff\n"
		 "CapAmb:\t0000000000000000\n"
		 "Seccomp:\t0\n")},
	{"kernel-5.10-no-caps", "/proc/sys/kernel/osrelease",
	 FILE_OF("5.10.0-46-amd64\n")},
	{"kernel-old", "/proc/version",
	 FILE_OF("Linux version 5.4.0-150-generic (buildd@bos03) (gcc) #167-Ubuntu "
		 "SMP\n")},
	{"kernel-old", "/proc/sys/kernel/osrelease", FILE_OF("5.4.0-150-generic\n")},
	{"kernel-quirk", "/proc/version",
	 FILE_OF("Linux version 6.1.0-9-amd64 (debian-kernel@lists.debian.org) (gcc-12 ("
		 "Debian 12.2.0-14+deb12u1) 12.2.0, GNU ld (GNU Binutils for Debian) 2.4"
		 "0) #1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)\n")},
	{"kernel-quirk", "/proc/sys/kernel/osrelease", FILE_OF("6.1.0-9-amd64\n")},
	{"kernel-rt", "/proc/version",
	 FILE_OF("Linux version 6.1.0-26-rt-amd64 (debian-kernel@lists.debian.org) (gcc-"
		 "12 (Debian 12.2.0-14) 12.2.0, GNU ld (GNU Binutils for Debian) 2.40) #"
		 "1 SMP PREEMPT_RT Debian 6.1.112-1 (2024-09-30)\n")},
	{"kernel-rt", "/proc/sys/kernel/osrelease", FILE_OF("6.1.0-26-rt-amd64\n")},
	{"kernel-ubuntu", "/proc/version",
	 FILE_OF("Linux version 6.1.0-1033-oem (buildd@lcy02) (gcc) #33-Ubuntu SMP\n")},
	{"kernel-ubuntu", "/proc/version_signature",
	 FILE_OF("Ubuntu 6.1.0-1033.33-oem 6.1.57\n")},
	{"kernel-ubuntu", "/proc/sys/kernel/osrelease", FILE_OF("6.1.0-1033-oem\n")},
	{"kubernetes", "/proc/self/cgroup",
	 FILE_OF("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3f.s"
		 "lice/cri-containerd-5a.scope\n")},
	{"kubernetes", "/proc/self/ns/pid", LINK("pid:[4026532301]")},
	{"lockdown-absent", "/sys/kernel/security/lockdown", ABSENT},
	{"lockdown-confidentiality", "/sys/kernel/security/lockdown",
	 FILE_OF("none integrity [confidentiality]\n")},
	{"lockdown-integrity", "/sys/kernel/security/lockdown",
	 FILE_OF("none [integrity] confidentiality\n")},
	{"no-btf", "/sys/kernel/btf", ABSENT},
	{"no-caps", "/proc/self/status",
	 FILE_OF("Name:\tlineburn\n"
		 "Umask:\t0022\n"
		 "State:\tR (running)\n"
		 "Tgid:\t4711\n"
		 "Pid:\t4711\n"
		 "PPid:\t4700\n"
		 "Uid:\t1000\t1000\t1000\t1000\n"
		 "Gid:\t1000\t1000\t1000\t1000\n"
		 "NSpid:\t4711\n"
		 "Threads:\t1\n"
		 "CapInh:\t0000000000000000\n"
		 "CapPrm:\t0000000000000000\n"
		 "CapEff:\t0000000000000000\n"
		 "CapBnd:\t000001ffffffffff\n"
		 "CapAmb:\t0000000000000000\n"
		 "Seccomp:\t0\n")},
	{"no-landlock", "/sys/kernel/security/lsm", FILE_OF("capability,yama\n")},
	{"no-proc", "/proc", ABSENT},
	{"no-seccomp", "/proc/sys/kernel/seccomp", ABSENT},
	{"no-sys", "/sys", ABSENT},
	{"paranoid-absent", "/proc/sys/kernel/perf_event_paranoid", ABSENT},
	{"pid-namespace", "/proc/self/ns/pid", LINK("pid:[4026532301]")},
	{"rootless-podman", "/proc/self/cgroup", FILE_OF("0::/\n")},
	{"rootless-podman", "/proc/self/ns/cgroup", LINK("cgroup:[4026532202]")},
	{"rootless-podman", "/proc/self/ns/pid", LINK("pid:[4026532201]")},
	{"rootless-podman", "/proc/self/ns/user", LINK("user:[4026532200]")},
	{"rootless-podman", "/run/.containerenv", FILE_OF("")},
	{"sample-rate-low", "/proc/sys/kernel/perf_event_max_sample_rate",
	 FILE_OF("2000\n")},
	{"vm-from-image", "/.dockerenv", FILE_OF("")},
};

#endif
