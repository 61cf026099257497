/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of the system that several checks of the doctor need, read once. */
#ifndef LB_DOCTOR_MACHINE_H
#define LB_DOCTOR_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/kernel_quirks.h"

/* Inode numbers of the initial namespaces, equal on every kernel (linux/proc_ns.h). */
#define INITIAL_CGROUP_NS 0xeffffffbu
#define INITIAL_PID_NS    0xeffffffcu
#define INITIAL_USER_NS   0xeffffffdu

/* Is this process in the initial namespace of a kind? */
enum placement {
	PLACE_UNKNOWN, /* /proc does not tell */
	PLACE_INITIAL,
	PLACE_NESTED,
};

struct doctor_probes;

struct machine {
	const char *root; /* put before every path */
	uint64_t caps; /* effective, one bit each; 0 when not known */
	uint32_t uid; /* effective; UINT32_MAX when not known */
	enum placement user_ns, pid_ns, cgroup_ns;
	const char *container; /* "Docker", ...; NULL: none recognised */
	char release[KERNEL_RELEASE_BYTES]; /* "" when it cannot be read */
	char version[KERNEL_VERSION_BYTES];
	struct kernel_level level;
	bool level_known;
	const struct doctor_probes *probes; /* borrowed; NULL before a recording */
};

void machine_read(const char *root, struct machine *ret);

bool machine_has_cap(const struct machine *m, int cap);

/**
 * Reads the beginning of a file as one line: terminated, cut at the first newline.
 * Return: its length, or a negative errno (and then @buf is "").
 */
ssize_t machine_line(const struct machine *m, const char *path, char *buf, size_t size);

/** Reads a decimal number. Return: 0, -EINVAL when it is none, or a negative errno. */
int machine_number(const struct machine *m, const char *path, long *ret);

/** Is there anything at @path? */
bool machine_has(const struct machine *m, const char *path);

/** Prepends the root to @path. Return: @buf; "" when it does not fit. */
const char *machine_path(const struct machine *m, const char *path, char *buf,
			 size_t size);

#endif
