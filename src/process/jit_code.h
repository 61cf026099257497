/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects that JITs registered (GDB JIT interface), for all program images, each with
 * the time for which it was registered, because addresses are reused.
 */
#ifndef LB_PROCESS_JIT_CODE_H
#define LB_PROCESS_JIT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quota.h"
#include "base/cleanup.h"
#include "base/hashmap.h"

/* Bytes of one object, which several images may refer to after a fork. */
struct kept_object {
	uint64_t offset; /* in the file; jit_store_was_cleaned() may move it */
	uint64_t size_bytes, hash;
	uint64_t serial; /* unique to these bytes, for the life of the store */
	uint32_t nr_refs; /* 0: free */
	struct tenant tenant; /* of the image that registered it first */
};

/* Bytes of all objects, in one memfd that is passed to decoders. */
struct jit_store {
	int fd; /* memfd: written by us only */
	int read_fd; /* the same, read-only: what decoders get */
	uint64_t max_bytes;
	uint64_t clean_above; /* bytes held at which it counts as filling */
	uint64_t clean_registrations_above; /* same for registrations */
	bool has_many_gone; /* an image has very many ended objects */
	uint64_t end_bytes; /* where the next object goes; the file has holes */
	uint64_t last_serial;
	struct kept_object *bodies;
	size_t nr_bodies, cap_bodies;
	uint32_t *free_bodies;
	size_t nr_free, cap_free;
	/* of the image that is served: set it before a registration */
	struct tenant tenant;
	struct quota quota, registration_quota; /* of max_bytes, of registrations */
	struct jit_store_stats {
		uint64_t nr_objects; /* held now */
		uint64_t nr_bytes; /* same, in whole pages */
		/* held; a fork shares its parent's until one changes */
		uint64_t nr_registrations;
		uint64_t nr_refused; /* over a maximum: not kept */
		uint64_t nr_changes; /* of what is registered, in all images */
	} stats;
};

/** Nobody but root gets more than a quarter. Call it first. */
void jit_store_share(struct jit_store *s);

#define JIT_STORE_DEFAULT_BYTES (256ull << 20)

/** @max_bytes  of objects held. Return: 0, -ENOMEM or -errno of memfd. */
int jit_store_new(uint64_t max_bytes, struct jit_store **ret);
void jit_store_free(struct jit_store *s);
DEFINE_CLEANUP(struct jit_store, jit_store_free);

/**
 * Returns true when half of the room left by the last jit_code_forget() is used, or one
 * image has very many ended objects. Then name the samples and call jit_code_forget().
 */
bool jit_store_is_filling(const struct jit_store *s);
/** Call after all ended objects were forgotten. May move the others in the file. */
void jit_store_was_cleaned(struct jit_store *s);

struct jit_object;
/** Returns hash_ends() of its bytes (base/hash.h); 0: the file could not be read. */
uint64_t jit_store_ends(const struct jit_store *s, const struct jit_object *o);

/* One registration in one image. */
struct jit_object {
	uint64_t entry_addr; /* identifies it while it is registered */
	uint64_t symfile_addr;
	uint64_t size_bytes; /* 0: registered, but its bytes are missing */
	uint64_t from_ns; /* CLOCK_MONOTONIC; 0: before lineburn started */
	uint64_t seen_ns; /* first seen by a walk; 0: reported by an event */
	uint64_t until_ns; /* unregistered; UINT64_MAX: still there */
	uint32_t body; /* in jit_store.bodies if size_bytes is not 0; shared over forks */
};

#define JIT_CODE_MAX_OBJECTS        65536 /* of one image; more are refused, counted */
#define JIT_STORE_MAX_REGISTRATIONS (1u << 20) /* of all images: same */
#define JIT_CODE_MAX_DESCRIPTORS    4 /* objects with the interface in one image */

/*
 * When the lists of one image are walked next: the state of runtime/jit/watch.c. It is
 * stored here because a fork inherits a part of it, and jit_code_forget() ends a pause.
 */
struct jit_walks {
	size_t nr_maps_checked; /* mappings that were searched for the interface */
	/* CLOCK_MONOTONIC: when to search again, as the decoder was late; 0: never */
	uint64_t search_ns;
	size_t nr_compared; /* live objects compared so far, in this turn */
	unsigned int nr_partial; /* walks since all lists were read whole */
	/* one of jit_code.nr_lost is all that follows a bad link */
	bool is_part_unknown;
	bool is_banned; /* reading its memory took too long: not walked again */
	uint64_t walk_after_ns; /* no walk before: the last one took long, or no room */
	/* same, for walks because of samples of unknown code */
	uint64_t prompt_after_ns;
	bool is_prompted; /* the requested walk is one of those */
	unsigned int nr_vain_prompts; /* consecutive ones that found nothing */
	size_t nr_maps_prompted; /* maps_nr_ever() at the last walk of that kind */
};

/* Registrations of one image; embedded in struct process. Zero-initialised: none. */
struct jit_code {
	/*
	 * Number of images that share items, live and the references to bodies: parent
	 * and forked children, until one changes. Heap; NULL: not shared.
	 */
	size_t *nr_sharers;
	struct tenant payer; /* of these registrations */
	struct tenant next_payer; /* of its own ones, when it no longer shares */
	struct jit_object *items; /* in order of arrival */
	size_t nr, cap;
	struct hashmap live; /* entry_addr -> item that is still registered */
	uint64_t nr_lost; /* registrations without their bytes */
	uint64_t nr_foreign; /* entries in a runtime-specific format on its lists */
	bool is_refused; /* a registration was refused since room was last made */
	bool is_lossy; /* the process that it was forked from had losses */
	uint64_t changed_ns; /* time of the last reported change */
	uint64_t nr_changes; /* of what is registered here */
	/* Run-time addresses of __jit_debug_descriptor: where lists begin. */
	uint64_t descriptor_ips[JIT_CODE_MAX_DESCRIPTORS];
	uint64_t probes[JIT_CODE_MAX_DESCRIPTORS]; /* for each: jit_inode.number; 0 */
	size_t nr_descriptors;
	bool was_walked; /* completely, since the fork */
	uint64_t walked_ns; /* time of the last complete walk; 0: never */
	bool walk_wanted; /* objects may be registered without an event */
	/* Its list changes without events: it is walked at drains and on request. */
	bool is_unprobed;
	bool is_unloading; /* same, and objects were seen to disappear from it */
	struct jit_walks walks;
};

void jit_code_deinit(struct jit_code *c, struct jit_store *s);

/**
 * Lets @who pay for its registrations, also for those that are here. Those that it shares
 * with others after a fork are paid for as before, until one of them changes.
 */
void jit_code_charge(struct jit_code *c, struct jit_store *s, struct tenant who);

/** Drops all: the image ended and its samples are named. Counts of losses stay. */
void jit_code_drop(struct jit_code *c, struct jit_store *s);

/**
 * For fork: copies the registrations of @src at @time_ns to @dst (empty), without later
 * ones. Parent and children share one table until one of them changes, so that a
 * thousand forks of a process with 10,000 objects cost as much as one.
 * Return: 0, or -ENOMEM, -ENOSPC with a part of it missing (@dst is lossy).
 */
int jit_code_copy(struct jit_code *dst, struct jit_code *src, struct jit_store *s,
		  uint64_t time_ns);

/* A call of __jit_debug_register_code, or an entry that a list walk found. */
struct jit_registration {
	uint64_t entry_addr, symfile_addr;
	const void *object; /* NULL: not read again, or not available */
	uint64_t size_bytes;
	uint64_t time_ns; /* becomes from_ns */
	uint64_t seen_ns; /* when a walk saw it; else time_ns */
};

/**
 * Adds a registration. A live one with the same entry_addr ends at r->seen_ns, unless a
 * walk saw the same object again. Its exact end is not known, so both objects cover the
 * time in between. In a process with walks only, it ends at r->time_ns, the last
 * complete walk: the list's state after that is not known.
 *
 * Return: 0, or -ENOSPC (a maximum, or no memory; counted in nr_lost).
 */
int jit_code_register(struct jit_code *c, struct jit_store *s,
		      const struct jit_registration *r);
void jit_code_unregister(struct jit_code *c, struct jit_store *s, uint64_t entry_addr,
			 uint64_t time_ns);

/** Frees objects that ended by @before_ns: no sample needs their names any more. */
void jit_code_forget(struct jit_code *c, struct jit_store *s, uint64_t before_ns);

#endif
