// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which CPython an ELF file is: by the data at Py_Version (3.11 on); before, by what it
 * exports (every build that can load extension modules exports the C API); a file
 * without symbols by its name.
 */
#include "decode/python/build.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "decode/elf/binary.h"
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
	const struct binary *file;
	struct {
		uint64_t vaddr, size_bytes; /* vaddr 0: it is not there */
	} symbols[NR_SYMBOLS];
};

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "python", "python3", "python3.13t", "python3.14-nopie", "libpython3.11.so.1.0" */
bool python_recognise(const char *path)
{
	const char *name = name_of(path);
	bool is_library = !strncmp(name, "lib", 3);

	if (is_library)
		name += 3;
	if (strncmp(name, "python", 6) != 0)
		return false;
	name += 6;
	if (is_library)
		return strstr(name, ".so") != NULL;
	/* " (deleted)": it was upgraded meanwhile. */
	return !*name || strchr("0123456789-. ", *name);
}

/* The first loaded segment with @flags that has [@vaddr, @vaddr + @len) in memory. */
static bool has_segment(const struct python_elf *f, uint64_t vaddr, uint64_t len,
			uint32_t flags)
{
	for (size_t i = 0; i < f->file->nr_loads; i++) {
		const struct binary_load *load = &f->file->loads[i];

		if ((load->flags & flags) == flags && vaddr >= load->vaddr &&
		    vaddr - load->vaddr <= load->mem_bytes &&
		    len <= load->mem_bytes - (vaddr - load->vaddr))
			return true;
	}
	return false;
}

/* The first executable segment. */
static const struct binary_load *find_text(const struct python_elf *f)
{
	for (size_t i = 0; i < f->file->nr_loads; i++)
		if (f->file->loads[i].flags & PF_X)
			return &f->file->loads[i];
	return NULL;
}

/* ---- symbols ---- */

static void note_symbol(struct python_elf *f, const char *name, const GElf_Sym *sym)
{
	if (sym->st_shndx == SHN_UNDEF || !sym->st_value)
		return;
	for (size_t i = 0; i < NR_SYMBOLS; i++)
		if (!f->symbols[i].vaddr && !strcmp(name, names[i])) {
			f->symbols[i].vaddr = sym->st_value;
			f->symbols[i].size_bytes = sym->st_size;
		}
}

static void read_symbols(struct python_elf *f, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t nr = shdr->sh_entsize ? (size_t)(shdr->sh_size / shdr->sh_entsize) : 0;

	for (size_t i = 1; data && i < nr && i < MAX_SYMBOLS; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			return;
		name = elf_strptr(f->file->elf, shdr->sh_link, sym.st_name);
		/* All of ours, and few others. */
		if (name && (name[0] == '_' || name[0] == 'P') && strstr(name, "Py"))
			note_symbol(f, name, &sym);
	}
}

/* _PyRuntime has a section of its own since 3.10, which strip(1) leaves. */
static void read_sections(struct python_elf *f)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	uint64_t runtime = 0;
	size_t names_index;

	if (elf_getshdrstrndx(f->file->elf, &names_index))
		return;
	while ((scn = elf_nextscn(f->file->elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &shdr))
			return;
		name = elf_strptr(f->file->elf, names_index, shdr.sh_name);
		if (shdr.sh_type == SHT_DYNSYM || shdr.sh_type == SHT_SYMTAB)
			read_symbols(f, scn, &shdr);
		else if (name && !strcmp(name, ".PyRuntime"))
			runtime = shdr.sh_addr;
	}
	if (!f->symbols[SYMBOL_RUNTIME].vaddr)
		f->symbols[SYMBOL_RUNTIME].vaddr = runtime;
}

/* ---- version ---- */

/* The data at Py_Version: const unsigned long. 0: it cannot be read. */
static uint32_t read_version(const struct python_elf *f)
{
	uint64_t hex;
	const void *data =
		binary_bytes_at(f->file, f->symbols[SYMBOL_VERSION].vaddr, sizeof(hex));

	if (!data)
		return 0;
	memcpy(&hex, data, sizeof(hex));
	return hex <= UINT32_MAX ? (uint32_t)hex >> 16 : 0;
}

/* "python3.9", "libpython3.10.so.1.0": of the last part of @path. 0: none. */
static uint32_t version_of_name(const char *path)
{
	static const char before[] = "python3.";
	const char *at = strstr(name_of(path), before);
	uint32_t minor = 0;

	if (!at)
		return 0;
	at += strlen(before);
	for (int i = 0; i < 2 && *at >= '0' && *at <= '9'; i++)
		minor = minor * 10 + (uint32_t)(*at++ - '0');
	return minor ? 0x0300 + minor : 0;
}

static uint32_t find_version(const struct python_elf *f, const char *path)
{
	if (f->symbols[SYMBOL_VERSION].vaddr)
		return read_version(f);
	if (f->symbols[SYMBOL_SINCE_3_11].vaddr)
		return 0; /* an early 3.11 with another layout */
	if (f->symbols[SYMBOL_SINCE_3_10].vaddr)
		return 0x030a;
	if (f->symbols[SYMBOL_SINCE_3_9].vaddr)
		return 0x0309;
	return f->symbols[SYMBOL_EVAL].vaddr ? 0 : version_of_name(path);
}

/* ---- the file ---- */

static bool is_ours(const struct binary *b)
{
	return b->is_64bit && b->is_little_endian &&
	       (b->type == ET_EXEC || b->type == ET_DYN);
}

/* Return: is it a CPython? */
static bool read_build(struct python_elf *f, const char *path, struct python_build *ret)
{
	uint64_t runtime, eval, eval_bytes, base;
	const struct binary_load *text = find_text(f);

	read_sections(f);
	runtime = f->symbols[SYMBOL_RUNTIME].vaddr;
	eval = f->symbols[SYMBOL_EVAL].vaddr;
	eval_bytes = f->symbols[SYMBOL_EVAL].size_bytes;
	ret->version = find_version(f, path);
	if (ret->version < PYTHON_OLDEST || ret->version > PYTHON_NEWEST || !runtime ||
	    !text || !has_segment(f, runtime, sizeof(uint64_t), PF_W))
		return false;
	base = text->vaddr - text->file_off;
	ret->runtime_off = runtime - base;
	if (eval && eval_bytes && has_segment(f, eval, eval_bytes, PF_X)) {
		ret->eval_off = eval - base;
		ret->eval_bytes = eval_bytes;
	}
	return true;
}

bool python_inspect(const struct inspected_file *file, void *ret)
{
	_cleanup_(binary_freep) struct binary *elf = NULL;
	struct python_build build = {0};
	struct python_elf f = {0};

	_Static_assert(sizeof(build) <= RUNTIME_FACTS_BYTES, "it fits");
	if (binary_open(file->fd, &elf) || !is_ours(elf))
		return false;
	f.file = elf;
	if (!read_build(&f, file->path, &build))
		return false;
	memcpy(ret, &build, sizeof(build));
	return true;
}
