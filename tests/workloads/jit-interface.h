/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A JIT's list of objects, as GDB's manual says ("JIT Compilation Interface"). */
#ifndef LB_WORKLOAD_JIT_INTERFACE_H
#define LB_WORKLOAD_JIT_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

struct entry {
	struct entry *next, *prev;
	const void *symfile;
	uint64_t symfile_bytes;
};

struct {
	uint32_t version, action;
	struct entry *relevant, *first;
} __jit_debug_descriptor = {1, 0, NULL, NULL};

__attribute__((noinline)) void __jit_debug_register_code(void);
__attribute__((noinline)) void __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

static void link_entry(struct entry *e)
{
	e->prev = NULL;
	e->next = __jit_debug_descriptor.first;
	if (e->next)
		e->next->prev = e;
	__jit_debug_descriptor.first = e;
	__jit_debug_descriptor.relevant = e;
	__jit_debug_descriptor.action = 1;
	__jit_debug_register_code();
}

static void unlink_entry(struct entry *e)
{
	if (e->prev)
		e->prev->next = e->next;
	else
		__jit_debug_descriptor.first = e->next;
	if (e->next)
		e->next->prev = e->prev;
	__jit_debug_descriptor.relevant = e;
	__jit_debug_descriptor.action = 2;
	__jit_debug_register_code();
}

#endif
