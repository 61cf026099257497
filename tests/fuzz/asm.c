// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The machine code in a profile of any bytes, as each question chooses it, in every format
 * that shows code. A decoder's answer may be any instructions: they are made of the bytes
 * of the code.
 */
#include "analyze/code_query.h"
#include "analyze/machine_code.h"
#include "analyze/source.h"
#include "profile/pprof.h"
#include "lib/cost.h"
#include "lib/inlined.h"
#include "lib/shown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* 5 questions; each instruction is shown in 3 formats. */
const struct cost_bound cost_bound = {.fixed = 8000000, .per_byte = 4000};

static const char *const texts[] = {
	"mov eax, dword ptr [rdi + rcx*4]",
	"call 0x1030",
	"jne 0x1143",
	".byte 0x06",
	"\033[2J</script>\xe2\x80\xae\xff\n",
	"",
	"ret",
	"\xc2\x9b"
	"1m\t\xe6\xbc\xa2",
};
_Static_assert(ARRAY_SIZE(texts) == 8, "three bits choose one");

/* Without a copy in the profile, a stranger's code has no instructions. */
static void decode(struct machine_piece *piece)
{
	const struct profile_code *code = piece->code;

	if (!code->bytes) {
		piece->note = "no instructions: \033[2J";
		return;
	}
	piece->not_linked = true;
	piece->instructions = calloc(code->size_bytes, sizeof(*piece->instructions));
	piece->bytes = malloc(code->size_bytes);
	check(piece->instructions && piece->bytes);
	memcpy(piece->bytes, code->bytes, code->size_bytes);
	for (uint64_t at = 0; at < code->size_bytes;) {
		struct instruction *one = &piece->instructions[piece->nr++];
		uint8_t byte = code->bytes[at];
		uint64_t size = 1 + (byte >> 2 & 7), left = code->size_bytes - at;

		*one = (struct instruction){.address = code->address + at,
					    .size_bytes = size < left ? size : left,
					    .flow = (byte & 3) % NR_INSTRUCTION_FLOWS,
					    .text = texts[byte >> 5]};
		one->has_target = one->flow != INSTRUCTION_ON && byte & 0x80;
		if (one->has_target)
			one->target = one->address + (uint64_t)(int8_t)byte;
		at += one->size_bytes;
	}
}

/* Each sample of a piece is at one of its instructions. */
static void check_piece(const struct machine_piece *piece)
{
	struct weight self = {0}, kernel = {0};

	for (size_t i = 0; i < piece->nr; i++) {
		weight_add(&self, piece->placed[i].self);
		weight_add(&kernel, piece->placed[i].kernel);
		check(piece->placed[i].kernel.samples <= piece->placed[i].self.samples);
	}
	check(!piece->nr || self.samples == piece->self.samples ||
	      piece->self.samples == UINT64_MAX);
	check(!piece->nr || kernel.samples == piece->kernel.samples ||
	      piece->kernel.samples == UINT64_MAX);
}

static void check_code(struct machine_code *code, struct render_input *in, size_t size)
{
	const struct render_options options = {.width = (unsigned int)(size % 130),
					       .context = (unsigned int)(size % 4),
					       .utf8 = size % 2,
					       .colour = false,
					       .min_share = size % 5 ? 0 : 0.05};
	struct weight all = code->left_out;

	for (size_t i = 0; i < code->nr; i++)
		decode(&code->pieces[i]);
	check(!machine_code_place(code, in->profile));
	for (size_t i = 0; i < code->nr; i++) {
		check_piece(&code->pieces[i]);
		weight_add(&all, code->pieces[i].self);
	}
	check(all.samples <= in->attribution->all.samples);
	in->machine_code = code;
	check_shown(in, &options, "annotate", RENDER_CODE | RENDER_HOT_CODE);
}

static void ask(const char *what, struct render_input *in, size_t size)
{
	struct machine_code *code = NULL;
	struct error err = {0};

	if (machine_code_new(in->profile, what, &code, &err))
		check(!code && err.text[0]);
	else
		check_code(code, in, size);
	machine_code_free(code);
}

/* A function and a line of the profile's code, and parts of their names. */
static void ask_by_name(struct render_input *in, size_t size)
{
	const struct profile *p = in->profile;
	struct profile_line at = {.function = PROFILE_NONE};
	const struct profile_function *f;
	const char *slash;

	if (p->extra.nr_codes)
		at = p->extra.codes[0].rows[p->extra.codes[0].nr_rows / 2].at;
	if (at.function == PROFILE_NONE)
		return;
	f = &p->functions[at.function];
	slash = strrchr(f->filename, '/');
	ask(f->name, in, size);
	ask(f->name + strlen(f->name) / 2, in, size);
	ask(strpool_print(p->pool, "%s:%u", slash ? slash + 1 : f->filename, at.line), in,
	    size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct attribution_options options = {0};
	static const struct source_search search = {.is_strangers = true};
	struct strpool *pool = strpool_new(16 << 20);
	struct render_input in = {.file_name = "input"};
	struct attribution *a = NULL;
	struct profile *p = NULL;

	if (!pprof_read(data, size, "input", pool, &p, NULL) && !inlines_much(p, size)) {
		check(!attribution_new(p, &options, &a));
		check(!source_attach(a, p, &search));
		in.profile = p;
		in.attribution = a;
		ask(NULL, &in, size);
		ask(machine_code_of_all, &in, size);
		ask_by_name(&in, size);
	}
	attribution_free(a);
	profile_free(p);
	strpool_free(pool);
	return 0;
}
