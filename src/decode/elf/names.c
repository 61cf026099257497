// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/elf/names.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

struct elf_names {
	char symbol[ELF_NAMES_MAX_SYSTEM]; /* as the linker wrote it; "": none */
	bool symbol_is_plt;
	struct frame frames[FRAMES_MAX_INLINE];
	char functions[FRAMES_MAX_INLINE][ELF_NAMES_MAX_FUNCTION];
};

struct elf_names *elf_names_new(void)
{
	return calloc(1, sizeof(struct elf_names));
}

void elf_names_free(struct elf_names *n)
{
	free(n);
}

void elf_names_symbol(struct elf_names *n, const char *name, bool plt)
{
	char *version;
	size_t len;

	n->symbol[0] = '\0';
	n->symbol_is_plt = plt;
	if (!name)
		return;
	/* A copy, as the file may change. Any number of addresses have one long name. */
	len = strnlen(name, sizeof(n->symbol) - 1);
	memcpy(n->symbol, name, len);
	n->symbol[len] = '\0';
	version = len ? strchr(n->symbol + 1, '@') : NULL;
	if (version)
		*version = '\0';
}

static const char *known(const char *s)
{
	return s ? s : "";
}

/* Replaces the end of @buf, which is full, by "...", at a whole UTF-8 character. */
static const char *end_in_dots(char *buf, size_t size)
{
	size_t at = size - sizeof("...");

	while (at && ((unsigned char)buf[at] & 0xc0) == 0x80)
		at--;
	memcpy(buf + at, "...", sizeof("..."));
	return buf;
}

static void copy_cut(char *buf, size_t size, const char *name)
{
	size_t len = strnlen(name, size);

	memcpy(buf, name, len < size ? len + 1 : size);
	if (len == size)
		end_in_dots(buf, size);
}

/* Writes the readable form of @system_name. Return: is it a mangled name? */
static bool read_mangled(char *buf, size_t size, const char *system_name)
{
	const char *readable = demangle(system_name, buf, size);

	if (readable != system_name)
		return true;
	copy_cut(buf, size, system_name);
	return false;
}

static void name_frame(struct frame *frame, char *buf)
{
	const char *function = known(frame->function);
	const char *system_name = known(frame->system_name);

	frame->file = known(frame->file);
	if (system_name[0]) {
		/* DWARF's name is only the last part of the full name. */
		if (!read_mangled(buf, ELF_NAMES_MAX_FUNCTION, system_name) &&
		    function[0])
			copy_cut(buf, ELF_NAMES_MAX_FUNCTION, function);
	} else {
		copy_cut(buf, ELF_NAMES_MAX_FUNCTION, function);
	}
	frame->function = buf;
	frame->system_name = !strcmp(buf, system_name) ||
					     strnlen(system_name, ELF_NAMES_MAX_SYSTEM) ==
						     ELF_NAMES_MAX_SYSTEM
				     ? ""
				     : system_name;
}

/*
 * Is the symbol's name more complete than DWARF's? With line tables only, DWARF has
 * "work" where the symbol is _ZN2ns4workEv. Where the two disagree (identical functions
 * folded into one), DWARF is right.
 */
static bool symbol_says_more(const struct elf_names *n, const struct frame *outer)
{
	char buf[ELF_NAMES_MAX_FUNCTION];

	if (!n->symbol[0] || n->symbol_is_plt || known(outer->system_name)[0])
		return false;
	if (!known(outer->function)[0])
		return true;
	return demangle(n->symbol, buf, sizeof(buf)) == buf &&
	       strnlen(outer->function, sizeof(buf)) < sizeof(buf) &&
	       strstr(buf, outer->function);
}

static struct frame *symbol_frame(struct elf_names *n, size_t *ret_nr)
{
	struct frame *frame = &n->frames[0];
	char *buf = n->functions[0];

	*ret_nr = 0;
	if (!n->symbol[0])
		return frame;
	*frame = (struct frame){.function = "", .system_name = n->symbol, .file = ""};
	name_frame(frame, buf);
	if (n->symbol_is_plt) {
		size_t len = strnlen(buf, ELF_NAMES_MAX_FUNCTION - sizeof("@plt"));

		memcpy(buf + len, "@plt", sizeof("@plt"));
	}
	*ret_nr = 1;
	return frame;
}

struct frame *elf_names_chain(struct elf_names *n, const struct frame *chain, size_t *nr)
{
	size_t nr_in = *nr, nr_kept = nr_in, nr_inner = nr_in;

	if (!nr_in)
		return symbol_frame(n, nr);
	if (nr_in > FRAMES_MAX_INLINE) {
		nr_kept = FRAMES_MAX_INLINE;
		nr_inner = FRAMES_MAX_INLINE / 2;
	}
	for (size_t i = 0; i < nr_kept; i++) {
		size_t from = i < nr_inner ? i : nr_in - (nr_kept - i);
		struct frame *frame = &n->frames[i];

		*frame = chain[from];
		if (from == nr_in - 1 && symbol_says_more(n, frame))
			frame->system_name = n->symbol;
		name_frame(frame, n->functions[i]);
	}
	*nr = nr_kept;
	return n->frames;
}

/* ---- Demangling of C++, Rust legacy and v0: libiberty's, with limits ---- */

/*
 * The readable name has no parameter list and no clone suffix:
 *
 *   _ZN12_GLOBAL__N_14workERKSt6vectorIiSaIiEE.isra.0 -> (anonymous namespace)::work
 *
 * Overloads still differ by their mangled name, which is kept beside it.
 *
 * libiberty's callbacks are used instead of its strings: a short hostile name can
 * expand without end, and a callback can stop it when the buffer is full.
 */
#define MAX_MANGLED 4096 /* longer names are not demangled */
#define OPTIONS     (DMGL_ANSI | DMGL_AUTO)

struct demangler_output {
	char *buf;
	size_t size, len;
	bool overflowed;
	jmp_buf full;
};

/*
 * Jumps back to run() when the buffer is full. libiberty then leaks nothing, as its
 * state is on the stack, except a decoded Punycode identifier of a few hundred bytes.
 */
static void append(const char *text, size_t len, void *opaque)
{
	struct demangler_output *out = opaque;
	size_t room = out->size - 1 - out->len;

	if (!len)
		return; /* @text may be NULL */
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

/*
 * Where libiberty can take exponential time, or for ever, without any output at which
 * append() could stop it. Of 129,000 real names of LLVM, Clang and Node these limits keep
 * none mangled, of 20,000 of rustc one.
 */
#define MAX_USES      10 /* of substitutions, in a name with an expansion */
#define MAX_TEMPLATES 8 /* template parameters with arguments */

/* Is the pattern of an expansion a parameter, as in "DpOT_"? There is no tree in it. */
static bool is_parameter(const char *pattern)
{
	pattern += strspn(pattern, "KOPRV");
	if (*pattern++ != 'T')
		return false;
	pattern += strspn(pattern, "0123456789");
	return pattern[0] == '_' && pattern[1] != 'I';
}

/* Returns how long a number as an argument is (Li-5E is "Lin5E"), or 0: it is something else. */
static size_t literal_len(const char *s)
{
	const char *end = s + 2;

	/* u, r and the others that are missing begin longer types. */
	if (s[0] != 'L' || !s[1] || !strchr("abcdefghijlmnostvwxyz", s[1]))
		return 0;
	end += *end == 'n';
	end += strspn(end, "0123456789");
	return *end == 'E' ? (size_t)(end - s) + 1 : 0;
}

/*
 * Returns how long the identifier is whose length begins at @s ("3foo"), or 0. What may be
 * another number is none: it ends in "_" or "E", or follows what has one digit (C1, D0, v2, a
 * discriminator "_1"), or DF16.
 */
static size_t identifier_len(const char *name, const char *s, bool after_use)
{
	size_t nr = 0, digits = strspn(s, "0123456789");
	char before = s > name ? s[-1] : '_';

	if (!digits || digits > 4 || strchr("CDFv", before) ||
	    (before == '_' && !after_use) || s[digits] == '_' || s[digits] == 'E')
		return 0;
	for (size_t i = 0; i < digits; i++)
		nr = nr * 10 + (size_t)(s[i] - '0');
	return strnlen(s + digits, nr) == nr ? digits + nr : 0;
}

/*
 * To find the pack of an expansion (Dp, sp, sZ) it walks each use of a substitution (S1_)
 * anew, each of which may have two of the one before. In the type of a conversion operator
 * it parses the arguments of a parameter (T_I...E) twice, with all that are in them. What
 * identifiers have of that counts only behind a literal (L) that may be anything.
 */
static bool is_costly_cpp(const char *name)
{
	size_t nr_uses = 0, nr_templates = 0, len;
	bool has_expansion = false, in_use = false, in_parameter = false;
	const char *begin = name + strspn(name, "_Z");
	bool may_skip = true, after_use = false, in_number = false;

	for (const char *s = begin; *s; s++) {
		bool is_digit = isdigit((unsigned char)*s);

		len = literal_len(s);
		if (!len && may_skip && !in_use && !in_parameter && !in_number)
			len = identifier_len(name, s, after_use);
		if (len) {
			s += len - 1;
			after_use = in_use = in_parameter = in_number = false;
			continue;
		}
		may_skip &= *s != 'L' || s == begin; /* a static function */
		in_number = is_digit;
		after_use = *s == '_' && (in_use || in_parameter);
		if (!strncmp(s, "Dp", 2) || !strncmp(s, "sp", 2) || !strncmp(s, "sZ", 2))
			has_expansion |= !is_parameter(s + 2);
		nr_uses += in_use && *s == '_';
		nr_templates += in_parameter && *s == '_' && s[1] == 'I';
		in_use = *s == 'S' ||
			 (in_use && (is_digit || isupper((unsigned char)*s)));
		in_parameter = *s == 'T' || (in_parameter && is_digit);
	}
	return nr_templates > MAX_TEMPLATES || (has_expansion && nr_uses > MAX_USES);
}

/* It counts the lifetimes of a type (FG, DG), up to 2^64, though the type is not shown. */
static bool is_costly_rust(const char *name)
{
	for (const char *s = name; *s; s++)
		if ((*s == 'F' || *s == 'D') && s[1] == 'G' &&
		    isalnum((unsigned char)s[2]) && isalnum((unsigned char)s[3]))
			return true;
	return false;
}

/* Return: is @name mangled? One that overflows the buffer is. */
static bool run(struct demangler_output *out, const char *name)
{
	if (setjmp(out->full))
		return true;
	/* Rust first: its legacy names are C++ names with a hash at the end. */
	if (rust_demangle_callback(name, OPTIONS, append, out) && out->len)
		return true;
	out->len = 0;
	return cplus_demangle_v3_callback(name, OPTIONS, append, out) && out->len;
}

const char *demangle(const char *name, char *buf, size_t size)
{
	struct demangler_output out = {.buf = buf, .size = size};

	if (!is_mangled(name) || size <= sizeof("...") ||
	    strnlen(name, MAX_MANGLED + 1) > MAX_MANGLED ||
	    (name[1] == 'R' ? is_costly_rust(name) : is_costly_cpp(name)) ||
	    !run(&out, name))
		return name;
	return out.overflowed ? end_in_dots(buf, size) : buf;
}
