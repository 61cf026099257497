// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of which a hostile process makes the most. What they cost is counted in edges that
 * lineburn's code passes, if it is built for fuzzing (SAN=...); else it is 0.
 */
#include "registered.h"

#include "base/wire.h"

#define IP            0x7f0000100000
#define FUNCTION_SIZE 16
#define PARFOR        "__numba_parfor_gufunc_0"

static uint64_t nr_edges;

void __sanitizer_cov_trace_pc_guard(uint32_t *guard);
void __sanitizer_cov_trace_pc_guard(uint32_t *guard)
{
	(void)guard;
	nr_edges++;
}

enum {
	NONE,
	TEXT,
	SYMTAB,
	STRTAB,
	NR
};

/* What is in the object's string table, and which symbols it has. */
struct plan {
	const char *const *names; /* of the first symbols; the rest has the last one */
	size_t nr_names, nr_symbols;
	const char *copied; /* NULL: none */
	size_t nr_copies;
};

static void put_raw(struct wire_writer *w, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		wire_put_u8(w, ((const uint8_t *)bytes)[i]);
}

/* Writes an object that was never linked; its functions have no bytes. */
static void put_object(struct wire_writer *w, const struct plan *plan)
{
	Elf64_Ehdr header = {.e_ident = ELFMAG,
			     .e_type = ET_REL,
			     .e_machine = EM_X86_64,
			     .e_shoff = sizeof(header),
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = NR,
			     .e_shstrndx = NONE};
	Elf64_Shdr sections[NR] = {{0}};
	uint32_t name_at[4] = {0}, len = 1;

	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	for (size_t i = 0; i < plan->nr_names; i++) {
		name_at[i] = len;
		len += (uint32_t)strlen(plan->names[i]) + 1;
	}
	if (plan->copied)
		len += (uint32_t)(plan->nr_copies * (strlen(plan->copied) + 1));
	sections[TEXT] = (Elf64_Shdr){.sh_type = SHT_NOBITS,
				      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				      .sh_addr = IP,
				      .sh_size = plan->nr_symbols * FUNCTION_SIZE};
	sections[SYMTAB] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
					.sh_offset = sizeof(header) + sizeof(sections),
					.sh_size = plan->nr_symbols * sizeof(Elf64_Sym),
					.sh_entsize = sizeof(Elf64_Sym),
					.sh_link = STRTAB};
	sections[STRTAB] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
					.sh_offset = sections[SYMTAB].sh_offset +
						     sections[SYMTAB].sh_size,
					.sh_size = len};
	put_raw(w, &header, sizeof(header));
	put_raw(w, sections, sizeof(sections));
	for (size_t i = 0; i < plan->nr_symbols; i++) {
		Elf64_Sym sym = {
			.st_name = name_at[i < plan->nr_names ? i : plan->nr_names - 1],
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = TEXT,
			.st_value = i * FUNCTION_SIZE,
			.st_size = FUNCTION_SIZE};

		put_raw(w, &sym, sizeof(sym));
	}
	wire_put_u8(w, 0);
	for (size_t i = 0; i < plan->nr_names; i++)
		put_raw(w, plan->names[i], strlen(plan->names[i]) + 1);
	for (size_t i = 0; i < plan->nr_copies; i++)
		put_raw(w, plan->copied, strlen(plan->copied) + 1);
}

/* Return: edges. */
static uint64_t serve_objects(const struct registered *r, const struct ask *asks,
			      size_t nr, struct served *ret)
{
	uint64_t before = nr_edges;

	registered_ask(r, asks, nr, ret);
	return nr_edges - before;
}

/* Asks for @nr addresses, each @step above the one before. Return: edges. */
static uint64_t serve_plan(const struct plan *plan, size_t nr, uint64_t step,
			   struct served *ret)
{
	_cleanup_free_ struct ask *asks = calloc(nr, sizeof(*asks));
	struct wire_writer object = {.max = 16 << 20};
	struct registered r = {0};
	uint64_t edges;

	put_object(&object, plan);
	assert_false(object.failed);
	registered_add(&r, object.data, object.len, 0, UINT64_MAX, 0);
	for (size_t i = 0; i < nr; i++)
		asks[i] = (struct ask){IP + i * step, 100, 200};
	edges = serve_objects(&r, asks, nr, ret);
	registered_deinit(&r);
	wire_writer_deinit(&object);
	return edges;
}

static const char *function_of(const struct served *s, size_t i)
{
	const struct answer *a = &s->answers.items[i];

	return a->nr_frames ? a->frames[0].function : "";
}

/* A name that is longer than any other text, of a function with many addresses. */
static void a_long_name_is_read_once(void **state)
{
	_cleanup_free_ char *name = malloc(1 << 20);
	const struct plan plan = {
		.names = (const char *const[]){name}, .nr_names = 1, .nr_symbols = 1};
	_cleanup_(served_deinit) struct served s = {0};
	uint64_t edges;

	(void)state;
	memset(name, 'x', 1 << 20);
	name[(1 << 20) - 1] = '\0';
	edges = serve_plan(&plan, FUNCTION_SIZE, 1, &s);
	assert_int_equal(strlen(function_of(&s, 0)), 4096);
	assert_string_equal(function_of(&s, FUNCTION_SIZE - 1), function_of(&s, 0));
	assert_true(edges < 1000000); /* 24 million if each address reads it */
}

/* Symbols that share a long name: the last ones have none. Honest ones share short names. */
static void names_that_are_shared_have_a_budget(void **state)
{
	_cleanup_free_ char *name = malloc(50000);
	const char *const names[] = {"short", name};
	struct plan plan = {.names = names, .nr_names = 2, .nr_symbols = 200};
	_cleanup_(served_deinit) struct served s = {0};

	(void)state;
	memset(name, 'x', 50000);
	name[49999] = '\0';
	serve_plan(&plan, 200, FUNCTION_SIZE, &s);
	assert_string_equal(function_of(&s, 0), "short");
	assert_int_equal(strlen(function_of(&s, 1)), 4096);
	assert_string_equal(function_of(&s, 199), "");
	assert_int_equal(s.answers.items[199].miss, MISS_NO_SYMBOLS);
	plan.nr_names = 1;
	serve_plan(&plan, 200, FUNCTION_SIZE, &s);
	assert_string_equal(function_of(&s, 199), "short");
}

/* Many bodies of one prange, whose name is everywhere in the object. */
static void bodies_of_one_prange(void **state)
{
	static const char *const names[] = {"_ZN3app4homeB2v1Ex", "a" PARFOR};
	struct plan plan = {.names = names,
			    .nr_names = 2,
			    .nr_symbols = 3000,
			    .copied = PARFOR,
			    .nr_copies = 3000};
	_cleanup_(served_deinit) struct served s = {0};

	(void)state;
	assert_true(serve_plan(&plan, 3000, FUNCTION_SIZE, &s) < 10000000);
	assert_string_equal(function_of(&s, 0), "app.home");
	assert_string_equal(function_of(&s, 1), "prange in home");
	assert_string_equal(function_of(&s, 2999), "prange in home");
	/* Their function is not there. */
	plan.names++;
	plan.nr_names--;
	assert_true(serve_plan(&plan, 3000, FUNCTION_SIZE, &s) < 10000000);
	assert_string_equal(function_of(&s, 2999), "prange body");
}

#define NR_SECTIONS 60000

/* Gives the object so many section headers. */
static void add_sections(struct registered_object *o)
{
	size_t len = o->len + NR_SECTIONS * sizeof(Elf64_Shdr);
	uint8_t *bytes = calloc(1, len);
	Elf64_Shdr *sections = (Elf64_Shdr *)(bytes + o->len);
	Elf64_Ehdr header;

	memcpy(&header, o->bytes, sizeof(header));
	memcpy(sections, o->bytes + header.e_shoff, header.e_shnum * sizeof(*sections));
	sections[0].sh_size = NR_SECTIONS;
	header.e_shnum = 0;
	header.e_shoff = o->len;
	memcpy(bytes, o->bytes, o->len);
	memcpy(bytes, &header, sizeof(header));
	free(o->bytes);
	o->bytes = bytes;
	o->len = len;
}

/* The section headers are read for an object, not for each of its functions. */
static void functions_of_many_sections(void **state)
{
	_cleanup_(served_deinit) struct served s = {0};
	struct registered r = {0};
	struct ask asks[64];
	uint64_t one;

	(void)state;
	registered_load(&r, "inlined-aarch64-dwarf5", 0, UINT64_MAX, 0);
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++)
		asks[i] = (struct ask){r.items[0].code.start_ip + 4 * i, 100, 200};
	add_sections(&r.items[0]);
	one = serve_objects(&r, asks, 1, &s);
	assert_int_equal(s.answers.nr_codes, 1);
	assert_true(serve_objects(&r, asks, ARRAY_SIZE(asks), &s) < one + NR_SECTIONS);
	assert_true(s.answers.nr_codes > 1);
	registered_deinit(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_name_is_read_once),
		cmocka_unit_test(names_that_are_shared_have_a_budget),
		cmocka_unit_test(bodies_of_one_prange),
		cmocka_unit_test(functions_of_many_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
