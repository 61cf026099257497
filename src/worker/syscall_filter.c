// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/syscall_filter.h"

#include <assert.h>
#include <linux/audit.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#error "the system call filter knows x86-64 and arm64"
#endif

/* In the number of a call: it is one of the x32 ABI of x86-64 (linux: asm/unistd.h). */
#define X32_BIT 0x40000000u

void syscall_filter_begin(struct syscall_filter *f)
{
	static const struct sock_filter begin[] = {
		LOAD(offsetof(struct seccomp_data, arch)),
		IS(OUR_ARCH, 1, 0),
		RET(SECCOMP_RET_KILL_PROCESS),
		LOAD(offsetof(struct seccomp_data, nr)),
		AT_LEAST(X32_BIT, 0, 1),
		REFUSE,
	};

	f->nr = 0;
	syscall_filter_add(f, begin, ARRAY_SIZE(begin));
}

void syscall_filter_add(struct syscall_filter *f, const struct sock_filter *code,
			size_t nr)
{
	assert(nr <= SYSCALL_FILTER_MAX - f->nr);
	memcpy(f->code + f->nr, code, nr * sizeof(*code));
	f->nr += nr;
}

void syscall_filter_list(struct syscall_filter *f, const uint32_t *numbers, size_t nr,
			 struct sock_filter verdict)
{
	for (size_t i = 0; i < nr; i++) {
		const struct sock_filter one[] = {IS(numbers[i], 0, 1), verdict};

		syscall_filter_add(f, one, ARRAY_SIZE(one));
	}
}

void syscall_filter_values(struct syscall_filter *f, uint32_t number, unsigned int arg,
			   const uint32_t *values, size_t nr, struct sock_filter verdict,
			   struct sock_filter otherwise)
{
	/* Other calls skip what follows: two instructions for each value, and the last. */
	const struct sock_filter begin[] = {
		IS(number, 0, (uint8_t)(2 * nr + 2)),
		LOAD(ARG(0) + arg * (uint32_t)sizeof(uint64_t)),
	};

	assert(nr <= (UINT8_MAX - 2) / 2);
	syscall_filter_add(f, begin, ARRAY_SIZE(begin));
	syscall_filter_list(f, values, nr, verdict);
	syscall_filter_add(f, &otherwise, 1);
}

int syscall_filter_install(struct syscall_filter *f, struct sock_filter verdict,
			   bool all_threads)
{
	struct sock_fprog program = {.filter = f->code};
	/*
	 * Without SPEC_ALLOW kernels before 5.16 disable speculation for the whole
	 * process, which makes it slower; these processes hold no secrets of their own.
	 */
	unsigned int flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	long rc;

	if (all_threads)
		flags |= SECCOMP_FILTER_FLAG_TSYNC;
	syscall_filter_add(f, &verdict, 1);
	program.len = (unsigned short)f->nr;
	rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (rc < 0)
		return -errno;
	/* The number of a thread that has a filter of its own already. */
	return rc ? -ESRCH : 0;
}
