// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where a Python's code may be, from what the process says of itself: its arguments
 * (/proc/PID/cmdline, '\n' after each), names of frozen modules, paths that it maps, names of
 * functions. All that is found lies within the text, or fits where it is written.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/strpool.h"
#include "process/process.h"
#include "runtime/python/frozen.h"
#include "runtime/python/source.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 150};

static void check_main(const char *command, size_t len)
{
	const char *name = NULL;
	bool is_module;
	size_t found = python_source_main(command, &name, &is_module);

	if (!found)
		return;
	assert(name > command && name + found <= command + len);
	assert(!memchr(name, '\n', found));
}

static void check_frozen(const char *text)
{
	char whole[64], cut[5], dir[256];
	size_t n = python_frozen_module(text, whole, sizeof(whole));

	assert(n < sizeof(whole) && (!n || strlen(whole) == n));
	n = python_frozen_module(text, cut, sizeof(cut));
	assert(n < sizeof(cut) && (!n || strlen(cut) == n));
	n = python_frozen_dir(text, "lib", dir, sizeof(dir));
	assert(n < sizeof(dir) && (!n || strlen(dir) == n));
}

/*
 * The last line is a function's name and the path of a mapping. Each path is tried that the
 * module of the function may have; none is opened, because the process has no root.
 */
static void check_defs(const char *text)
{
	const char *last = strrchr(text, '\n');
	struct mapping mapping = {.path = last ? last + 1 : text};
	const struct process process = {.command = text,
					.cwd = "/home/user",
					.root_fd = -1,
					.maps = {.items = &mapping, .nr = 1}};
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	struct python_function *function = calloc(1, sizeof(*function));
	struct def_search *search;
	const char *name;
	int rc;

	assert(pool && function);
	function->name = mapping.path;
	search = def_search_new(&process, pool, function, 1);
	assert(search);
	while ((rc = def_search_open(search, &name)) == -EAGAIN)
		;
	assert(rc == -ENODATA && def_search_is_over(search) && !function->line);
	def_search_free(search);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	check_main(text, size);
	check_frozen(text);
	check_defs(text);
	free(text);
	return 0;
}
