/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fork, exec, exit and mappings of tasks, and the kernel's own generated code, from the
 * kernel's perf events (PERF_RECORD_MMAP2, COMM, FORK, EXIT, KSYMBOL;
 * include/uapi/linux/perf_event.h), as plain data: collect/ produces them, process/
 * consumes them.
 */
#ifndef LB_COLLECT_TASK_EVENT_H
#define LB_COLLECT_TASK_EVENT_H

#include <stdint.h>

enum task_event_kind {
	TASK_EVENT_FORK, /* a new process (threads are not reported) */
	TASK_EVENT_EXEC, /* the process is a new program image; comm is the new name */
	TASK_EVENT_COMM, /* a thread group leader renamed itself */
	TASK_EVENT_EXIT, /* the leader exited; its other threads may live on */
	TASK_EVENT_MMAP, /* a new executable mapping */
	TASK_EVENT_KERNEL_CODE, /* the kernel generated code: a BPF program, a trampoline */
	TASK_EVENT_KERNEL_CODE_END, /* and frees it; it may run for some time yet */
	TASK_EVENT_LOST, /* the kernel dropped nr_lost events: mappings must be read again */
};

#define TASK_EVENT_BUILD_ID_MAX 20

struct task_event {
	enum task_event_kind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid; /* thread group id in the initial pid namespace */
	uint32_t ppid; /* FORK: the parent's thread group id */
	uint64_t nr_lost; /* LOST; 0: unknown number */
	char comm[16]; /* EXEC, COMM; terminated */

	/* MMAP, KERNEL_CODE, KERNEL_CODE_END */
	uint64_t start, end; /* [start, end) */
	/*
	 * The file, "//anon", "[vdso]", "/memfd:x (deleted)" ..., or the kernel symbol
	 * (NULL: not known). Valid during the callback.
	 */
	const char *name;

	/* MMAP */
	uint64_t file_off;
	uint32_t prot; /* PROT_* */
	uint32_t major, minor; /* device; 0:0 when the kernel gave a build id instead */
	uint64_t inode; /* 0 when not known */
	uint8_t build_id[TASK_EVENT_BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: not known */
};

#endif
