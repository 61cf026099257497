// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/elf/names.h"

#include <stdio.h>
#include <string.h>

#include "decode/elf/demangle.h"

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
	const char *version;
	size_t len;

	n->symbol[0] = '\0';
	n->symbol_is_plt = plt;
	if (!name)
		return;
	version = strchr(name[0] ? name + 1 : name, '@');
	len = version ? (size_t)(version - name) : strlen(name);
	if (len >= sizeof(n->symbol))
		len = sizeof(n->symbol) - 1;
	memcpy(n->symbol, name, len);
	n->symbol[len] = '\0';
}

static const char *known(const char *s)
{
	return s ? s : "";
}

/* Copies @name, cut with "..." at a whole character of UTF-8. */
static void copy_cut(char *buf, size_t size, const char *name)
{
	size_t len = strlen(name);

	if (len < size) {
		memcpy(buf, name, len + 1);
		return;
	}
	len = size - sizeof("...");
	while (len && ((unsigned char)name[len] & 0xc0) == 0x80)
		len--;
	memcpy(buf, name, len);
	memcpy(buf + len, "...", sizeof("..."));
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
		/* What DWARF calls it is the last part of the name only. */
		if (!read_mangled(buf, ELF_NAMES_MAX_FUNCTION, system_name) &&
		    function[0])
			copy_cut(buf, ELF_NAMES_MAX_FUNCTION, function);
	} else {
		copy_cut(buf, ELF_NAMES_MAX_FUNCTION, function);
	}
	frame->function = buf;
	frame->system_name = !strcmp(buf, system_name) ||
					     strlen(system_name) >= ELF_NAMES_MAX_SYSTEM
				     ? ""
				     : system_name;
}

/*
 * Does the symbol say more than the name in DWARF? With line tables only, DWARF has
 * "work" for what the linker knows as _ZN2ns4workEv. Where the two disagree
 * (identical functions folded into one), DWARF is right.
 */
static bool symbol_says_more(const struct elf_names *n, const struct frame *outer)
{
	char buf[ELF_NAMES_MAX_FUNCTION];

	if (!n->symbol[0] || n->symbol_is_plt || known(outer->system_name)[0])
		return false;
	if (!known(outer->function)[0])
		return true;
	return demangle(n->symbol, buf, sizeof(buf)) == buf &&
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
