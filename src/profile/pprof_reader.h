/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the pprof reader share; nobody else includes this. */
#ifndef LB_PROFILE_PPROF_READER_H
#define LB_PROFILE_PPROF_READER_H

#include "profile.pb-c.h"
#include "profile/arena.h"
#include "profile/profile.h"

#define PPROF_MAX_STRINGS    (1u << 26)
#define PPROF_MAX_PART_BYTES (512u << 20) /* one part, unpacked */

/* The ids of one table, made up by strangers, by index; and the way back. */
struct pprof_ids {
	uint64_t *items; /* heap */
	size_t nr, cap;
	struct hashmap index;
};

struct pprof_reader {
	const char *name; /* of the file, for sentences */
	struct profile *p;
	const char **strings; /* the string table, interned; heap */
	size_t nr_strings, cap_strings;
	struct pprof_ids mapping_ids, function_ids, location_ids;
	struct arena arena; /* of one part */
	struct error *err;
};

/** "NAME is malformed: ...; ..." Return: -EBADMSG. */
__attribute__((format(printf, 2, 3))) int pprof_malformed(struct pprof_reader *r,
							  const char *fmt, ...);

/** -ENOMEM or -ENOSPC of vec_grow() for a table of @what, as an error with its sentence. */
int pprof_no_room(struct pprof_reader *r, int code, const char *what);

/** The string with number @i. Return: 0 or -EBADMSG. */
int pprof_string(struct pprof_reader *r, int64_t i, const char **ret);

/** Notes the next item of a table under @id. Return: 0, -EBADMSG (0 or twice), -ENOMEM. */
int pprof_add_id(struct pprof_reader *r, struct pprof_ids *ids, uint64_t id,
		 const char *what);

/** The index of @id, or PROFILE_NONE. */
uint32_t pprof_find_id(const struct pprof_ids *ids, uint64_t id);

/* Passes over the file, in this order. Each takes one part. Return: 0 or -errno. */
typedef int (*pprof_pass)(struct pprof_reader *r,
			  const Perftools__Profiles__Profile *part);

int pprof_read_strings(struct pprof_reader *r, const Perftools__Profiles__Profile *part);
int pprof_read_tables(struct pprof_reader *r, const Perftools__Profiles__Profile *part);
int pprof_read_locations(struct pprof_reader *r,
			 const Perftools__Profiles__Profile *part);
int pprof_read_samples(struct pprof_reader *r, const Perftools__Profiles__Profile *part);
int pprof_read_extra(struct pprof_reader *r, const Perftools__Profiles__Profile *part);

#endif
