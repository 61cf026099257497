/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assembles whole objects from the records of the JIT probe. Records of several threads
 * are interleaved, and an object is incomplete if the ring became full.
 */
#ifndef LB_COLLECT_JIT_ASSEMBLY_H
#define LB_COLLECT_JIT_ASSEMBLY_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "lineburn.h"

#define JIT_ASSEMBLY_MAX_OBJECTS 4096
#define JIT_ASSEMBLY_MAX_BYTES   (64u << 20)

/* A registration is given up after this long without a record. */
#define JIT_ASSEMBLY_PATIENCE_NS UINT64_C(2000000000)

struct jit_assembly;

/** One call as a plain event. Valid during the callback only. */
struct jit_event {
	enum lb_jit_kind kind; /* REGISTER or UNREGISTER */
	uint64_t time_ns;
	uint64_t start_boottime_ns;
	uint32_t tgid, exec_id;
	uint32_t code_gen;
	uint64_t entry_addr; /* 0: the descriptor could not be read (LB_JIT_FAULT) */
	uint64_t symfile_addr;
	uint64_t size_bytes; /* of the object, from the target: untrusted */
	const void *object; /* whole; NULL: see failure */
	enum lb_jit_failure failure; /* LB_JIT_OK with object NULL: a part was lost */
};

typedef void (*jit_event_fn)(void *ctx, const struct jit_event *ev);

/** Return: NULL when out of memory. */
struct jit_assembly *jit_assembly_new(void);
void jit_assembly_free(struct jit_assembly *a);
DEFINE_CLEANUP(struct jit_assembly, jit_assembly_free);

/**
 * Takes one record, and delivers the object that it completes. Over a maximum, the
 * oldest unfinished objects are delivered without their bytes. Invalid records are
 * ignored.
 *
 * @rec   8-aligned
 * @size  bytes at @rec
 */
void jit_assembly_take(struct jit_assembly *a, const struct lb_jit_record *rec,
		       size_t size, jit_event_fn fn, void *ctx);

/** Delivers, without bytes, objects older than JIT_ASSEMBLY_PATIENCE_NS at @now_ns. */
void jit_assembly_expire(struct jit_assembly *a, uint64_t now_ns, jit_event_fn fn,
			 void *ctx);

/** Returns how many objects were begun and not completed so far. */
uint64_t jit_assembly_broken(const struct jit_assembly *a);

#endif
