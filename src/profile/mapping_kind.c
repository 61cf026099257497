// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/mapping_kind.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/match.h"
#include "base/path.h"
#include "profile/profile.h"

static const char deleted[] = " (deleted)";

static bool ends_with(const char *s, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len >= n && !memcmp(s + len - n, suffix, n);
}

/* Returns the length of the name without " (deleted)". */
static size_t name_len(const char *name)
{
	size_t len = strlen(name);

	return ends_with(name, len, deleted) ? len - strlen(deleted) : len;
}

/*
 * Skips "3", "3.11", "2.7", and the suffix of a build: t (free-threaded), d (debug), m.
 */
static const char *skip_version(const char *s)
{
	if (*s != '2' && *s != '3')
		return s;
	s++;
	if (*s == '.' && isdigit((unsigned char)s[1]))
		for (s++; isdigit((unsigned char)*s); s++)
			;
	while (*s && strchr("tdmu", *s))
		s++;
	return s;
}

static bool is_python(const char *base)
{
	const char *rest;

	if (match_starts(base, "libpython"))
		return match_starts(skip_version(base + strlen("libpython")), ".so");
	if (!match_starts(base, "python"))
		return false;
	rest = skip_version(base + strlen("python"));
	return !*rest || !strcmp(rest, ".exe") || !strcmp(rest, "-dbg") ||
	       !strcmp(rest, deleted);
}

/*
 * Matches "libm.so", "libm.so.6", and glibc's file names before 2.34, such as
 * "libm-2.31.so".
 */
static bool is_library(const char *base, const char *name)
{
	const char *rest;

	if (!match_starts(base, name))
		return false;
	rest = base + strlen(name);
	if (*rest == '-' && isdigit((unsigned char)rest[1]))
		rest += 1 + strspn(rest + 1, "0123456789.");
	/* The digits of "-2.31.so" end with the '.' of ".so". */
	return match_starts(rest[-1] == '.' ? rest - 1 : rest, ".so");
}

static bool is_c_runtime(const char *base)
{
	static const char *const names[] = {
		"libc",  "ld",       "libm",      "libmvec", "libpthread", "librt",
		"libdl", "libgcc_s", "libstdc++", "libc++",  "libc++abi"};

	if (!strcmp(base, "[vdso]") || !strcmp(base, "[vsyscall]") ||
	    match_starts(base, "ld-linux") || match_starts(base, "ld-musl-") ||
	    match_starts(base, "libc.musl-"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (is_library(base, names[i]))
			return true;
	return false;
}

static bool is_kernel(const char *filename, const char *base)
{
	static const char *const suffixes[] = {".ko", ".ko.xz", ".ko.zst", ".ko.gz",
					       ".ko.debug"};
	size_t len = name_len(base);

	if (match_starts(filename, "[kernel") || match_starts(filename, "[guest.kernel"))
		return true;
	if (!strcmp(base, "vmlinux") || match_starts(base, "vmlinux-"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (ends_with(base, len, suffixes[i]))
			return true;
	return false;
}

static bool is_jit(const char *filename, const char *base)
{
	return !strcmp(filename, PROFILE_JIT) || match_starts(filename, "//anon") ||
	       match_starts(filename, "anon_inode:") || match_starts(filename, "[anon") ||
	       (match_starts(base, "jitted-") && match_ends(base, ".so")) ||
	       (match_starts(base, "perf-") && match_ends(base, ".map"));
}

enum code_kind code_kind_of(const char *filename)
{
	const char *base = path_basename(filename);

	if (!*filename || !strcmp(filename, PROFILE_NO_OBJECT))
		return CODE_UNKNOWN;
	if (!strcmp(filename, PROFILE_PYTHON))
		return CODE_PYTHON;
	if (is_kernel(filename, base))
		return CODE_KERNEL;
	if (is_jit(filename, base))
		return CODE_JIT;
	if (is_python(base))
		return CODE_INTERPRETER;
	return is_c_runtime(base) ? CODE_C_RUNTIME : CODE_NATIVE;
}

enum code_kind code_kind_in(const struct profile *p, const char *filename)
{
	enum code_kind kind = code_kind_of(filename);

	return kind == CODE_KERNEL && p->extra.present && filename[0] == '/' ? CODE_NATIVE
									     : kind;
}

enum code_kind mapping_kind(const struct profile *p, size_t mapping)
{
	return code_kind_in(p, mapping < p->nr_mappings ? p->mappings[mapping].filename
							: "");
}

const char *object_name(const char *filename, struct strpool *pool)
{
	const char *base = path_basename(filename);
	char name[256];

	switch (code_kind_of(filename)) {
	case CODE_JIT:
		return strpool_add(pool, PROFILE_JIT);
	case CODE_KERNEL:
		if (match_starts(filename, PROFILE_KERNEL "/")) {
			snprintf(name, sizeof(name), "[%s]", base);
			return strpool_add(pool, name);
		}
		if (filename[0] == '[')
			return strpool_add(pool, "[kernel]");
		break;
	default:
		break;
	}
	return strpool_add_n(pool, base, name_len(base));
}

const char *object_stand_in(const char *filename, struct strpool *pool)
{
	const char *object = object_name(filename, pool);
	char name[256];

	if (!*object)
		object = PROFILE_NO_OBJECT;
	if (object[0] == '[')
		return object;
	snprintf(name, sizeof(name), "[%.250s]", object);
	return strpool_add(pool, name);
}

static bool has_prefix_of(const char *s, const char *const *prefixes, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (match_starts(s, prefixes[i]))
			return true;
	return false;
}

/* Matches ".../lib/python3.11/json/decoder.py" of any Python installation. */
static bool in_python_library(const char *path)
{
	const char *at = path;

	while ((at = strstr(at, "/lib/python"))) {
		at += strlen("/lib/python");
		if (isdigit((unsigned char)*at))
			return true;
	}
	return false;
}

bool source_is_library(const char *path)
{
	static const char *const roots[] = {
		"/usr/",       "/lib/",
		"/nix/store/", "/rustc/", /* Rust's own library, as its debug info says */
		"<", /* <frozen importlib._bootstrap>, <built-in>, <string> */
		"node:", /* Node's own modules */
	};
	static const char *const parts[] =
		{
			"/site-packages/", "/dist-packages/",      "/node_modules/",
			"/.cargo/",        "/.rustup/toolchains/", "/pkg/mod/",
			"/lineburn_hook/", /* our own, in a Python that Numba runs in */
		};

	/* Code that the user typed: not a library. */
	static const char *const typed[] = {"<ipython-input-", "<stdin>"};

	if (has_prefix_of(path, typed, ARRAY_SIZE(typed)))
		return false;
	if (has_prefix_of(path, roots, ARRAY_SIZE(roots)))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(path, parts[i]))
			return true;
	return in_python_library(path);
}

bool object_is_library(const char *filename)
{
	static const char *const roots[] = {
		"/usr/",  "/lib/",       "/lib32/", "/lib64/", "/bin/",
		"/sbin/", "/nix/store/", "[vdso]",  "/snap/",  "[vsyscall]"};

	/* Modules of a package are in the folders of its sources. */
	return has_prefix_of(filename, roots, ARRAY_SIZE(roots)) ||
	       source_is_library(filename);
}

bool function_is_start_code(const char *function)
{
	static const char *const names[] = {
		"_start",
		"_start_c",
		"__libc_start_main",
		"__libc_start_main_impl",
		"__libc_start_call_main",
		"libc_start_main_stage2",
		"start_thread",
		"clone",
		"__clone",
		"clone3",
		"__clone3",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(function, names[i]))
			return true;
	return false;
}
