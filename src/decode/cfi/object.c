// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/cfi/object.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/vec.h"
#include "decode/cfi/cfi.h"
#include "decode/cfi/functions.h"
#include "decode/requests.h"

#define MAX_FRAMES_SECTIONS 64 /* of one object; there is one */

static void end_elfp(Elf **elf)
{
	if (*elf)
		elf_end(*elf);
}

static Elf *open_elf(void *bytes, size_t len, GElf_Ehdr *ret)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory(bytes, len);
	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, ret) &&
	    ret->e_machine == EM_X86_64 && ret->e_ident[EI_CLASS] == ELFCLASS64 &&
	    ret->e_ident[EI_DATA] == ELFDATA2LSB)
		return elf;
	if (elf)
		elf_end(elf);
	return NULL;
}

/* ---- relocation ---- */

/* A table as it is in the object. */
struct table {
	const uint8_t *bytes;
	size_t nr;
};

static bool table_open(Elf_Scn *scn, size_t entry_bytes, struct table *ret)
{
	const Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

	if (!data || !data->d_buf)
		return false;
	ret->bytes = data->d_buf;
	ret->nr = data->d_size / entry_bytes;
	return true;
}

/* Where a symbol is when it runs. Return: false when it is not in this object. */
static bool symbol_address(Elf *elf, const struct table *symbols, size_t i, uint64_t *ret)
{
	Elf64_Sym sym;
	GElf_Shdr sh;

	memcpy(&sym, symbols->bytes + i * sizeof(sym), sizeof(sym));
	*ret = sym.st_value;
	if (sym.st_shndx == SHN_ABS)
		return true;
	if (sym.st_shndx == SHN_UNDEF || sym.st_shndx >= SHN_LORESERVE ||
	    !gelf_getshdr(elf_getscn(elf, sym.st_shndx), &sh))
		return false;
	*ret += sh.sh_addr;
	return true;
}

/* Bytes that it writes (System V ABI, AMD64 supplement, 4.4.1); 0: unknown here. */
static size_t relocation_bytes(uint32_t type, bool *ret_is_relative)
{
	*ret_is_relative = type == R_X86_64_PC32 || type == R_X86_64_PC64 ||
			   type == R_X86_64_PLT32;
	switch (type) {
	case R_X86_64_64:
	case R_X86_64_PC64:
		return 8;
	case R_X86_64_32:
	case R_X86_64_32S:
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
		return 4;
	default:
		return 0;
	}
}

/* Return: false when it cannot be done. */
static bool relocate_one(Elf *elf, const struct table *symbols, const Elf64_Rela *rela,
			 struct cfi_frames *frames)
{
	uint64_t value, i = ELF64_R_SYM(rela->r_info);
	uint32_t type = ELF64_R_TYPE(rela->r_info);
	bool is_relative;
	size_t width = relocation_bytes(type, &is_relative);

	if (type == R_X86_64_NONE)
		return true;
	if (!width || rela->r_offset > frames->len ||
	    width > frames->len - rela->r_offset || i >= symbols->nr)
		return false;
	/* The personality, which is in another object: nothing here looks at it. */
	if (!symbol_address(elf, symbols, i, &value))
		return true;
	value += (uint64_t)rela->r_addend;
	if (is_relative)
		value -= frames->vaddr + rela->r_offset;
	memcpy(frames->bytes + rela->r_offset, &value, width); /* little-endian */
	return true;
}

/* Return: false when they cannot all be done. */
static bool relocate_by(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, uint64_t *steps_left,
			struct cfi_frames *frames)
{
	struct table entries, symbols;
	Elf64_Rela rela;

	if (!table_open(scn, sizeof(Elf64_Rela), &entries) ||
	    !table_open(elf_getscn(elf, sh->sh_link), sizeof(Elf64_Sym), &symbols))
		return false;
	/* Tables of a hostile object may lie over each other. */
	if (entries.nr > *steps_left)
		return false;
	*steps_left -= entries.nr;
	for (size_t i = 0; i < entries.nr; i++) {
		memcpy(&rela, entries.bytes + i * sizeof(rela), sizeof(rela));
		if (!relocate_one(elf, &symbols, &rela, frames))
			return false;
	}
	return true;
}

/* By all tables that are for section @target. */
static bool relocate(Elf *elf, size_t target, uint64_t *steps_left,
		     struct cfi_frames *frames)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA &&
		    sh.sh_info == target &&
		    !relocate_by(elf, scn, &sh, steps_left, frames))
			return false;
	return true;
}

/* ---- frames ---- */

static Elf_Scn *find_frames(Elf *elf, size_t nth, GElf_Shdr *ret)
{
	Elf_Scn *scn = NULL;
	const char *name;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, ret) || ret->sh_type == SHT_NOBITS ||
		    !ret->sh_addr)
			continue;
		name = elf_strptr(elf, names, ret->sh_name);
		if (name && !strcmp(name, ".eh_frame") && !nth--)
			return scn;
	}
	return NULL;
}

void cfi_frames_deinit(struct cfi_frames *f)
{
	free(f->bytes);
	*f = (struct cfi_frames){0};
}

static int read_frames(Elf *elf, const GElf_Ehdr *eh, size_t nth, uint64_t *steps_left,
		       struct cfi_frames *ret)
{
	_cleanup_(cfi_frames_deinit) struct cfi_frames f = {0};
	GElf_Shdr sh;
	Elf_Scn *scn = find_frames(elf, nth, &sh);
	const Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

	if (!scn)
		return -ENODATA;
	if (!data || !data->d_buf || !data->d_size)
		return -EBADMSG;
	f.bytes = malloc(data->d_size);
	if (!f.bytes)
		return -ENOMEM;
	memcpy(f.bytes, data->d_buf, data->d_size);
	f.len = data->d_size;
	f.vaddr = sh.sh_addr;
	if (eh->e_type == ET_REL && !relocate(elf, elf_ndxscn(scn), steps_left, &f))
		return -EBADMSG;
	*ret = f;
	f.bytes = NULL;
	return 0;
}

int cfi_object_frames(void *bytes, size_t len, size_t nth, uint64_t *steps_left,
		      struct cfi_frames *ret)
{
	GElf_Ehdr eh;
	_cleanup_(end_elfp) Elf *elf = open_elf(bytes, len, &eh);

	return elf ? read_frames(elf, &eh, nth, steps_left, ret) : -ENODATA;
}

/* ---- the object ---- */

static void read_texts(Elf *elf, struct cfi_object *o)
{
	const uint64_t is_code = SHF_ALLOC | SHF_EXECINSTR;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)) && o->nr_texts < CFI_OBJECT_MAX_TEXTS)
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & is_code) == is_code &&
		    sh.sh_addr && sh.sh_addr + sh.sh_size > sh.sh_addr)
			o->texts[o->nr_texts++] =
				(struct cfi_text){.start = sh.sh_addr,
						  .end = sh.sh_addr + sh.sh_size,
						  .section = elf_ndxscn(scn)};
}

static int read_rows(const struct cfi_frames *f, uint64_t *steps_left,
		     struct cfi_object *o)
{
	/* LuaJIT's addresses are from the text on. */
	const struct cfi_section section = {.bytes = f->bytes,
					    .len = f->len,
					    .vaddr = f->vaddr,
					    .text_vaddr = o->texts[0].start};
	int err = 0;

	for (size_t i = 0; i < o->nr_texts && !err; i++)
		err = cfi_read(&section, o->texts[i].start, o->texts[i].end, steps_left,
			       &o->texts[i].rows);
	return err;
}

/* ---- functions without frames ---- */

/* Rows of the functions of @symbols that have none yet are added to @ret. */
static int read_functions(const struct table *symbols, bool is_relative,
			  const Elf_Data *code, const struct cfi_text *text,
			  uint64_t *steps_left, struct cfi_rows *ret)
{
	for (size_t i = 0; i < symbols->nr && *steps_left; i++) {
		Elf64_Sym sym;
		uint64_t at;
		int err;

		(*steps_left)--;
		memcpy(&sym, symbols->bytes + i * sizeof(sym), sizeof(sym));
		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC ||
		    sym.st_shndx != text->section)
			continue;
		at = is_relative ? sym.st_value : sym.st_value - text->start;
		if (at >= code->d_size || sym.st_size > code->d_size - at ||
		    cfi_rows_cover(&text->rows, text->start + at))
			continue;
		err = code_frames_read((const uint8_t *)code->d_buf + at, sym.st_size,
				       text->start + at, steps_left, ret);
		if (err)
			return err;
	}
	return 0;
}

static int read_code(Elf *elf, const GElf_Ehdr *eh, uint64_t *steps_left,
		     struct cfi_text *text)
{
	_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};
	const Elf_Data *code = elf_rawdata(elf_getscn(elf, text->section), NULL);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (code && code->d_buf && (scn = elf_nextscn(elf, scn))) {
		struct table symbols;
		int err;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB ||
		    !table_open(scn, sizeof(Elf64_Sym), &symbols))
			continue;
		err = read_functions(&symbols, eh->e_type == ET_REL, code, text,
				     steps_left, &rows);
		if (err)
			return err;
	}
	return cfi_rows_add_below(&text->rows, &rows);
}

int cfi_object_read(void *bytes, size_t len, uint64_t *steps_left, struct cfi_object *ret)
{
	_cleanup_(cfi_object_deinit) struct cfi_object o = {0};
	GElf_Ehdr eh;
	_cleanup_(end_elfp) Elf *elf = open_elf(bytes, len, &eh);
	int err = 0;

	if (elf)
		read_texts(elf, &o);
	for (size_t i = 0; o.nr_texts && i < MAX_FRAMES_SECTIONS && !err; i++) {
		_cleanup_(cfi_frames_deinit) struct cfi_frames frames = {0};

		err = read_frames(elf, &eh, i, steps_left, &frames);
		if (!err)
			err = read_rows(&frames, steps_left, &o);
	}
	if (err != -ENOMEM)
		err = 0; /* no more of them, or one that makes no sense */
	for (size_t i = 0; i < o.nr_texts && !err; i++)
		err = cfi_rows_finish(&o.texts[i].rows);
	for (size_t i = 0; i < o.nr_texts && !err; i++)
		err = read_code(elf, &eh, steps_left, &o.texts[i]);
	if (err)
		return err;
	*ret = o;
	o.nr_texts = 0;
	return 0;
}

void cfi_object_deinit(struct cfi_object *o)
{
	for (size_t i = 0; i < o->nr_texts; i++)
		cfi_rows_deinit(&o->texts[i].rows);
	o->nr_texts = 0;
}

/* Serves DECODER_CFI_JIT: rows of objects that a JIT registered, by their own addresses. */

#define MAX_STEPS (32u << 20) /* of one request: some 0.5 s */

/* The file of objects: the collector's own, which is not cut short meanwhile. */
struct object_file {
	void *bytes; /* NULL: it is empty */
	uint64_t len;
};

static void unmap_file(struct object_file *f)
{
	if (f->bytes)
		munmap(f->bytes, f->len);
}

static int answer_object(const struct object_file *f, uint64_t offset,
			 uint64_t size_bytes, uint64_t *steps_left,
			 struct wire_writer *reply)
{
	_cleanup_(cfi_object_deinit) struct cfi_object o = {0};
	int err = 0;

	if (offset < f->len && size_bytes <= f->len - offset)
		err = cfi_object_read((uint8_t *)f->bytes + offset, size_bytes,
				      steps_left, &o);
	if (err)
		return err;
	wire_put_u32(reply, (uint32_t)o.nr_texts);
	for (size_t i = 0; i < o.nr_texts; i++) {
		const struct cfi_text *text = &o.texts[i];

		wire_put_u64(reply, text->start);
		wire_put_u64(reply, text->end);
		cfi_pages_write(&text->rows, text->start, text->start, text->end, reply);
	}
	return reply->failed ? -ENOMEM : 0;
}

int cfi_jit_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(unmap_file) struct object_file file = {0};
	uint32_t nr = wire_get_u32(request);
	uint64_t steps_left = MAX_STEPS;
	int err;

	(void)call;
	if (nr_fds != 1 || request->failed)
		return -EBADMSG;
	err = io_map_file(fds[0], UINT64_MAX, &file.bytes, &file.len);
	for (uint32_t i = 0; i < nr && !err; i++) {
		uint64_t offset = wire_get_u64(request), size = wire_get_u64(request);

		err = request->failed
			      ? -EBADMSG
			      : answer_object(&file, offset, size, &steps_left, reply);
	}
	return err;
}
