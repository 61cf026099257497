// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The readable name has no parameter list and no clone suffix:
 *
 *   _ZN12_GLOBAL__N_14workERKSt6vectorIiSaIiEE.isra.0 -> (anonymous namespace)::work
 *
 * Overloads keep apart by their mangled name, which travels beside it.
 *
 * libiberty's callbacks are used instead of its strings: a short hostile name can
 * expand without end, and a callback can stop it when the buffer is full.
 */
#include "decode/elf/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include <libiberty/demangle.h>

#define MAX_MANGLED  4096 /* longer names are shown as they are */
#define OPTIONS      (DMGL_ANSI | DMGL_AUTO)

#define ELLIPSIS_LEN (sizeof("...") - 1)

struct demangler_output {
	char *buf;
	size_t size, len;
	bool overflowed;
	jmp_buf full;
};

/* Returns to demangle() when full. libiberty keeps its state on the stack then,
 * but for a decoded Punycode identifier of a few hundred bytes. */
static void append(const char *text, size_t len, void *opaque)
{
	struct demangler_output *out = opaque;
	size_t room = out->size - 1 - out->len;

	memcpy(out->buf + out->len, text, len < room ? len : room);
	out->len += len < room ? len : room;
	out->buf[out->len] = '\0';
	if (len > room) {
		out->overflowed = true;
		longjmp(out->full, 1);
	}
}

static bool is_mangled(const char *name)
{
	return (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R')) ||
	       !strncmp(name, "__Z", 3) || !strncmp(name, "_GLOBAL_", 8);
}

/* Cuts at a whole character of UTF-8 and says so. */
static const char *cut(struct demangler_output *out)
{
	size_t at = out->size - 1 - ELLIPSIS_LEN;

	while (at && ((unsigned char)out->buf[at] & 0xc0) == 0x80)
		at--;
	memcpy(out->buf + at, "...", ELLIPSIS_LEN + 1);
	return out->buf;
}

/* Is it mangled? A name that overflowed the buffer is. */
static bool run(struct demangler_output *out, const char *name)
{
	if (setjmp(out->full))
		return true;
	/* Rust first: its older names are C++ names with a hash at the end. */
	if (rust_demangle_callback(name, OPTIONS, append, out))
		return true;
	out->len = 0;
	return cplus_demangle_v3_callback(name, OPTIONS, append, out) && out->len;
}

const char *demangle(const char *name, char *buf, size_t size)
{
	struct demangler_output out = {.buf = buf, .size = size};

	if (!is_mangled(name) || size <= ELLIPSIS_LEN + 1 ||
	    strnlen(name, MAX_MANGLED + 1) > MAX_MANGLED || !run(&out, name))
		return name;
	return out.overflowed ? cut(&out) : buf;
}
