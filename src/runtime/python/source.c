// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/source.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/target_fd.h"
#include "base/wire.h"
#include "decode/python/defs.h"
#include "decode/requests.h"

#define MAX_DIRS    16
#define DEADLINE_MS 1000 /* of one file */
#define FUNCTION_NS INT64_C(1000000000) /* per function: opens no file after that */
#define STEP_NS     INT64_C(20000000) /* per call: begins no function after that */
#define MAX_PARTS   16 /* of a function's dotted name: a.b.c.f */

/* Directories to search for modules; strings are not terminated. */
struct module_search {
	const struct process *proc;
	struct worker *decoder;
	struct strpool *pool;
	struct {
		const char *path;
		size_t len;
	} dirs[MAX_DIRS];
	size_t nr_dirs;
	const char *main_path; /* of __main__, absolute; NULL: not known */
	int64_t end_ns; /* CLOCK_MONOTONIC: opens nothing after it */
};

/* Does the option (without '-') take the next argument as its value? */
static bool takes_argument(const char *option, size_t len)
{
	static const char with_value[] = "WXQ";

	if (*option == '-')
		return len == strlen("-check-hash-based-pycs") &&
		       !memcmp(option, "-check-hash-based-pycs", len);
	return len && strchr(with_value, option[len - 1]) != NULL;
}

size_t python_source_main(const char *command, const char **ret, bool *ret_is_module)
{
	const char *end = strchr(command, '\n');
	bool skip = false;

	for (const char *arg = end ? end + 1 : ""; *arg; arg = end + 1) {
		size_t len;

		end = strchr(arg, '\n');
		if (!end)
			return 0;
		len = (size_t)(end - arg);
		if (skip) {
			skip = false;
			continue;
		}
		*ret = arg;
		*ret_is_module = false;
		if (len < 2 || *arg != '-')
			return len > 1 || (len == 1 && *arg != '-') ? len : 0;
		if (arg[1] == 'c')
			return 0;
		if (arg[1] == 'm') {
			*ret_is_module = true;
			*ret = len > 2 ? arg + 2 : end + 1;
			return len > 2 ? len - 2 : strcspn(end + 1, "\n");
		}
		skip = takes_argument(arg + 1, len - 1);
	}
	return 0;
}

static void add_dir(struct module_search *s, const char *path, size_t len)
{
	while (len > 1 && path[len - 1] == '/')
		len--;
	if (!len || *path != '/' || s->nr_dirs == MAX_DIRS)
		return;
	for (size_t i = 0; i < s->nr_dirs; i++)
		if (s->dirs[i].len == len && !memcmp(s->dirs[i].path, path, len))
			return;
	s->dirs[s->nr_dirs].path = path;
	s->dirs[s->nr_dirs++].len = len;
}

/*
 * Adds the directories that contain packages: of ".../site-packages/numpy/core/x.so"
 * the part up to "site-packages".
 */
static void add_packages_dirs(struct module_search *s)
{
	static const char *const names[] = {"/site-packages/", "/dist-packages/"};

	for (size_t i = 0; i < s->proc->maps.nr; i++) {
		const char *path = s->proc->maps.items[i].path;

		for (size_t j = 0; j < ARRAY_SIZE(names); j++) {
			const char *found = strstr(path, names[j]);

			if (found)
				add_dir(s, path,
					(size_t)(found - path) + strlen(names[j]) - 1);
		}
	}
}

static void add_main(struct module_search *s)
{
	const char *cwd = s->proc->cwd ? s->proc->cwd : "";
	char path[PATH_MAX];
	const char *name;
	bool is_module;
	size_t len;
	int n;

	len = s->proc->command ? python_source_main(s->proc->command, &name, &is_module)
			       : 0;
	if (len && !is_module) {
		n = *name == '/' ? snprintf(path, sizeof(path), "%.*s", (int)len, name)
				 : snprintf(path, sizeof(path), "%s/%.*s", cwd, (int)len,
					    name);
		if (n > 0 && (size_t)n < sizeof(path) && *path == '/') {
			s->main_path = strpool_add(s->pool, path);
			add_dir(s, s->main_path,
				(size_t)(strrchr(s->main_path, '/') - s->main_path));
		}
	}
	/*
	 * Python searches the working directory only when it does not run a script
	 * file.
	 */
	if (!len || is_module)
		add_dir(s, cwd, strlen(cwd));
}

/* Returns the line of @qualname in the file @path of the target; 0: none. */
static uint32_t ask(const struct module_search *s, const char *path, const char *qualname)
{
	_cleanup_target_fd_ int fd = -1;
	struct wire_writer w = {.max = WORKER_MAX_REQUEST_BYTES};
	struct wire_reader r;
	enum worker_answer answer;
	uint32_t line;

	if ((int64_t)clock_now_ns() >= s->end_ns)
		return 0;
	fd = process_open_in_root(s->proc, 0, path, PYTHON_DEFS_MAX_BYTES, NULL);
	if (fd < 0)
		return 0;
	worker_serves(s->decoder, s->proc->tenant);
	wire_put_u32(&w, 1);
	wire_put_str(&w, qualname);
	answer = w.failed ? WORKER_FAILED
			  : worker_call(s->decoder, DECODER_PYTHON_DEFS, w.data, w.len,
					&fd, 1, NULL, NULL, DEADLINE_MS, &r, NULL);
	wire_writer_deinit(&w);
	if (answer != WORKER_OK)
		return 0;
	line = wire_get_u32(&r);
	return r.failed ? 0 : line;
}

static bool try_path(const struct module_search *s, const char *path,
		     const char *qualname, struct python_function *f)
{
	uint32_t line = ask(s, path, qualname);

	if (!line)
		return false;
	f->line = line;
	f->file = strpool_add(s->pool, path);
	return true;
}

/* Tries @module, with its dots, as a file or a package below one of the directories. */
static bool try_module(const struct module_search *s, const char *module, size_t len,
		       const char *qualname, struct python_function *f)
{
	static const char *const endings[] = {".py", "/__init__.py"};

	for (size_t i = 0; i < s->nr_dirs; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(endings); j++) {
			char path[PATH_MAX];
			int n = snprintf(path, sizeof(path), "%.*s/%.*s%s",
					 (int)s->dirs[i].len, s->dirs[i].path, (int)len,
					 module, endings[j]);

			if (n < 0 || (size_t)n >= sizeof(path))
				continue;
			for (size_t k = s->dirs[i].len + 1; k < s->dirs[i].len + 1 + len;
			     k++)
				if (path[k] == '.')
					path[k] = '/';
			if (try_path(s, path, qualname, f))
				return true;
		}
	}
	return false;
}

/* Removes "<locals>.": the decoder names "g" in "f" just "f.g". */
static void drop_locals(char *qualname)
{
	static const char locals[] = "<locals>.";
	char *found;

	while ((found = strstr(qualname, locals)))
		memmove(found, found + strlen(locals),
			strlen(found + strlen(locals)) + 1);
}

static void find_one(const struct module_search *s, struct python_function *f)
{
	char name[PATH_MAX];
	int nr_parts = 0;

	if (snprintf(name, sizeof(name), "%s", f->name) >= (int)sizeof(name) ||
	    strchr(name, '/'))
		return;
	drop_locals(name);
	if (!strncmp(name, "__main__.", 9)) {
		if (s->main_path)
			try_path(s, s->main_path, name + 9, f);
		return;
	}
	for (const char *c = name; *c; c++)
		nr_parts += *c == '.';
	if (nr_parts >= MAX_PARTS)
		return;
	/* The longest existing module wins: a.b.c.f is f of a/b/c.py. */
	for (char *dot = strrchr(name, '.'); dot;
	     dot = memrchr(name, '.', (size_t)(dot - name)))
		if (try_module(s, name, (size_t)(dot - name), dot + 1, f))
			return;
}

size_t python_source_find(const struct process *proc, struct worker *decoder,
			  struct strpool *pool, struct python_function *functions,
			  size_t nr, int64_t *budget_ns)
{
	struct module_search s = {.proc = proc, .decoder = decoder, .pool = pool};
	int64_t begin_ns = (int64_t)clock_now_ns(), now_ns = begin_ns;
	size_t done = 0;

	add_main(&s);
	add_packages_dirs(&s);
	while (done < nr && now_ns - begin_ns < STEP_NS) {
		struct python_function *f = &functions[done++];

		s.end_ns = begin_ns + *budget_ns;
		if (s.end_ns > now_ns + FUNCTION_NS)
			s.end_ns = now_ns + FUNCTION_NS;
		f->file = NULL;
		f->line = 0;
		find_one(&s, f);
		now_ns = (int64_t)clock_now_ns();
	}
	*budget_ns -= now_ns - begin_ns;
	return done;
}
