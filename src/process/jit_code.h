/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects that JITs registered (GDB JIT interface), of all program images, each
 * with the time for which it was registered: addresses are used again.
 */
#ifndef LB_PROCESS_JIT_CODE_H
#define LB_PROCESS_JIT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hashmap.h"

/* Bytes of all objects, kept in one memfd so that a decoder can be given them. */
struct jit_store;

#define JIT_STORE_DEFAULT_BYTES (256ull << 20)

/** @max_bytes  of objects held; 0: the default. Return: 0, -ENOMEM or -errno of memfd. */
int jit_store_new(uint64_t max_bytes, struct jit_store **ret);
void jit_store_free(struct jit_store *s);
DEFINE_CLEANUP(struct jit_store, jit_store_free);

/** Read-only descriptor of the bytes; borrowed. */
int jit_store_fd(const struct jit_store *s);

/**
 * Half of the room that was left when jit_code_forget() was last called is used, or
 * one image has very many that have gone: name what was sampled, then forget them.
 */
bool jit_store_is_filling(const struct jit_store *s);
/** Everything that had gone was forgotten. What is left may move in the file. */
void jit_store_was_cleaned(struct jit_store *s);

struct jit_store_stats {
	uint64_t nr_objects; /* held now */
	uint64_t nr_bytes; /* same, in whole pages: the memory that they take */
	uint64_t
		nr_registrations; /* noted now; a fork's are its parent's until one changes */
	uint64_t nr_refused; /* over a maximum: not kept */
	uint64_t nr_changes; /* of what is registered, in all images */
};
void jit_store_stats(const struct jit_store *s, struct jit_store_stats *ret);

struct jit_object;
/** Where the bytes of @o (size_bytes not 0) are in the file, until it is cleaned. */
uint64_t jit_store_offset(const struct jit_store *s, const struct jit_object *o);
/** Same: of these bytes alone, for as long as the store lives. */
uint64_t jit_store_serial(const struct jit_store *s, const struct jit_object *o);
/** hash_ends() of them (base/hash.h), read from the file; 0: it could not be read. */
uint64_t jit_store_ends(const struct jit_store *s, const struct jit_object *o);

/* One registration as one image sees it. */
struct jit_object {
	uint64_t entry_addr; /* identifies it while it is registered */
	uint64_t symfile_addr;
	uint64_t size_bytes; /* 0: registered, but its bytes could not be had */
	uint64_t from_ns; /* CLOCK_MONOTONIC; 0: since before we looked */
	uint64_t seen_ns; /* a walk first met it; 0: an event told of it */
	uint64_t until_ns; /* unregistered; UINT64_MAX: still there */
	uint32_t body; /* number of the bytes in the store, shared over forks */
};

#define JIT_CODE_MAX_OBJECTS        65536 /* of one image; more are refused, counted */
#define JIT_STORE_MAX_REGISTRATIONS (1u << 20) /* of all images: same */
#define JIT_CODE_MAX_DESCRIPTORS    4 /* objects with the interface in one image */

struct jit_share;

/* What one image has registered; embedded in struct process. All zeroes: nothing. */
struct jit_code {
	/* Shared with the images that it was forked from or forks, until one changes. */
	struct jit_share *share; /* NULL: with none */
	struct jit_object *items; /* in order of arrival */
	size_t nr, cap;
	struct hashmap live; /* entry_addr -> item that is still registered */
	uint64_t nr_lost; /* registrations whose bytes could not be had */
	uint64_t nr_foreign; /* on its lists, in a format of the runtime's own */
	bool is_refused; /* one for which there was no room, since some was made */
	bool is_part_unknown; /* one of nr_lost stands for what a list has behind a bad link */
	unsigned int nr_partial; /* walks since all lists were read whole */
	bool is_lossy; /* so it was with the process that it was forked from */
	uint64_t changed_ns; /* the latest that was told of */
	uint64_t nr_changes; /* of what is registered here */
	/* Run-time addresses of __jit_debug_descriptor: where lists begin. */
	uint64_t descriptor_ips[JIT_CODE_MAX_DESCRIPTORS];
	uint64_t probes[JIT_CODE_MAX_DESCRIPTORS]; /* for each: jit_inode.number; 0 */
	size_t nr_descriptors;
	size_t nr_maps_checked; /* mappings that were searched for the interface */
	size_t nr_compared; /* so many of the live ones, in order: by walks, in this turn */
	bool was_walked; /* whole, as this image; not as the one that it was forked from */
	uint64_t walked_ns; /* the lists were last read whole; 0: never */
	uint64_t walk_after_ns; /* not before: it took long, or there was no room */
	uint64_t prompt_after_ns; /* same, of walks that a sample of unknown code wants */
	unsigned int nr_vain_prompts; /* such walks in a row that brought nothing */
	size_t nr_maps_prompted; /* mappings that there were, ever, at the last of them */
	bool is_prompted; /* the walk that is wanted is such a one */
	bool walk_wanted; /* something is registered that no event may have told of */
	/* A list that no event may tell of: walked at drains, and when samples want it. */
	bool is_unprobed;
	bool is_unloading; /* so, and it takes objects away */
	bool is_banned; /* its memory did not answer in time */
};

void jit_code_deinit(struct jit_code *c, struct jit_store *s);

/** All of it has gone, and what was sampled of it is named. What was lost stays known. */
void jit_code_drop(struct jit_code *c, struct jit_store *s);

/**
 * For fork: @dst (empty) gets what was registered in @src at @time_ns, also if @src
 * was told more since. A thousand forks of a process with 10,000 objects cost nothing
 * but the first, as long as nobody registers.
 * Return: 0, or -ENOMEM, -ENOSPC with a part of it missing (@dst is lossy).
 */
int jit_code_copy(struct jit_code *dst, struct jit_code *src, struct jit_store *s,
		  uint64_t time_ns);

/* A call of __jit_debug_register_code, or an entry that a list walk found. */
struct jit_registration {
	uint64_t entry_addr, symfile_addr;
	const void *object; /* NULL: not read again, or could not be had */
	uint64_t size_bytes;
	uint64_t time_ns; /* becomes from_ns */
	uint64_t seen_ns; /* it was there by now: a walk's; else time_ns */
};

/**
 * Notes it. One with the same entry_addr that is still there ends at r->seen_ns,
 * unless it is the very same object, seen again by a walk: when it gave way is not
 * known, so both have the time in between. Where there are walks only, it ends at
 * r->time_ns, the last walk of the whole list: what was there after that is not known.
 *
 * Return: 0, or -ENOSPC (a maximum, or no memory; counted in nr_lost).
 */
int jit_code_register(struct jit_code *c, struct jit_store *s,
		      const struct jit_registration *r);
void jit_code_unregister(struct jit_code *c, struct jit_store *s, uint64_t entry_addr,
			 uint64_t time_ns);

/** Lets go of objects that had gone by @before_ns: no sample still needs their names. */
void jit_code_forget(struct jit_code *c, struct jit_store *s, uint64_t before_ns);

#endif
