// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls elf_serve() in this process on files made by gcc, strip, objcopy and rustc, and
 * compares the answers with nm, objdump and eu-addr2line. A list serves its requests
 * for other files; debugfile.c tests the search for them.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "decode/answer.h"
#include "decode/need.h"
#include "decode/requests.h"
#include "fixture.h"
#include "lib/stand_in.h"

/* ---- requests ---- */

static struct {
	enum need_kind kind;
	const char *path;
} served[8]; /* each served once, in this order; path NULL: end */
static size_t nr_asked;

/* Replaces worker_need(). */
static int need_from_list(struct worker_call *call, const void *what, size_t len)
{
	struct wire_reader r = {.data = what, .len = len};
	struct need need;

	(void)call;
	assert_int_equal(need_get(&r, &need), 0);
	nr_asked++;
	for (size_t i = 0; i < ARRAY_SIZE(served) && served[i].path; i++)
		if (served[i].kind == need.kind && served[i].path[0]) {
			int fd = open(served[i].path, O_RDONLY | O_CLOEXEC);

			served[i].path = "";
			assert_true(fd >= 0);
			return fd;
		}
	return -ENOENT;
}

static void serve_nothing(void)
{
	memset(served, 0, sizeof(served));
	nr_asked = 0;
}

static void serve(enum need_kind kind, const char *path)
{
	size_t i = 0;

	while (served[i].path)
		i++;
	served[i].kind = kind;
	served[i].path = path;
}

struct reply {
	struct strpool *pool;
	enum miss miss; /* of the file */
	uint8_t build_id[64];
	size_t build_id_len;
	uint64_t vaddr, file_off, size, nr_bad_units;
	struct answers answers;
};

static void reply_deinit(struct reply *r)
{
	answers_deinit(&r->answers);
	strpool_free(r->pool);
}

static void ask_fd(int fd, uint32_t flags, const char *build_id,
		   const uint64_t *addresses, size_t nr, struct reply *ret)
{
	struct wire_writer request = {0}, reply = {0};
	struct wire_reader r;
	const void *id;

	wire_put_u32(&request, flags);
	wire_put_bytes(&request, build_id, build_id ? 20 : 0);
	if (flags & ELF_REQUEST_CODE)
		wire_put_u32(&request, (uint32_t)nr);
	wire_put_u32(&request, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++)
		wire_put_u64(&request, addresses[i]);
	r = (struct wire_reader){.data = request.data, .len = request.len};
	assert_int_equal(elf_serve(NULL, &r, &fd, 1, &reply), 0);
	wire_writer_deinit(&request);

	*ret = (struct reply){.pool = strpool_new(1 << 20)};
	r = (struct wire_reader){.data = reply.data, .len = reply.len};
	ret->miss = (enum miss)wire_get_u32(&r);
	id = wire_get_bytes(&r, &ret->build_id_len);
	memcpy(ret->build_id, id, ret->build_id_len);
	ret->vaddr = wire_get_u64(&r);
	ret->file_off = wire_get_u64(&r);
	ret->size = wire_get_u64(&r);
	ret->nr_bad_units = wire_get_u64(&r);
	assert_int_equal(answers_read(&r, nr, ret->pool, &ret->answers), 0);
	assert_int_equal(r.pos, r.len);
	wire_writer_deinit(&reply);
}

static void ask(const char *path, uint32_t flags, const char *build_id,
		const uint64_t *addresses, size_t nr, struct reply *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	ask_fd(fd, flags, build_id, addresses, nr, ret);
}

static void expect(const char *path, uint64_t vaddr, const char *function, enum miss miss)
{
	_cleanup_(reply_deinit) struct reply r = {0};

	ask(path, ELF_REQUEST_VADDR, NULL, &vaddr, 1, &r);
	assert_int_equal(r.miss, MISS_NONE);
	assert_string_equal(miss_name(r.answers.items[0].miss), miss_name(miss));
	assert_int_equal(r.answers.items[0].nr_frames, function ? 1 : 0);
	if (function)
		assert_string_equal(r.answers.items[0].frames[0].function, function);
}

/* ---- the programs ---- */

static const char program[] =
	"#include <stdio.h>\n"
	"volatile int sink;\n"
	"__attribute__((noinline)) static void local_fn(int n)\n"
	"{\n"
	"	for (int i = 0; i < n; i++)\n"
	"		sink += i;\n"
	"}\n"
	"__attribute__((noinline)) void global_fn(int n)\n"
	"{\n"
	"	local_fn(n);\n"
	"	sink++;\n"
	"}\n"
	"void weak_alias(int n) __attribute__((weak, alias(\"global_fn\")));\n"
	"static inline int callee(int n)\n"
	"{\n"
	"	return sink * n;\n" /* line 16 */
	"}\n"
	"__attribute__((noinline)) int caller(int n)\n"
	"{\n"
	"	return callee(n);\n" /* line 20 */
	"}\n"
	"int main(void)\n"
	"{\n"
	"	global_fn(3);\n"
	"	puts(\"x\");\n"
	"	return caller(2);\n"
	"}\n";

static int build_programs(void **state)
{
	if (fixture_setup(state))
		return -1;
	fixture_write("prog.c", program);
	return !fixture_try("gcc -g -O2 -rdynamic -Wl,--build-id=sha1 prog.c -o prog && "
			    "gcc -O2 -rdynamic prog.c -o nodebug && "
			    "strip -s -o stripped prog && "
			    "objcopy --only-keep-debug prog prog.debug && "
			    "cp stripped linked && "
			    "objcopy --add-gnu-debuglink=prog.debug linked && "
			    "gcc -g -O1 -rdynamic -Wl,--build-id prog.c -o other");
}

/* ---- tests ---- */

static const char *const layouts[] = {
	"-no-pie",
	"-pie",
	"-static",
	"-no-pie -Wl,-z,noseparate-code",
	"-pie -Wl,-z,separate-code",
	"-no-pie -Wl,-Ttext-segment=0x7000000",
	"-no-pie -Wl,-Ttext=0x12345000",
	"-pie -Wl,-z,max-page-size=0x200000",
};

/* The first and last byte of every function that nm lists, by vaddr and file offset. */
static void test_agrees_with_nm(void **state)
{
	(void)state;
	for (size_t l = 0; l < ARRAY_SIZE(layouts); l++) {
		static const char *const names[] = {"main", "local_fn", "global_fn",
						    "caller", "_start"};

		fixture_run("gcc -O2 %s prog.c -o layout", layouts[l]);
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			_cleanup_(reply_deinit) struct reply a = {0}, b = {0};
			uint64_t vaddr = fixture_vaddr("layout", names[i]);
			uint64_t off = fixture_file_off("layout", vaddr);

			serve_nothing();
			ask("layout", ELF_REQUEST_VADDR, NULL, &vaddr, 1, &a);
			ask("layout", 0, NULL, &off, 1, &b);
			assert_int_equal(b.answers.items[0].vaddr, vaddr);
			assert_int_equal(a.answers.items[0].nr_frames, 1);
			assert_string_equal(a.answers.items[0].frames[0].function,
					    names[i]);
			assert_string_equal(b.answers.items[0].frames[0].function,
					    names[i]);
			assert_int_equal(b.answers.items[0].miss, MISS_NO_DEBUG_INFO);
			/* the segment that contains it */
			assert_true(vaddr >= b.vaddr && vaddr - b.vaddr < b.size);
			assert_int_equal(vaddr - b.vaddr, off - b.file_off);
		}
	}
}

/* All symbols of a large real binary at once. nm lists the aliases of each address. */
static void test_all_symbols_of_a_static_program(void **state)
{
	_cleanup_(reply_deinit) struct reply r = {0};
	_cleanup_free_ uint64_t *vaddrs = calloc(20000, sizeof(*vaddrs));
	_cleanup_free_ char(*names)[128] = calloc(20000, sizeof(*names));
	size_t nr = 0;
	char type;
	FILE *f;

	(void)state;
	serve_nothing();
	fixture_run("gcc -O2 -static prog.c -o layout");
	f = popen("nm -S layout", "r");
	assert_non_null(f);
	for (char line[512]; nr < 20000 && fgets(line, sizeof(line), f);) {
		unsigned long long vaddr, size;

		if (sscanf(line, "%llx %llx %c %127s", &vaddr, &size, &type, names[nr]) !=
			    4 ||
		    !strchr("tTwWi", type) || !size)
			continue;
		vaddrs[nr++] = vaddr + size - 1;
	}
	pclose(f);
	assert_true(nr > 1000);
	ask("layout", ELF_REQUEST_VADDR, NULL, vaddrs, nr, &r);
	for (size_t i = 0; i < nr; i++) {
		const struct answer *a = &r.answers.items[i];
		bool found = false;

		assert_int_equal(a->nr_frames, 1);
		/* one of the names whose symbol covers this byte */
		for (size_t j = 0; j < nr && !found; j++)
			found = vaddrs[j] == vaddrs[i] &&
				!strncmp(names[j], a->frames[0].function,
					 strcspn(names[j], "@"));
		if (!found)
			fail_msg("%s is called %s", names[i], a->frames[0].function);
	}
}

static void test_alias_order(void **state)
{
	(void)state;
	serve_nothing();
	expect("nodebug", fixture_vaddr("nodebug", "weak_alias"), "global_fn",
	       MISS_NO_DEBUG_INFO);
}

/* Labels without a size name the code after them, but not past a sized symbol. */
static void test_labels(void **state)
{
	uint64_t sized, label;

	(void)state;
	fixture_write("label.s", ".text\n.globl sized, label\n.type sized,@function\n"
				 "sized: nop; nop\n.size sized, .-sized\n"
				 "gap: .rept 8\nnop\n.endr\n.Lhidden: nop\n"
				 "label: nop; nop; nop; nop\n"
				 ".globl _start\n.type _start,@function\n_start: nop\n"
				 ".size _start, 1\nafter_end: nop\n"
				 ".section .text2,\"ax\"\nnop; nop\n");
	fixture_run("gcc -nostdlib -static -Wl,--build-id=none label.s -o label && "
		    "strip -N gap -N after_end label");
	serve_nothing();
	sized = fixture_vaddr("label", "sized");
	label = fixture_vaddr("label", "label");
	expect("label", sized + 1, "sized", MISS_NO_DEBUG_INFO);
	expect("label", sized + 5, NULL, MISS_NO_SYMBOLS); /* past the sized symbol */
	expect("label", label + 3, "label", MISS_NO_DEBUG_INFO);
	expect("label", fixture_vaddr("label", "_start"), "_start", MISS_NO_DEBUG_INFO);
	expect("label", fixture_vaddr("label", "_start") + 1, NULL, MISS_NO_SYMBOLS);
	expect("label", fixture_vaddr("label", "_start") + 3, NULL, MISS_NO_SYMBOLS);
}

static void test_plt(void **state)
{
	(void)state;
#ifndef __x86_64__
	print_message("skipped: stubs are known on x86-64 only\n");
	skip();
#endif
	for (size_t i = 0; i < 2; i++) {
		char line[256];
		uint64_t vaddr;

		fixture_run("gcc -O2 -Wl,%s %s prog.c -o plt", "-z,lazy",
			    i ? "-fcf-protection=full" : "-fcf-protection=none");
		fixture_line(
			line, sizeof(line),
			"objdump -d plt | sed -n 's/^\\([0-9a-f]*\\) <puts@plt>:/\\1/p'");
		vaddr = strtoull(line, NULL, 16);
		assert_true(vaddr);
		serve_nothing();
		expect("plt", vaddr, "puts@plt", MISS_NO_LINE);
		expect("plt", vaddr + 7, "puts@plt", MISS_NO_LINE);
	}
}

static void test_stripped_has_exported_names_only(void **state)
{
	uint64_t local = fixture_vaddr("prog", "local_fn");

	(void)state;
	serve_nothing();
	expect("stripped", fixture_vaddr("prog", "global_fn"), "global_fn",
	       MISS_NO_DEBUG_INFO);
	expect("stripped", local, NULL, MISS_NO_SYMBOLS);
	assert_true(nr_asked > 0);
}

/* Lines are found for @path in whatever file; the call in caller() is inlined. */
static void expect_lines(const char *path)
{
	_cleanup_(reply_deinit) struct reply r = {0};
	uint64_t vaddr = fixture_vaddr("prog", "caller");
	const struct answer *a;

	ask(path, ELF_REQUEST_VADDR, NULL, &vaddr, 1, &r);
	a = &r.answers.items[0];
	assert_int_equal(a->miss, MISS_NONE);
	assert_int_equal(a->nr_frames, 2);
	assert_string_equal(a->frames[0].function, "callee");
	assert_int_equal(a->frames[0].line, 16);
	assert_true(a->frames[0].inlined);
	assert_string_equal(a->frames[1].function, "caller");
	assert_int_equal(a->frames[1].line, 20);
	assert_non_null(strstr(a->frames[1].file, "/prog.c"));
}

static void test_lines_of_the_file_itself(void **state)
{
	(void)state;
	serve_nothing();
	expect_lines("prog");
	assert_int_equal(nr_asked, 0);
}

static void test_debug_file_by_build_id(void **state)
{
	_cleanup_(reply_deinit) struct reply r = {0};
	uint64_t local = fixture_vaddr("prog", "local_fn");

	(void)state;
	serve_nothing();
	serve(NEED_DEBUG_BY_BUILD_ID, "prog.debug");
	expect_lines("stripped");
	/* the debug file also has the local symbols */
	serve(NEED_DEBUG_BY_BUILD_ID, "prog.debug");
	ask("stripped", ELF_REQUEST_VADDR | ELF_REQUEST_NO_LINES, NULL, &local, 1, &r);
	assert_int_equal(r.answers.items[0].nr_frames, 1);
	assert_string_equal(r.answers.items[0].frames[0].function, "local_fn");
}

static void test_wrong_debug_files_are_refused(void **state)
{
	uint64_t caller = fixture_vaddr("prog", "caller");

	(void)state;
	serve_nothing();
	serve(NEED_DEBUG_BY_BUILD_ID, "other");
	expect("stripped", caller, "caller", MISS_NO_DEBUG_INFO);
	/* unusable candidates are skipped */
	serve_nothing();
	serve(NEED_DEBUG_BY_BUILD_ID, "prog.c");
	serve(NEED_DEBUG_BY_BUILD_ID, "other");
	serve(NEED_DEBUG_BY_BUILD_ID, "prog.debug");
	expect_lines("stripped");
	/* the build id is also checked for a file found by link */
	serve_nothing();
	serve(NEED_DEBUG_BY_LINK, "other");
	serve(NEED_DEBUG_BY_LINK, "prog.debug");
	expect_lines("linked");
}

static void test_debug_link_without_build_id(void **state)
{
	uint64_t caller;

	(void)state;
	fixture_run("gcc -g -O2 -rdynamic -Wl,--build-id=none prog.c -o noid && "
		    "objcopy --only-keep-debug noid noid.debug && strip -s noid && "
		    "objcopy --add-gnu-debuglink=noid.debug noid && "
		    "cp noid.debug changed.debug && printf x >>changed.debug");
	serve_nothing();
	serve(NEED_DEBUG_BY_LINK, "changed.debug");
	serve(NEED_DEBUG_BY_LINK, "noid.debug");
	caller = strtoull(
		fixture_line((char[32]){0}, 32,
			     "nm noid.debug | awk '$3 == \"caller\" {print $1}'"),
		NULL, 16);
	expect_lines("noid");
	serve_nothing();
	serve(NEED_DEBUG_BY_LINK, "changed.debug");
	expect("noid", caller, "caller", MISS_NO_DEBUG_INFO);
}

static void test_minidebuginfo(void **state)
{
	uint64_t local = fixture_vaddr("prog", "local_fn");

	(void)state;
	/* made as find-debuginfo does: only functions that .dynsym lacks */
	fixture_run("nm -D prog --format=posix --defined-only | awk '{print $1}' | sort "
		    ">dyn && "
		    "nm prog --format=posix --defined-only | "
		    "awk '$2 ~ /[TtDd]/ {print $1}' | sort >all && "
		    "comm -13 dyn all >keep && "
		    "objcopy -S --remove-section .gdb_index --remove-section .comment "
		    "--keep-symbols=keep prog.debug mini && xz -kf mini && "
		    "objcopy --add-section .gnu_debugdata=mini.xz stripped minidebug && "
		    "head -c 100 mini.xz >cut.xz && "
		    "objcopy --add-section .gnu_debugdata=cut.xz stripped minicut && "
		    "head -c 70000000 /dev/zero | xz -0 >bomb.xz && "
		    "objcopy --add-section .gnu_debugdata=bomb.xz stripped minibomb");
	serve_nothing();
	expect("minidebug", local, "local_fn", MISS_NO_DEBUG_INFO);
	expect("minidebug", fixture_vaddr("prog", "global_fn"), "global_fn",
	       MISS_NO_DEBUG_INFO);
	expect("minicut", local, NULL, MISS_NO_SYMBOLS);
	expect("minibomb", local, NULL, MISS_NO_SYMBOLS);
}

static void read_build_id(const char *path, char id[20])
{
	char line[128];

	fixture_line(line, sizeof(line),
		     "readelf -n %s | sed -n 's/.*Build ID: //p' | head -1", path);
	assert_int_equal(strlen(line), 40);
	for (int i = 0; i < 20; i++) {
		unsigned int byte;

		assert_int_equal(sscanf(line + 2 * i, "%2x", &byte), 1);
		id[i] = (char)byte;
	}
}

static void test_replaced_file(void **state)
{
	_cleanup_(reply_deinit) struct reply same = {0}, other = {0}, headerless = {0};
	uint64_t vaddr = fixture_vaddr("prog", "main");
	char id[20];

	(void)state;
	serve_nothing();
	read_build_id("prog", id);
	ask("prog", ELF_REQUEST_VADDR, id, &vaddr, 1, &same);
	assert_int_equal(same.miss, MISS_NONE);
	assert_int_equal(same.build_id_len, 20);
	assert_memory_equal(same.build_id, id, 20);
	ask("other", ELF_REQUEST_VADDR, id, &vaddr, 1, &other);
	assert_int_equal(other.miss, MISS_FILE_REPLACED);
	assert_int_equal(other.answers.items[0].miss, MISS_FILE_REPLACED);
	assert_memory_not_equal(other.build_id, id, 20);
	/* without section headers the id is found by the program headers */
	fixture_run("cp prog headerless && printf '\\0\\0\\0\\0\\0\\0\\0\\0' | "
		    "dd of=headerless bs=1 seek=40 conv=notrunc status=none && "
		    "printf '\\0\\0\\0\\0\\0\\0' | "
		    "dd of=headerless bs=1 seek=58 conv=notrunc status=none");
	ask("headerless", ELF_REQUEST_VADDR, id, &vaddr, 1, &headerless);
	assert_int_equal(headerless.miss, MISS_NONE);
	assert_int_equal(headerless.answers.items[0].miss, MISS_NO_SYMBOLS);
}

static void test_compressed_debug_info(void **state)
{
	(void)state;
	serve_nothing();
	fixture_run("cp prog gnu && objcopy --compress-debug-sections=zlib-gnu gnu && "
		    "cp prog gabi && objcopy --compress-debug-sections=zlib-gabi gabi");
	expect_lines("gnu");
	expect_lines("gabi");
}

static void test_symbols_only(void **state)
{
	_cleanup_(reply_deinit) struct reply r = {0};
	uint64_t vaddr = fixture_vaddr("prog", "caller");

	(void)state;
	serve_nothing();
	ask("prog", ELF_REQUEST_VADDR | ELF_REQUEST_NO_LINES, NULL, &vaddr, 1, &r);
	assert_int_equal(r.answers.items[0].nr_frames, 1);
	assert_string_equal(r.answers.items[0].frames[0].function, "caller");
	assert_int_equal(r.answers.items[0].frames[0].line, 0);
	assert_int_equal(r.answers.items[0].miss, MISS_NO_DEBUG_INFO);
}

static void test_order_and_duplicates(void **state)
{
	_cleanup_(reply_deinit) struct reply r = {0};
	uint64_t main_off = fixture_file_off("nodebug", fixture_vaddr("nodebug", "main"));
	uint64_t fn_off =
		fixture_file_off("nodebug", fixture_vaddr("nodebug", "global_fn"));
	const uint64_t offs[] = {UINT64_MAX, fn_off, main_off, fn_off, 1ULL << 40};

	(void)state;
	serve_nothing();
	ask("nodebug", 0, NULL, offs, ARRAY_SIZE(offs), &r);
	assert_int_equal(r.answers.items[0].nr_frames, 0);
	assert_int_equal(r.answers.items[0].miss, MISS_NO_SYMBOLS);
	assert_string_equal(r.answers.items[1].frames[0].function, "global_fn");
	assert_string_equal(r.answers.items[2].frames[0].function, "main");
	assert_string_equal(r.answers.items[3].frames[0].function, "global_fn");
	assert_int_equal(r.answers.items[4].nr_frames, 0);
}

static void expect_names(const char *path, const char *symbol, const char *function)
{
	_cleanup_(reply_deinit) struct reply r = {0};
	uint64_t vaddr = fixture_vaddr(path, symbol);
	const struct answer *a;

	ask(path, ELF_REQUEST_VADDR, NULL, &vaddr, 1, &r);
	a = &r.answers.items[0];
	assert_true(a->nr_frames > 0);
	assert_string_equal(a->frames[a->nr_frames - 1].function, function);
	assert_string_equal(a->frames[a->nr_frames - 1].system_name, symbol);
}

static void test_cxx_names(void **state)
{
	static const char *const builds[] = {"g++ -O1", "g++ -g -O1", "g++ -g1 -O1",
					     TEST_CLANGXX " -O1",
					     TEST_CLANGXX " -gline-tables-only -O1"};

	(void)state;
	fixture_write("prog.cc",
		      "namespace ns { struct S { int m(int) const; };\n"
		      "int __attribute__((noinline)) S::m(int x) const\n"
		      "{ static volatile int n; return n += x; } }\n"
		      "template<class T> __attribute__((noinline)) T twice(T x)\n"
		      "{ static volatile int n; return n += x; }\n"
		      "int main() { ns::S s; return s.m(1) + twice(2); }\n");
	serve_nothing();
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		fixture_run("%s prog.cc -o cxx", builds[i]);
		expect_names("cxx", "_ZNK2ns1S1mEi", "ns::S::m");
		expect_names("cxx", "_Z5twiceIiET_S0_", "twice<int>");
	}
}

/* Functions of code rows have the same names as frames of the same addresses. */
static void expect_code_names(const char *path, const char *symbol)
{
	_cleanup_(reply_deinit) struct reply r = {0};
	uint64_t vaddr = fixture_vaddr(path, symbol);
	const struct code *code;
	size_t nr_names = 0;

	ask(path, ELF_REQUEST_VADDR | ELF_REQUEST_CODE, NULL, &vaddr, 1, &r);
	assert_int_equal(r.answers.nr_codes, 1);
	code = &r.answers.codes[0];
	assert_int_equal(code->address, vaddr);
	for (size_t i = 0; i < code->nr_rows; i++) {
		_cleanup_(reply_deinit) struct reply at = {0};
		const struct code_row *row = &code->rows[i];
		const struct frame *frame;

		if (row->address ==
		    (i + 1 < code->nr_rows ? row[1].address : vaddr + code->size_bytes))
			continue;
		ask(path, ELF_REQUEST_VADDR, NULL, &row->address, 1, &at);
		frame = at.answers.items[0].frames;
		assert_string_equal(row->frame.function, frame->function);
		assert_string_equal(row->frame.system_name, frame->system_name);
		assert_string_equal(row->frame.file, frame->file);
		assert_int_equal(row->frame.line, frame->line);
		assert_int_equal(row->frame.start_line, frame->start_line);
		nr_names += i && strcmp(row->frame.function, row[-1].frame.function) != 0;
	}
	assert_true(nr_names > 0); /* something is inlined */
}

static void test_names_of_code(void **state)
{
	static const char *const builds[] = {"g++ -g -O1", "g++ -g1 -O1",
					     TEST_CLANGXX " -g -O1",
					     TEST_CLANGXX " -gline-tables-only -O1"};

	(void)state;
	fixture_write(
		"code.cc",
		"static volatile int n;\n"
		"template<class T> __attribute__((always_inline)) inline T add(T x)\n"
		"{ n += x; return n; }\n"
		"namespace ns { struct S { int m(int) const; };\n"
		"__attribute__((noinline)) int S::m(int x) const\n"
		"{\n"
		"	n = x;\n"
		"	x += add(3);\n"
		"	n += 7;\n"
		"	return x * add(4L);\n"
		"} }\n"
		"int main() { ns::S s; return s.m(1); }\n");
	serve_nothing();
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		fixture_run("%s code.cc -o code", builds[i]);
		expect_code_names("code", "_ZNK2ns1S1mEi");
	}
}

static void test_rust_names(void **state)
{
	static const char *const manglings[] = {"legacy", "v0"};

	(void)state;
	if (!fixture_try("rustc --version >/dev/null 2>&1")) {
		print_message("skipped: no rustc\n");
		skip();
	}
	fixture_write("prog.rs", "mod m { #[inline(never)] pub fn work(x: u64) -> u64 "
				 "{ unsafe { std::ptr::read_volatile(&x) + 1 } } }\n"
				 "fn main() { println!(\"{}\", m::work(3)); }\n");
	serve_nothing();
	for (size_t i = 0; i < ARRAY_SIZE(manglings); i++) {
		char symbol[256];

		/* older compilers need -Z for v0: use their default */
		if (!fixture_try("rustc -g -C symbol-mangling-version=%s prog.rs -o rust "
				 "2>/dev/null",
				 manglings[i]))
			fixture_run("rustc -g prog.rs -o rust");
		fixture_line(symbol, sizeof(symbol),
			     "nm rust | awk '$3 ~ /prog1m4work/ {print $3}'");
		expect_names("rust", symbol, "prog::m::work");
	}
}

/* ---- bad input ---- */

static void expect_no_harm(const char *bytes, size_t len)
{
	_cleanup_(reply_deinit) struct reply r = {0}, v = {0};
	const uint64_t at[] = {0,      0x40,   0x1000, 0x1100,
			       0x1169, 0x2000, 0x3000, UINT64_MAX};
	_cleanup_close_ int fd = memfd_create("bad", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	ask_fd(fd, 0, NULL, at, ARRAY_SIZE(at), &r);
	assert_true(r.miss == MISS_NONE || r.miss == MISS_BAD_FILE);
	ask_fd(fd, ELF_REQUEST_VADDR, NULL, at, ARRAY_SIZE(at), &v);
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		assert_true(r.answers.items[i].miss < NR_MISSES);
}

static char *read_whole(const char *path, size_t *ret_len)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;

	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	*ret_len = (size_t)st.st_size;
	return bytes;
}

static void test_truncated_everywhere(void **state)
{
	static const char *const files[] = {"prog", "minidebug", "linked"};

	(void)state;
	serve_nothing();
	for (size_t f = 0; f < ARRAY_SIZE(files); f++) {
		size_t len;
		_cleanup_free_ char *bytes = read_whole(files[f], &len);

		for (size_t cut = 0; cut < len; cut += 64)
			expect_no_harm(bytes, cut);
	}
}

/* Inverts bytes of the headers, and some elsewhere; the fuzz target tries more. */
static void test_changed_bytes(void **state)
{
	size_t len;
	_cleanup_free_ char *bytes = read_whole("minidebug", &len);

	(void)state;
	serve_nothing();
	srand(3);
	for (size_t i = 0; i < 1000; i++) {
		size_t at = i < 600 ? i : (size_t)rand() % len;
		char old = bytes[at];

		bytes[at] = (char)(i & 1 ? ~old : 0xff);
		expect_no_harm(bytes, len);
		bytes[at] = old;
	}
	for (size_t i = 0; i < 200; i++) {
		char garbage[512];

		for (size_t k = 0; k < sizeof(garbage); k++)
			garbage[k] = (char)rand();
		if (i & 1)
			memcpy(garbage, bytes, 16 + i % 48);
		expect_no_harm(garbage, sizeof(garbage));
	}
}

static void test_bad_file_and_bad_request(void **state)
{
	_cleanup_(reply_deinit) struct reply r = {0};
	_cleanup_close_ int fd = open("prog.c", O_RDONLY | O_CLOEXEC);
	const uint8_t too_many[] = {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
	struct wire_reader request = {.data = too_many, .len = sizeof(too_many)};
	struct wire_writer reply = {0};
	uint64_t at = 0;

	(void)state;
	ask_fd(fd, 0, NULL, &at, 1, &r);
	assert_int_equal(r.miss, MISS_BAD_FILE);
	assert_int_equal(r.answers.items[0].miss, MISS_BAD_FILE);
	assert_int_equal(elf_serve(NULL, &request, &fd, 1, &reply), -EBADMSG);
	request.pos = 0;
	assert_int_equal(elf_serve(NULL, &request, NULL, 0, &reply), -EBADMSG);
	wire_writer_deinit(&reply);
}

/* A unit of DWARF 6 is counted; others keep their lines. */
static void test_unknown_unit(void **state)
{
	_cleanup_(reply_deinit) struct reply whole = {0}, r = {0};
	uint64_t vaddrs[2];

	(void)state;
	fixture_write("more.c", "int more(int n)\n{\n	return n * 3;\n}\n");
	fixture_run("gcc -g -O2 -o units prog.c more.c && "
		    "objcopy --dump-section .debug_info=info units && "
		    "printf '\\006' | dd of=info bs=1 seek=4 conv=notrunc status=none && "
		    "objcopy --update-section .debug_info=info units unknown");
	vaddrs[0] = fixture_vaddr("units", "caller");
	vaddrs[1] = fixture_vaddr("units", "more");
	ask("units", ELF_REQUEST_VADDR, NULL, vaddrs, 2, &whole);
	assert_int_equal(whole.nr_bad_units, 0);
	assert_int_equal(whole.answers.items[0].miss, MISS_NONE);
	ask("unknown", ELF_REQUEST_VADDR, NULL, vaddrs, 2, &r);
	assert_int_equal(r.nr_bad_units, 1);
	assert_int_equal(r.answers.items[0].miss, MISS_BAD_DEBUG_INFO);
	assert_string_equal(r.answers.items[0].frames[0].function, "caller");
	assert_int_equal(r.answers.items[1].miss, MISS_NONE);
	assert_int_equal(r.answers.items[1].frames[0].line, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agrees_with_nm),
		cmocka_unit_test(test_all_symbols_of_a_static_program),
		cmocka_unit_test(test_alias_order),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_stripped_has_exported_names_only),
		cmocka_unit_test(test_lines_of_the_file_itself),
		cmocka_unit_test(test_debug_file_by_build_id),
		cmocka_unit_test(test_wrong_debug_files_are_refused),
		cmocka_unit_test(test_debug_link_without_build_id),
		cmocka_unit_test(test_minidebuginfo),
		cmocka_unit_test(test_replaced_file),
		cmocka_unit_test(test_compressed_debug_info),
		cmocka_unit_test(test_unknown_unit),
		cmocka_unit_test(test_symbols_only),
		cmocka_unit_test(test_order_and_duplicates),
		cmocka_unit_test(test_cxx_names),
		cmocka_unit_test(test_names_of_code),
		cmocka_unit_test(test_rust_names),
		cmocka_unit_test(test_truncated_everywhere),
		cmocka_unit_test(test_changed_bytes),
		cmocka_unit_test(test_bad_file_and_bad_request),
	};

	worker_need_stand_in = need_from_list;
	return cmocka_run_group_tests(tests, build_programs, fixture_teardown);
}
