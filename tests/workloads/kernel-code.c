// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Spends its CPU time in code that the kernel generates: two BPF programs of one size,
 * loaded in turns, so that they come to the same addresses, and a socket filter, which has no
 * kernel symbol. Prints the symbols: "first NAME", "second NAME".
 * usage: kernel-code MS   (CPU time of each of the three)
 */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NR     4000 /* instructions: fewer than BPF_MAXINSNS */
#define ROUNDS 10

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int load(const char *name, int operation)
{
	static struct bpf_insn insns[NR];
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
			       .insns = (uintptr_t)insns,
			       .insn_cnt = NR,
			       .license = (uintptr_t) "GPL"};

	for (int i = 0; i < NR; i++)
		insns[i] =
			(struct bpf_insn){.code = BPF_ALU64 | BPF_K | (uint8_t)operation,
					  .dst_reg = BPF_REG_0,
					  .imm = 12345};
	insns[0].code = BPF_ALU64 | BPF_K | BPF_MOV;
	insns[NR - 1] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	strcpy(attr.prog_name, name);
	return (int)bpf(BPF_PROG_LOAD, &attr);
}

static int print_symbol(const char *name, int fd)
{
	struct bpf_prog_info info = {0};
	union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)fd,
					.info_len = sizeof(info),
					.info = (uintptr_t)&info}};

	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		return -1;
	printf("%s bpf_prog_", name);
	for (size_t i = 0; i < sizeof(info.tag); i++)
		printf("%02x", info.tag[i]);
	printf("_%s\n", name);
	return 0;
}

static long run(int fd)
{
	static char packet[64];
	union bpf_attr attr = {.test = {.prog_fd = (uint32_t)fd,
					.data_size_in = sizeof(packet),
					.data_in = (uintptr_t)packet,
					.repeat = 200}};

	return bpf(BPF_PROG_TEST_RUN, &attr);
}

__attribute__((noinline)) static int in_first(int fd, uint64_t end_ns)
{
	while (cpu_ns() < end_ns)
		if (run(fd))
			return -1;
	return 1;
}

__attribute__((noinline)) static int in_second(int fd, uint64_t end_ns)
{
	while (cpu_ns() < end_ns)
		if (run(fd))
			return -1;
	return 0;
}

__attribute__((noinline)) static int in_filter(int fd, uint64_t end_ns)
{
	while (cpu_ns() < end_ns)
		for (int i = 0; i < 100; i++)
			if (send(fd, "", 1, 0) != 1)
				return -1;
	return 0;
}

/* A filter that drops everything. */
static int filter(int fd)
{
	static struct sock_filter insns[NR];
	const struct sock_fprog program = {NR, insns};

	for (int i = 0; i < NR; i++)
		insns[i] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1);
	insns[NR - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

int main(int argc, char **argv)
{
	uint64_t ns = (argc > 1 ? strtoul(argv[1], NULL, 10) : 300) * 1000000 / ROUNDS;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		int fd = load("first", BPF_ADD);

		if (fd < 0 || (!i && print_symbol("first", fd)) ||
		    in_first(fd, cpu_ns() + ns) < 0)
			return 1;
		close(fd);
		usleep(20000); /* until the kernel has freed it */
		fd = load("second", BPF_XOR);
		if (fd < 0 || (!i && print_symbol("second", fd)) ||
		    in_second(fd, cpu_ns() + ns))
			return 1;
		close(fd);
		usleep(20000);
		if (filter(pair[1]) || in_filter(pair[0], cpu_ns() + ns))
			return 1;
		if (setsockopt(pair[1], SOL_SOCKET, SO_DETACH_FILTER, &(int){0},
			       sizeof(int)))
			return 1;
		usleep(20000);
	}
	return 0;
}
