// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes whose instructions are given in the manuals of the machines, a file of gcc
 * compared with objdump, and malformed requests and replies.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>

#include "decode/elf/binary.h"
#include "decode/requests.h"
#include "symbolize/instructions.h"
#include "unit/decode/elf/fixture.h"

/* ---- requests ---- */

static int serve(const struct instructions_question *q, struct instruction_list *ret)
{
	struct wire_writer request = {0}, reply = {0};
	struct wire_reader r;
	int err;

	wire_put_u32(&request, q->machine);
	wire_put_u64(&request, q->address);
	wire_put_u64(&request, q->size_bytes);
	wire_put_bytes(&request, q->build_id, q->build_id_len);
	wire_put_bytes(&request, q->bytes, q->bytes ? q->size_bytes : 0);
	r = (struct wire_reader){.data = request.data, .len = request.len};
	err = instructions_serve(NULL, &r, &q->fd, q->bytes ? 0 : 1, &reply);
	wire_writer_deinit(&request);
	if (!err) {
		r = (struct wire_reader){.data = reply.data, .len = reply.len};
		err = instructions_read(&r, q->address, ret);
		assert_int_equal(r.pos, r.len);
	}
	wire_writer_deinit(&reply);
	return err;
}

struct row {
	const char *text;
	size_t size_bytes;
	enum instruction_flow flow;
	uint64_t target; /* 0: none */
};

static void expect_rows(uint16_t machine, const uint8_t *bytes, size_t len,
			const struct row *rows, size_t nr)
{
	struct instructions_question q = {
		.address = 0x1000, .size_bytes = len, .bytes = bytes, .machine = machine};
	_cleanup_(instruction_list_deinit) struct instruction_list list = {0};
	uint64_t address = 0x1000;

	assert_int_equal(serve(&q, &list), 0);
	assert_int_equal(list.status, INSTRUCTIONS_OK);
	assert_memory_equal(list.bytes, bytes, len);
	assert_int_equal(list.nr, nr);
	for (size_t i = 0; i < nr; i++) {
		assert_string_equal(list.items[i].text, rows[i].text);
		assert_int_equal(list.items[i].address, address);
		assert_int_equal(list.items[i].size_bytes, rows[i].size_bytes);
		assert_int_equal(list.items[i].flow, rows[i].flow);
		assert_int_equal(list.items[i].has_target, rows[i].target != 0);
		assert_int_equal(list.items[i].target, rows[i].target);
		address += rows[i].size_bytes;
	}
}

static void x86_64(void **state)
{
	static const uint8_t bytes[] = {
		0x55, /* push rbp */
		0x48, 0x89, 0xe5, /* mov rbp, rsp */
		0x48, 0xf7, 0xfe, /* idiv rsi */
		0x75, 0xf7, /* jne -9 */
		0xe8, 0x10, 0x00, 0x00, 0x00, /* call +16 */
		0xff, 0xd0, /* call rax */
		0xe9, 0x00, 0x00, 0x00, 0x00, /* jmp, not relocated */
		0x06, /* invalid in 64 bits */
		0xc3, /* ret */
		0x48, 0x8b, /* truncated */
	};
	static const struct row rows[] = {
		{"push rbp", 1, INSTRUCTION_ON, 0},
		{"mov rbp, rsp", 3, INSTRUCTION_ON, 0},
		{"idiv rsi", 3, INSTRUCTION_ON, 0},
		{"jne 0x1000", 2, INSTRUCTION_JUMP, 0x1000},
		{"call 0x101e", 5, INSTRUCTION_CALL, 0x101e},
		{"call rax", 2, INSTRUCTION_CALL, 0},
		{"jmp ?", 5, INSTRUCTION_JUMP, 0},
		{".byte 0x06", 1, INSTRUCTION_ON, 0},
		{"ret", 1, INSTRUCTION_ON, 0},
		{".byte 0x48", 1, INSTRUCTION_ON, 0},
		{".byte 0x8b", 1, INSTRUCTION_ON, 0},
	};

	(void)state;
	expect_rows(EM_X86_64, bytes, sizeof(bytes), rows, ARRAY_SIZE(rows));
}

/* Operands that a JIT's linker has not filled in when the object is registered. */
static void not_linked(void **state)
{
	static const uint8_t bytes[] = {
		0xe8, 0,    0,    0,    0, /* call */
		0x48, 0xb8, 0,    0,    0, 0, 0, 0, 0, 0, /* movabs rax */
		0x48, 0xb8, 1,    0,    0, 0, 0, 0, 0, 0, /* movabs rax, 1 */
		0xc5, 0xfb, 0x10, 0x05, 0, 0, 0, 0, /* vmovsd xmm0, [rip] */
		0x48, 0x8d, 0x05, 8,    0, 0, 0, /* lea rax, [rip + 8] */
		0xeb, 0x00, /* jmp short to the next: within the function */
	};
	static const struct row rows[] = {
		{"call ?", 5, INSTRUCTION_CALL, 0},
		{"movabs rax, ?", 10, INSTRUCTION_ON, 0},
		{"movabs rax, 1", 10, INSTRUCTION_ON, 0},
		{"vmovsd xmm0, qword ptr [rip + ?]", 8, INSTRUCTION_ON, 0},
		{"lea rax, [rip + 8]", 7, INSTRUCTION_ON, 0},
		{"jmp 0x102a", 2, INSTRUCTION_JUMP, 0x102a},
	};

	(void)state;
	expect_rows(EM_X86_64, bytes, sizeof(bytes), rows, ARRAY_SIZE(rows));
}

static void aarch64(void **state)
{
	static const uint8_t bytes[] = {
		0x20, 0x0c, 0xc2, 0x1a, /* sdiv w0, w1, w2 */
		0xc0, 0xff, 0xff, 0xb5, /* cbnz x0, -8 */
		0x62, 0x00, 0x18, 0x36, /* tbz w2, #3, +12 */
		0x41, 0x00, 0x00, 0x54, /* b.ne +8 */
		0x03, 0x00, 0x00, 0x94, /* bl +12 */
		0x00, 0x00, 0x3f, 0xd6, /* blr x0 */
		0x00, 0x00, 0x00, 0x94, /* bl, not relocated */
		0x08, 0x00, 0x00, 0x90, /* adrp x8, not relocated */
		0xff, 0xff, 0xff, 0xff, /* invalid */
		0xc0, 0x03, 0x5f, 0xd6, /* ret */
		0x1f, 0x20, 0x03, /* truncated */
	};
	static const struct row rows[] = {
		{"sdiv w0, w1, w2", 4, INSTRUCTION_ON, 0},
		{"cbnz x0, #0xffc", 4, INSTRUCTION_JUMP, 0xffc},
		{"tbz w2, #3, #0x1014", 4, INSTRUCTION_JUMP, 0x1014},
		{"b.ne #0x1014", 4, INSTRUCTION_JUMP, 0x1014},
		{"bl #0x101c", 4, INSTRUCTION_CALL, 0x101c},
		{"blr x0", 4, INSTRUCTION_CALL, 0},
		{"bl ?", 4, INSTRUCTION_CALL, 0},
		{"adrp x8, ?", 4, INSTRUCTION_ON, 0},
		{".word 0xffffffff", 4, INSTRUCTION_ON, 0},
		{"ret", 4, INSTRUCTION_ON, 0},
		{".byte 0x1f", 1, INSTRUCTION_ON, 0},
		{".byte 0x20", 1, INSTRUCTION_ON, 0},
		{".byte 0x03", 1, INSTRUCTION_ON, 0},
	};

	(void)state;
	expect_rows(EM_AARCH64, bytes, sizeof(bytes), rows, ARRAY_SIZE(rows));
}

static void machines(void **state)
{
	struct instructions_question q = {
		.address = 1, .size_bytes = 4, .bytes = (const uint8_t *)"abcd"};
	static const struct {
		const char *name;
		uint16_t machine;
	} names[] = {
		{"x86_64", EM_X86_64}, {"aarch64", EM_AARCH64}, {"i686", EM_386},
		{"riscv64", EM_NONE},  {"", EM_NONE},           {"i68", EM_NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(instructions_machine(names[i].name), names[i].machine);
	for (uint32_t machine = 0; machine < 300; machine++) {
		_cleanup_(instruction_list_deinit) struct instruction_list list = {0};

		q.machine = (uint16_t)machine;
		assert_int_equal(serve(&q, &list), 0);
		assert_int_equal(list.status, machine == EM_X86_64 || machine == EM_386 ||
							      machine == EM_AARCH64
						      ? INSTRUCTIONS_OK
						      : INSTRUCTIONS_UNKNOWN_MACHINE);
	}
}

/* ---- files ---- */

static uint64_t number_of(const char *command)
{
	char line[256];

	fixture_line(line, sizeof(line), "%s", command);
	return strtoull(line, NULL, 16);
}

static struct instructions_question question_of(const char *path)
{
	struct instructions_question q = {.fd = open(path, O_RDONLY | O_CLOEXEC)};

	assert_true(q.fd >= 0);
	q.address = number_of("nm -S prog | sed -n 's/ .* T work$//p'");
	q.size_bytes =
		number_of("nm -S prog | sed -n 's/^[^ ]* \\([^ ]*\\) T work$/\\1/p'");
	assert_true(q.address && q.size_bytes);
	return q;
}

static void build(void)
{
	fixture_write("prog.c", "int work(int n, int d)\n{\n\tint sum = 0;\n\n"
				"\tfor (int i = 1; i < n; i++)\n\t\tsum += i / d;\n"
				"\treturn sum;\n}\n\n"
				"int main(int argc, char **argv)\n{\n"
				"\treturn work(argc, argv[0][0]);\n}\n");
	fixture_run("gcc -g -O1 -o prog prog.c");
}

/* The start, bytes and mnemonic of each instruction must be the same as objdump's. */
static void as_objdump_has_it(void **state)
{
	struct instructions_question q;
	_cleanup_(instruction_list_deinit) struct instruction_list list = {0};
	char line[256];
	FILE *f;

	(void)state;
	build();
	q = question_of("prog");
	assert_int_equal(serve(&q, &list), 0);
	close(q.fd);
	assert_int_equal(list.status, INSTRUCTIONS_OK);
	f = popen("objdump -d -M intel --insn-width=16 --disassemble=work prog | "
		  "sed -n 's/^ *\\([0-9a-f]*\\):\\t[0-9a-f ]*\\t\\([^ ]*\\).*/\\1 \\2/p'",
		  "r");
	assert_non_null(f);
	for (size_t i = 0; i < list.nr; i++) {
		char mnemonic[64];
		unsigned long address;

		assert_non_null(fgets(line, sizeof(line), f));
		assert_int_equal(sscanf(line, "%lx %63s", &address, mnemonic), 2);
		assert_int_equal(list.items[i].address, address);
		assert_int_equal(strncmp(list.items[i].text, mnemonic, strlen(mnemonic)),
				 0);
	}
	assert_int_equal(list.nr_bytes, q.size_bytes);
	pclose(f);
}

static enum instructions_status status_of(const struct instructions_question *q)
{
	_cleanup_(instruction_list_deinit) struct instruction_list list = {0};

	assert_int_equal(serve(q, &list), 0);
	if (list.status != INSTRUCTIONS_OK)
		assert_int_equal(list.nr, 0);
	return list.status;
}

static void files_that_do_not_fit(void **state)
{
	struct instructions_question q, bad;
	_cleanup_(binary_freep) struct binary *b = NULL;
	uint8_t id[20];

	(void)state;
	build();
	q = question_of("prog");
	assert_int_equal(binary_open(q.fd, &b), 0);
	assert_int_equal(b->build_id_len, sizeof(id));
	memcpy(id, b->build_id, sizeof(id));
	q.build_id = id;
	q.build_id_len = sizeof(id);
	assert_int_equal(status_of(&q), INSTRUCTIONS_OK);

	id[19] ^= 1;
	assert_int_equal(status_of(&q), INSTRUCTIONS_FILE_REPLACED);
	id[19] ^= 1;
	q.build_id_len = 19;
	assert_int_equal(status_of(&q), INSTRUCTIONS_FILE_REPLACED);
	q.build_id_len = 0;

	bad = q;
	bad.address = 1ULL << 60;
	assert_int_equal(status_of(&bad), INSTRUCTIONS_NOT_THERE);
	bad.address = UINT64_MAX - 2;
	assert_int_equal(status_of(&bad), INSTRUCTIONS_NOT_THERE);
	bad = q;
	bad.size_bytes = INSTRUCTIONS_MAX_BYTES;
	assert_int_equal(status_of(&bad), INSTRUCTIONS_NOT_THERE);
	bad.size_bytes++;
	assert_int_equal(status_of(&bad), INSTRUCTIONS_TOO_LARGE);
	bad.size_bytes = 0;
	assert_int_equal(status_of(&bad), INSTRUCTIONS_TOO_LARGE);

	bad = q;
	bad.fd = open("prog.c", O_RDONLY | O_CLOEXEC);
	assert_int_equal(status_of(&bad), INSTRUCTIONS_BAD_FILE);
	close(bad.fd);
	close(q.fd);
}

/* ---- malformed input ---- */

static void every_byte(void **state)
{
	static const uint16_t machines[] = {EM_X86_64, EM_386, EM_AARCH64};
	uint8_t bytes[64];
	unsigned int seed = 1;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		struct instructions_question q = {
			.address = UINT64_MAX - 32, /* wraps around */
			.size_bytes = 1 + (size_t)i % sizeof(bytes),
			.bytes = bytes,
			.machine = machines[i % 3]};

		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)rand_r(&seed);
		assert_int_equal(status_of(&q), INSTRUCTIONS_OK);
	}
}

static void put_row(struct wire_writer *w, uint8_t size, uint8_t flow, const char *text)
{
	wire_put_u8(w, size);
	wire_put_u8(w, flow);
	wire_put_u8(w, 0);
	wire_put_u64(w, 0);
	wire_put_str(w, text);
}

static int read_reply(uint32_t status, size_t nr_bytes, uint8_t size, uint8_t flow,
		      size_t nr_rows, size_t cut)
{
	struct wire_writer w = {0};
	struct wire_reader r;
	_cleanup_(instruction_list_deinit) struct instruction_list list = {0};
	uint8_t bytes[16] = {0};
	int err;

	wire_put_u32(&w, status);
	wire_put_bytes(&w, bytes, nr_bytes);
	for (size_t i = 0; i < nr_rows; i++)
		put_row(&w, size, flow, "\033[2J");
	r = (struct wire_reader){.data = w.data, .len = w.len - cut};
	err = instructions_read(&r, 0, &list);
	wire_writer_deinit(&w);
	if (err)
		assert_null(list.items);
	return err;
}

static void bad_replies(void **state)
{
	(void)state;
	assert_int_equal(read_reply(INSTRUCTIONS_OK, 4, 2, INSTRUCTION_ON, 2, 0), 0);
	assert_int_equal(read_reply(NR_INSTRUCTIONS_STATUSES, 0, 0, 0, 0, 0), -EBADMSG);
	assert_int_equal(read_reply(INSTRUCTIONS_OK, 0, 0, 0, 0, 0), -EBADMSG);
	assert_int_equal(read_reply(INSTRUCTIONS_BAD_FILE, 4, 4, 0, 1, 0), -EBADMSG);
	assert_int_equal(read_reply(INSTRUCTIONS_OK, 4, 0, INSTRUCTION_ON, 4, 0),
			 -EBADMSG);
	assert_int_equal(read_reply(INSTRUCTIONS_OK, 4, 3, INSTRUCTION_ON, 2, 0),
			 -EBADMSG);
	assert_int_equal(read_reply(INSTRUCTIONS_OK, 4, 2, INSTRUCTION_ON, 1, 0),
			 -EBADMSG);
	assert_int_equal(read_reply(INSTRUCTIONS_OK, 4, 2, NR_INSTRUCTION_FLOWS, 2, 0),
			 -EBADMSG);
	for (size_t cut = 1; cut < 40; cut++)
		assert_int_equal(
			read_reply(INSTRUCTIONS_OK, 4, 2, INSTRUCTION_ON, 2, cut),
			-EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_64),
		cmocka_unit_test(not_linked),
		cmocka_unit_test(aarch64),
		cmocka_unit_test(machines),
		cmocka_unit_test(as_objdump_has_it),
		cmocka_unit_test(files_that_do_not_fit),
		cmocka_unit_test(every_byte),
		cmocka_unit_test(bad_replies),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
