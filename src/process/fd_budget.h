/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits the number of descriptors that are open for targets. */
#ifndef LB_PROCESS_FD_BUDGET_H
#define LB_PROCESS_FD_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fd_budget {
	size_t nr_open;
	size_t max;
	uint64_t nr_refused; /* not opened, or not kept, because of the limit */
};

/* Ask before opening. Return: false, counted, when no more may be opened. */
static inline bool fd_budget_take(struct fd_budget *budget)
{
	if (budget->nr_open >= budget->max) {
		budget->nr_refused++;
		return false;
	}
	budget->nr_open++;
	return true;
}

/* The descriptor was closed, or could not be opened after all. */
static inline void fd_budget_give(struct fd_budget *budget)
{
	budget->nr_open--;
}

#endif
