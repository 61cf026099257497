/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What /proc knows of the processes whose first samples are told next, read in one request
 * (opener_look_groups()). Internal to this folder; process_table_announce() fills it.
 */
#ifndef LB_PROCESS_AHEAD_H
#define LB_PROCESS_AHEAD_H

#include "opener/opener.h"
#include "process/proc_dir.h"

struct ahead {
	struct proc_view_request items[OPENER_MAX_GROUPS];
	uint32_t tgids[OPENER_MAX_GROUPS]; /* parallel; 0: it was taken */
	size_t nr;
};

/**
 * Notes a process of @who, once. @parts  of proc_view_part. Return: whether there is room
 * for one more.
 */
bool ahead_want(struct ahead *a, int proc_fd, uint32_t tgid, struct tenant who,
		unsigned int parts);

/** Reads all that were noted since ahead_forget(). */
void ahead_read(struct ahead *a);

/**
 * Takes what was read of @tgid. Return: its directory in /proc, with @ret, both the caller's;
 * -ENOENT: it had none; another negative number: it was not read.
 */
int ahead_take(struct ahead *a, uint32_t tgid, struct proc_view *ret);

/** The same of its stat only; the view remains. */
int ahead_stat(const struct ahead *a, uint32_t tgid, struct proc_stat *ret);

void ahead_forget(struct ahead *a);

#endif
