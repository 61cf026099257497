// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/cfi/object.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "decode/cfi/cfi.h"
#include "decode/cfi/functions.h"
#include "decode/jit/image.h"
#include "decode/requests.h"

#define MAX_FRAMES_SECTIONS 64 /* of one object; real ones have one */

static bool open_image(const void *bytes, size_t len, struct jit_image *ret)
{
	return image_open(bytes, len, ret) && ret->header.e_machine == EM_X86_64;
}

/* ---- frames ---- */

/* Returns the number of the @nth .eh_frame section; 0: there is none. */
static size_t find_frames(const struct jit_image *m, size_t nth)
{
	for (size_t i = 1; i < m->nr_sections; i++) {
		Elf64_Shdr sh = image_section(m, i);

		if (sh.sh_type != SHT_NOBITS && sh.sh_addr &&
		    !strcmp(image_section_name(m, &sh), ".eh_frame") && !nth--)
			return i;
	}
	return 0;
}

/* A section, relocated as the JIT did. */
struct cfi_frames {
	uint8_t *bytes; /* heap */
	size_t len;
	uint64_t vaddr; /* run-time address */
};

static void cfi_frames_deinit(struct cfi_frames *f)
{
	free(f->bytes);
	*f = (struct cfi_frames){0};
}

/* Return: 0; -ENODATA: no more sections; -EBADMSG: it cannot be relocated; -ENOMEM. */
static int read_frames(const struct jit_image *m, size_t nth, uint64_t *steps_left,
		       struct cfi_frames *ret)
{
	_cleanup_(cfi_frames_deinit) struct cfi_frames f = {0};
	size_t section = find_frames(m, nth);
	const uint8_t *bytes;
	Elf64_Shdr sh;

	if (!section)
		return -ENODATA;
	sh = image_section(m, section);
	bytes = image_section_bytes(m, &sh);
	if (!bytes)
		return -EBADMSG;
	f = (struct cfi_frames){malloc(sh.sh_size), sh.sh_size, sh.sh_addr};
	if (!f.bytes)
		return -ENOMEM;
	memcpy(f.bytes, bytes, f.len);
	if (m->header.e_type == ET_REL &&
	    !image_relocate(m, section, f.bytes, steps_left))
		return -EBADMSG;
	*ret = f;
	f.bytes = NULL;
	return 0;
}

/* ---- the object ---- */

static int read_rows(const struct cfi_frames *f, uint64_t *steps_left,
		     struct cfi_object *o)
{
	/* LuaJIT's addresses are relative to the text. */
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

/* Adds rows, made from machine code, of the functions that have none yet. */
static int read_code(const struct image_symbols *symbols, const uint8_t *code,
		     uint64_t *steps_left, struct cfi_text *text)
{
	_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};
	int err = 0;

	for (size_t i = 0; code && i < symbols->nr && *steps_left && !err; i++) {
		const struct image_symbol *sym = &symbols->items[i];

		(*steps_left)--;
		if (sym->start_ip >= text->start && sym->end_ip <= text->end &&
		    !cfi_rows_cover(&text->rows, sym->start_ip))
			err = code_frames_read(code + (sym->start_ip - text->start),
					       sym->end_ip - sym->start_ip, sym->start_ip,
					       steps_left, &rows);
	}
	return err ? err : cfi_rows_add_below(&text->rows, &rows);
}

static int read_functions(const struct jit_image *m, const struct image_code *code,
			  uint64_t *steps_left, struct cfi_object *o)
{
	struct image_symbols symbols;
	int err = image_symbols_read(m, &symbols);

	if (err)
		return err;
	for (size_t i = 0; i < o->nr_texts && !err; i++)
		err = read_code(&symbols, code[i].bytes, steps_left, &o->texts[i]);
	image_symbols_deinit(&symbols);
	return err;
}

int cfi_object_read(const void *bytes, size_t len, uint64_t *steps_left,
		    struct cfi_object *ret)
{
	_cleanup_(cfi_object_deinit) struct cfi_object o = {0};
	struct image_code code[IMAGE_MAX_CODE];
	struct jit_image m;
	int err = 0;

	if (open_image(bytes, len, &m))
		o.nr_texts = image_code(&m, code);
	for (size_t i = 0; i < o.nr_texts; i++)
		o.texts[i] = (struct cfi_text){code[i].start_ip, code[i].end_ip, {0}};
	for (size_t i = 0; o.nr_texts && i < MAX_FRAMES_SECTIONS && !err; i++) {
		_cleanup_(cfi_frames_deinit) struct cfi_frames frames = {0};

		err = read_frames(&m, i, steps_left, &frames);
		if (!err)
			err = read_rows(&frames, steps_left, &o);
	}
	if (err != -ENOMEM)
		err = 0; /* no more sections, or a malformed one */
	for (size_t i = 0; i < o.nr_texts && !err; i++)
		err = cfi_rows_finish(&o.texts[i].rows);
	if (!err && o.nr_texts)
		err = read_functions(&m, code, steps_left, &o);
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

/* ---- Serves DECODER_CFI_JIT: rows of registered objects, by run-time address ---- */

#define MAX_STEPS      (32u << 20) /* of one request: some 0.5 s */

#define STEPS_PER_BYTE 2 /* of an answer: an object says how many pages of code it has */

/* The file of objects; the collector's own, so it does not shrink while mapped. */
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
	size_t before = reply->len;
	uint64_t steps;
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
	steps = STEPS_PER_BYTE * (uint64_t)(reply->len - before);
	*steps_left -= steps < *steps_left ? steps : *steps_left;
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
