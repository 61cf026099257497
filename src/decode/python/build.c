// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the CPython version of an ELF file: since 3.11 from the data at Py_Version;
 * before, from the exported symbols (every build that can load extension modules
 * exports the C API). Without symbols, only the file's name tells it, which each process
 * has its own of.
 */
#include "decode/python/build.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "decode/jit/image.h"
#include "decode/python/layout.h"
#include "decode/runtimes.h"

#define MAX_SYMBOLS (1u << 20) /* of one table; CPython has 20,000 */

enum symbol {
	SYMBOL_RUNTIME,
	SYMBOL_VERSION,
	SYMBOL_EVAL,
	SYMBOL_SINCE_3_9,
	SYMBOL_SINCE_3_10,
	SYMBOL_SINCE_3_11,
	NR_SYMBOLS,
};

static const char *const names[NR_SYMBOLS] = {
	[SYMBOL_RUNTIME] = "_PyRuntime",
	[SYMBOL_VERSION] = "Py_Version",
	[SYMBOL_EVAL] = "_PyEval_EvalFrameDefault",
	[SYMBOL_SINCE_3_9] = "PyFrame_GetBack",
	[SYMBOL_SINCE_3_10] = "PyIter_Send",
	[SYMBOL_SINCE_3_11] = "PyFrame_GetLasti",
};

struct python_elf {
	const struct jit_image *image;
	struct {
		uint64_t vaddr, size_bytes; /* vaddr 0: it is not there */
	} symbols[NR_SYMBOLS];
};

/* "python", "python3", "python3.13t", "python3.14-nopie", "libpython3.11.so.1.0" */
bool python_recognise(const char *path)
{
	const char *name = path_basename(path);
	bool is_library = !strncmp(name, "lib", 3);

	if (is_library)
		name += 3;
	if (strncmp(name, "python", 6) != 0)
		return false;
	name += 6;
	if (is_library)
		return strstr(name, ".so") != NULL;
	/* The space is of " (deleted)": the file was upgraded meanwhile. */
	return !*name || strchr("0123456789-. ", *name);
}

/* The first executable segment. */
static bool find_text(const struct jit_image *m, Elf64_Phdr *ret)
{
	for (size_t i = 0; image_segment(m, i, ret); i++)
		if (ret->p_type == PT_LOAD && (ret->p_flags & PF_X) && ret->p_memsz)
			return true;
	return false;
}

/* ---- symbols ---- */

static void note_symbol(struct python_elf *f, const char *name, const Elf64_Sym *sym)
{
	if (sym->st_shndx == SHN_UNDEF || !sym->st_value)
		return;
	for (size_t i = 0; i < NR_SYMBOLS; i++)
		if (!f->symbols[i].vaddr && !strcmp(name, names[i])) {
			f->symbols[i].vaddr = sym->st_value;
			f->symbols[i].size_bytes = sym->st_size;
		}
}

/* _PyRuntime has a section of its own since 3.10, which strip(1) leaves. */
static void read_symbols(struct python_elf *f)
{
	static const uint32_t types[] = {SHT_DYNSYM, SHT_SYMTAB};
	struct image_table t;

	for (size_t k = 0; k < ARRAY_SIZE(types); k++) {
		bool is_there = image_table_find(f->image, types[k], &t);

		for (size_t i = 1; is_there && i < t.nr && i < MAX_SYMBOLS; i++) {
			Elf64_Sym sym = image_table_symbol(&t, i);
			const char *name = image_table_name(&t, &sym);

			/* A cheap filter: passes all of our symbols and few others. */
			if (!strncmp(name + (name[0] == '_'), "Py", 2))
				note_symbol(f, name, &sym);
		}
	}
	for (size_t i = 1; i < f->image->nr_sections; i++) {
		Elf64_Shdr sh = image_section(f->image, i);

		if (!f->symbols[SYMBOL_RUNTIME].vaddr &&
		    !strcmp(image_section_name(f->image, &sh), ".PyRuntime"))
			f->symbols[SYMBOL_RUNTIME].vaddr = sh.sh_addr;
	}
}

/* ---- version ---- */

/* Reads the data at Py_Version, a const unsigned long. 0: it cannot be read. */
static uint32_t read_version(const struct python_elf *f)
{
	uint64_t hex;
	const void *data = image_bytes_at(f->image, f->symbols[SYMBOL_VERSION].vaddr,
					  sizeof(hex), 0);

	if (!data)
		return 0;
	memcpy(&hex, data, sizeof(hex));
	return hex <= UINT32_MAX ? (uint32_t)hex >> 16 : 0;
}

/* "python3.9", "libpython3.10.so.1.0" */
uint32_t python_version_of_name(const char *path)
{
	static const char before[] = "python3.";
	const char *at = strstr(path_basename(path), before);
	uint32_t minor = 0;

	if (!at)
		return 0;
	at += strlen(before);
	for (int i = 0; i < 2 && *at >= '0' && *at <= '9'; i++)
		minor = minor * 10 + (uint32_t)(*at++ - '0');
	return minor ? 0x0300 + minor : 0;
}

/* Return: false: it is one that is not supported. @ret  0: only the name tells it */
static bool find_version(const struct python_elf *f, uint32_t *ret)
{
	*ret = 0;
	if (f->symbols[SYMBOL_VERSION].vaddr)
		*ret = read_version(f);
	else if (f->symbols[SYMBOL_SINCE_3_11].vaddr)
		return false; /* an early 3.11 with another layout */
	else if (f->symbols[SYMBOL_SINCE_3_10].vaddr)
		*ret = 0x030a;
	else if (f->symbols[SYMBOL_SINCE_3_9].vaddr)
		*ret = 0x0309;
	else
		return !f->symbols[SYMBOL_EVAL].vaddr;
	return *ret >= PYTHON_OLDEST && *ret <= PYTHON_NEWEST;
}

/* ---- the file ---- */

/* Return: is it a CPython? */
static bool read_build(struct python_elf *f, struct python_build *ret)
{
	uint64_t runtime, eval, eval_bytes, base;
	Elf64_Phdr text, ph;

	if (!find_text(f->image, &text))
		return false;
	read_symbols(f);
	runtime = f->symbols[SYMBOL_RUNTIME].vaddr;
	eval = f->symbols[SYMBOL_EVAL].vaddr;
	eval_bytes = f->symbols[SYMBOL_EVAL].size_bytes;
	if (!runtime || !find_version(f, &ret->version) ||
	    !image_find_load(f->image, runtime, sizeof(uint64_t), PF_W, &ph))
		return false;
	base = text.p_vaddr - text.p_offset;
	ret->runtime_off = runtime - base;
	if (eval && eval_bytes &&
	    image_find_load(f->image, eval, eval_bytes, PF_X, &ph)) {
		ret->eval_off = eval - base;
		ret->eval_bytes = eval_bytes;
	}
	return true;
}

bool python_inspect(const struct inspected_file *file, void *ret)
{
	struct python_elf f = {.image = file->image};
	struct python_build build = {0};

	_Static_assert(sizeof(build) <= RUNTIME_FACTS_BYTES, "it fits");
	if (!f.image ||
	    (f.image->header.e_type != ET_EXEC && f.image->header.e_type != ET_DYN) ||
	    !read_build(&f, &build))
		return false;
	memcpy(ret, &build, sizeof(build));
	return true;
}
