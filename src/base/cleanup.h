/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locals that free what they own, and macros that transfer ownership. */
#ifndef LB_BASE_CLEANUP_H
#define LB_BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))

static inline void cleanup_freep(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define _cleanup_free_     _cleanup_(cleanup_freep)
#define _cleanup_close_    _cleanup_(cleanup_closep)
#define _cleanup_fclose_   _cleanup_(cleanup_fclosep)
#define _cleanup_closedir_ _cleanup_(cleanup_closedirp)

/* Defines TYPE_freep for _cleanup_() from a destructor that accepts NULL. */
#define DEFINE_CLEANUP(type, fn)           \
	static inline void fn##p(type **p) \
	{                                  \
		if (*p)                    \
			fn(*p);            \
	}                                  \
	struct cleanup_##fn##_needs_semicolon

/* Transfers ownership of a pointer: the variable is NULL afterwards. */
#define take_ptr(p)                                \
	({                                         \
		__typeof__(p) *take_pp_ = &(p);    \
		__typeof__(p) take_p_ = *take_pp_; \
		*take_pp_ = NULL;                  \
		take_p_;                           \
	})

/* Transfers ownership of a descriptor: the variable is -1 afterwards. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
