// SPDX-License-Identifier: GPL-2.0-or-later
/* The toy interpreter (toy.h) as a runtime: everything that lineburn knows about it. */
#include "toy.h"

#include <errno.h>
#include <gelf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strpool.h"
#include "decode/answer.h"
#include "lineburn_unwind.h"
#include "process/interp_code.h"
#include "runtime/runtime.h"

#define SYMBOL "toy_interpreter"

/* What the decoder finds in the file of an interpreter. */
struct toy_facts {
	uint64_t state_off; /* symbol's vaddr; + text_bias: its address at run time */
};

/* ---- in a worker ---- */

bool toy_recognise(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, "toy", 3);
}

static void close_elf(Elf **elf)
{
	if (*elf)
		elf_end(*elf);
}

static bool find_text(Elf *elf, GElf_Phdr *ret)
{
	size_t nr = 0;

	elf_getphdrnum(elf, &nr);
	for (size_t i = 0; i < nr; i++)
		if (gelf_getphdr(elf, (int)i, ret) && ret->p_type == PT_LOAD &&
		    (ret->p_flags & PF_X))
			return true;
	return false;
}

/* Return: the symbol's vaddr; 0: not exported. */
static uint64_t find_symbol(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Sym sym;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_DYNSYM)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 1; data && gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(elf, shdr.sh_link, sym.st_name);

			if (name && sym.st_shndx != SHN_UNDEF && !strcmp(name, SYMBOL))
				return sym.st_value;
		}
	}
	return 0;
}

bool toy_inspect(const struct inspected_file *file, void *ret)
{
	_cleanup_(close_elf) Elf *elf = NULL;
	struct toy_facts *facts = ret;
	GElf_Phdr text;
	uint64_t vaddr;

	elf_version(EV_CURRENT);
	elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	vaddr = elf ? find_symbol(elf) : 0;
	if (!vaddr || !find_text(elf, &text))
		return false;
	facts->state_off = vaddr - (text.p_vaddr - text.p_offset);
	return true;
}

/* ---- in the collector ---- */

static bool facts_are_sane(const void *facts)
{
	return ((const struct toy_facts *)facts)->state_off != 0;
}

/* The file says where the state is; nothing need be read from the process. */
static enum locate_result locate(struct worker *reader, pid_t pid, const void *facts,
				 uint64_t text_bias, struct runtime_place *ret)
{
	const struct toy_facts *toy = facts;

	(void)reader;
	(void)pid;
	(void)text_bias;
	*ret = (struct runtime_place){
		.layout = {
			.version = TOY_VERSION,
			.link = LB_LINK_LIST,
			.text = LB_TEXT_C,
			.state_off = toy->state_off,
			.ts_frame = offsetof(struct toy_interpreter, innermost),
			.frame_previous = offsetof(struct toy_frame, caller),
			.frame_code = offsetof(struct toy_frame, function),
			.frame_ip = offsetof(struct toy_frame, line),
			.ip_is_index = 1,
			.frame_bytes = sizeof(struct toy_frame),
			.code_qualname = offsetof(struct toy_function, name),
			.code_filename = offsetof(struct toy_function, file),
			.code_firstlineno = offsetof(struct toy_function, first_line),
			/* names are constants: their addresses identify a function */
			.code_identity = {offsetof(struct toy_function, file)},
			.code_bytes = sizeof(struct toy_function),
		}};
	return LOCATE_FOUND;
}

/* Text read from the target, which may end in a NUL. */
static const char *text_of(struct strpool *pool, const struct interp_text *t)
{
	return strpool_add_n(pool, t->bytes ? (const char *)t->bytes : "", t->len);
}

static int name_frames(const struct runtime_naming *with,
		       const struct runtime_frame *frames, size_t nr, struct answers *ret)
{
	_cleanup_(answers_deinit) struct answers answers = {
		.items = calloc(nr, sizeof(*answers.items)),
		.frames = calloc(nr, sizeof(*answers.frames))};

	if (!answers.items || !answers.frames)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct interp_code *code = frames[i].code;
		uint32_t line = LB_FRAME_INDEX(frames[i].frame);

		answers.frames[i] =
			(struct frame){.function = text_of(with->pool, &code->name),
				       .system_name = strpool_add(with->pool, ""),
				       .file = text_of(with->pool, &code->file),
				       .line = line == LB_FRAME_INDEX_UNKNOWN ? 0 : line,
				       .start_line = code->first_line};
		answers.items[i] = (struct answer){
			.miss = answers.frames[i].line ? MISS_NONE : MISS_NO_LINE,
			.frames = &answers.frames[i],
			.nr_frames = 1};
	}
	answers.nr = answers.nr_frames = nr;
	*ret = answers;
	answers = (struct answers){0};
	return 0;
}

const struct runtime toy_runtime = {
	.name = "toy",
	.object = "[toy]",
	.unit_bytes = 1,
	.recognise = toy_recognise,
	.facts_are_sane = facts_are_sane,
	.locate = locate,
	.name_frames = name_frames,
};
