/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds and installs seccomp filters (classic BPF; kernel:
 * Documentation/userspace-api/seccomp_filter.rst).
 *
 * Each piece of a filter starts with the call's number loaded. A piece that loads an
 * argument must end every way through it with a verdict.
 */
#ifndef LB_WORKER_SYSCALL_FILTER_H
#define LB_WORKER_SYSCALL_FILTER_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Low half of an argument: both architectures are little-endian. */
#define ARG(n)  offsetof(struct seccomp_data, args[n])

#define LOAD(k) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (k))
#define AND(k)  BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (k))
#define RET(k)  BPF_STMT(BPF_RET | BPF_K, (k))
/* Skip @yes or @no instructions. */
#define IS(k, yes, no)       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (yes), (no))
#define HAS(k, yes, no)      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (k), (yes), (no))
#define AT_LEAST(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (k), (yes), (no))

#define ALLOW                RET(SECCOMP_RET_ALLOW)
#define REFUSE               RET(SECCOMP_RET_ERRNO | EPERM)
#define UNKNOWN              RET(SECCOMP_RET_ERRNO | ENOSYS)

#define SYSCALL_FILTER_MAX   512 /* instructions */

struct syscall_filter {
	struct sock_filter code[SYSCALL_FILTER_MAX];
	size_t nr;
};

/**
 * Begins a filter: calls of another architecture's ABI kill the process, those of the
 * x32 ABI of x86-64 are refused.
 */
void syscall_filter_begin(struct syscall_filter *f);
void syscall_filter_add(struct syscall_filter *f, const struct sock_filter *code,
			size_t nr);
/** Each of these @numbers gets the @verdict, ALLOW or REFUSE. */
void syscall_filter_list(struct syscall_filter *f, const uint32_t *numbers, size_t nr,
			 struct sock_filter verdict);

/**
 * The call @number gets @verdict if its argument @arg (0 to 5; its low half) is one of
 * @values, else @otherwise.
 */
void syscall_filter_values(struct syscall_filter *f, uint32_t number, unsigned int arg,
			   const uint32_t *values, size_t nr, struct sock_filter verdict,
			   struct sock_filter otherwise);

/**
 * Ends the filter with @verdict for all other calls, and installs it. Irreversible. Needs
 * no_new_privs.
 *
 * @all_threads  of this process, not only the calling one
 * Return: 0 or a negative errno.
 */
int syscall_filter_install(struct syscall_filter *f, struct sock_filter verdict,
			   bool all_threads);

#endif
