// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The symbolizer with a real worker (this program again) and fake processes that map
 * real files. The decoders have their own tests; these test which of them is asked, and
 * how answers are used.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/time_share.h"
#include "decode/requests.h"
#include "process/maps.h"
#include "process/kernel_code.h"
#include "process/table.h"
#include "symbolize/address_table.h"
#include "symbolize/kallsyms.h"
#include "symbolize/symbolizer_internal.h"
#include "worker/child.h"

#include "lib/freezer.h"
#include "unit/decode/elf/fixture.h"

#define BASE     0x555500000000ULL /* position-independent programs */
#define JIT_CODE 0x7f0000000000ULL

/* ---- the worker's side ---- */

/* Sizes of files that make the decoder fail; no built program has such a size. */
#define SIZE_DIES_OF_LINES 100001
#define SIZE_DIES          100003
#define SIZE_HANGS         100007

static int elf_serve_or_die(struct worker_call *call, struct wire_reader *request,
			    const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	struct wire_reader peek = *request;
	bool lines = !(wire_get_u32(&peek) & ELF_REQUEST_NO_LINES);
	struct stat st;

	if (nr_fds == 1 && !fstat(fds[0], &st)) {
		if (st.st_size == SIZE_DIES ||
		    (st.st_size == SIZE_DIES_OF_LINES && lines))
			abort();
		while (st.st_size == SIZE_HANGS)
			;
	}
	return elf_serve(call, request, fds, nr_fds, reply);
}

extern const worker_op test_ops[NR_OPERATIONS];
const worker_op test_ops[NR_OPERATIONS] = {
	[DECODER_ELF] = elf_serve_or_die,
	[DECODER_INSPECT] = inspect_serve,
	[DECODER_PERF_MAP] = perfmap_serve,
	[DECODER_JITDUMP] = jitdump_serve,
};

/* ---- a fake machine ---- */

static struct strpool *pool;
static struct worker *worker;
static struct symbolizer *sym;
static struct kernel_code kernel_code;
static struct target_file files[64];
static size_t nr_files;

static const char kallsyms[] = "ffffffff81000000 T first_fn\n"
			       "ffffffff81000100 T second_fn\n"
			       "ffffffff81001000 T _etext\n"
			       "ffffffffc0a4e000 t mod_fn\t[some_mod]\n"
			       "ffffffffc0b00000 t bpf_prog_1_listed\t[bpf]\n";

static const char program[] = "#include <stdlib.h>\n"
			      "volatile int sink;\n"
			      "__attribute__((noinline)) void fn(int n)\n"
			      "{\n"
			      "	sink += n;\n" /* line 5 */
			      "}\n"
			      "__attribute__((noinline, noreturn)) void fatal(void)\n"
			      "{\n"
			      "	fn(1);\n"
			      "	abort();\n" /* line 10: the last instruction is a call */
			      "}\n"
			      "int main(int argc, char **argv)\n"
			      "{\n"
			      "	(void)argv;\n"
			      "	fn(argc);\n"
			      "	if (argc > 5)\n"
			      "		fatal();\n"
			      "	return 0;\n"
			      "}\n";

static const char sleeper[] = "#include <stdio.h>\n"
			      "#include <unistd.h>\n"
			      "int main(void)\n"
			      "{\n"
			      "	printf(\"%p\\n\", (void *)main);\n" /* line 5 */
			      "	fflush(stdout);\n"
			      "	for (;;)\n"
			      "		pause();\n"
			      "}\n";

/* Nine functions inlined into main. */
static const char deep[] = "volatile int sink;\n"
			   "#define INLINED static inline "
			   "__attribute__((always_inline)) void\n"
			   "INLINED f1(void) { sink++; }\n"
			   "INLINED f2(void) { f1(); }\n"
			   "INLINED f3(void) { f2(); }\n"
			   "INLINED f4(void) { f3(); }\n"
			   "INLINED f5(void) { f4(); }\n"
			   "INLINED f6(void) { f5(); }\n"
			   "INLINED f7(void) { f6(); }\n"
			   "INLINED f8(void) { f7(); }\n"
			   "INLINED f9(void) { f8(); }\n"
			   "int main(void) { f9(); return 0; }\n";

static int build(void **state)
{
	if (fixture_setup(state))
		return -1;
	fixture_write("prog.c", program);
	fixture_write("sleeper.c", sleeper);
	fixture_write("deep.c", deep);
	fixture_write("kallsyms", kallsyms);
	fixture_write("modules", "some_mod 4096 0 - Live 0xffffffffc0a4e000\n");
	fixture_write("kallsyms.hidden", "0000000000000000 T first_fn\n");
	return !fixture_try(
		"gcc -g -O1 -pie -fPIE -Wl,--build-id=sha1 prog.c -o prog && "
		"gcc -g -O1 -pie -fPIE deep.c -o deep && "
		"objcopy --only-keep-debug prog prog.debug && "
		"strip -o stripped prog && "
		"id=$(readelf -n prog | sed -n 's/.*Build ID: //p') && "
		"d=debug/.build-id/$(echo $id | cut -c1-2) && mkdir -p $d && "
		"cp prog.debug $d/$(echo $id | cut -c3-).debug && "
		"sed s/fn/lie/g prog.c >lie.c && "
		"gcc -g -O1 -pie -fPIE -Wl,--build-id=0x$id lie.c -o lie && "
		"mkdir -p forged$PWD/$d && objcopy --only-keep-debug lie "
		"forged$PWD/$d/$(echo $id | cut -c3-).debug && "
		"gcc -g -O1 -pie -fPIE -Wl,--build-id=none sleeper.c -o sleeper && "
		"objcopy --only-keep-debug sleeper sleeper.debug && "
		"strip sleeper && "
		"objcopy --add-gnu-debuglink=sleeper.debug sleeper && "
		"for n in 100001 100003 100007; do "
		"cp prog prog.$n && truncate -s $n prog.$n; done");
}

static struct kallsyms_files kernel_files;

static int start_with(const char *kallsyms_path, size_t max_addresses,
		      unsigned int deadline_ms)
{
	char debug_dir[128];
	struct symbolizer_config config = {.kernel_files = &kernel_files,
					   .kernel_code = &kernel_code,
					   .deadline_ms = deadline_ms,
					   .max_addresses = max_addresses,
					   .debug_dir = debug_dir};

	snprintf(debug_dir, sizeof(debug_dir), "%s/debug", fixture_dir);
	kallsyms_files_open(&kernel_files, kallsyms_path, "modules");
	pool = strpool_new(16 << 20);
	if (!pool || worker_new(&(struct worker_config){0}, &worker, NULL))
		return -1;
	return symbolizer_new(&config, pool, worker, NULL, &sym, NULL);
}

static int start(void **state)
{
	(void)state;
	return start_with("kallsyms", 0, 0);
}

static int stop(void **state)
{
	(void)state;
	symbolizer_free(sym);
	worker_free(worker);
	strpool_free(pool);
	kallsyms_files_close(&kernel_files);
	while (nr_files) {
		free(files[--nr_files].facts);
		cleanup_closep(&files[nr_files].fd);
	}
	return 0;
}

static int restart_with(const char *kallsyms_path, size_t max_addresses,
			unsigned int deadline_ms)
{
	stop(NULL);
	return start_with(kallsyms_path, max_addresses, deadline_ms);
}

/* A file as the file cache opens it; @name NULL: it could not be opened. */
static struct target_file *open_file(const char *name, const char *as)
{
	struct target_file *file = &files[nr_files];
	struct stat st;

	*file = (struct target_file){
		.fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1,
		.open_errno = ENOENT,
		.path = strpool_add(pool, as),
		.id = (uint32_t)nr_files,
	};
	if (name) {
		assert_true(file->fd >= 0);
		assert_int_equal(fstat(file->fd, &st), 0);
		file->open_errno = 0;
		file->inode = st.st_ino;
	}
	nr_files++;
	return file;
}

static struct process new_process(uint32_t id)
{
	return (struct process){.tgid = 100 + id,
				.id = id,
				.root_fd = -1,
				.uid = (uid_t)-1,
				.gid = (gid_t)-1,
				.perf_map = {.fd = -1, .open_errno = ENOENT},
				.jitdump = {.fd = -1, .open_errno = ENOENT},
				.until_ns = UINT64_MAX};
}

static void map_as(struct process *proc, enum mapping_kind kind, struct target_file *file,
		   uint64_t at, uint64_t from_ns, const char *path)
{
	struct mapping m = {.start = at,
			    .end = at + 0x100000,
			    .kind = kind,
			    .path = strpool_add(pool, path),
			    .file = file,
			    .from_ns = from_ns,
			    .until_ns = UINT64_MAX};

	assert_int_equal(maps_add(&proc->maps, &m), 0);
}

/* Maps all of @file at @at as one mapping, so that in "prog" offset == vaddr. */
static void map_at(struct process *proc, enum mapping_kind kind, struct target_file *file,
		   uint64_t at, uint64_t from_ns)
{
	map_as(proc, kind, file, at, from_ns, file ? file->path : "");
}

/* The run-time address of "prog"'s @vaddr when its file begins at @base. */
static uint64_t ip_of(uint64_t base, uint64_t vaddr)
{
	return base + fixture_file_off("prog", vaddr);
}

static const struct resolved *resolve_one(uint32_t id)
{
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	return symbolizer_get(sym, id);
}

static void assert_miss(const struct resolved *r, enum miss miss)
{
	assert_string_equal(miss_name(r->miss), miss_name(miss));
}

/* The innermost frame's function. */
static const char *function_of(const struct resolved *r)
{
	return r->nr_frames ? r->frames[0].function : "(no frame)";
}

/* ---- files ---- */

/*
 * The program and its debug file are in a root. The debug file is opened with the
 * rights of a process that ran the program: of the first one whose user is known.
 */
static void test_debug_file_of_who_is_known(void **state)
{
	struct process nobody = new_process(0), known = new_process(1);
	struct target_file *file = open_file("sleeper", "/sleeper");
	uint64_t off =
		fixture_file_off("sleeper", fixture_vaddr("sleeper.debug", "main"));
	uint32_t first, second;

	(void)state;
	nobody.root_fd = known.root_fd =
		open(fixture_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(known.root_fd >= 0);
	known.uid = geteuid();
	known.gid = getegid();
	map_at(&nobody, MAPPING_FILE, file, BASE, 0);
	map_at(&known, MAPPING_FILE, file, BASE, 0);
	first = symbolizer_want(sym, &nobody, BASE + off, FRAME_LEAF, 1, 2);
	second = symbolizer_want(sym, &known, BASE + off + 1, FRAME_LEAF, 1, 2);
	assert_string_equal(function_of(resolve_one(first)), "main");
	assert_string_equal(function_of(resolve_one(second)), "main");

	restart_with("kallsyms", 0, 0);
	file = open_file("sleeper", "/sleeper");
	maps_deinit(&nobody.maps);
	maps_deinit(&known.maps);
	map_at(&nobody, MAPPING_FILE, file, BASE, 0);
	first = symbolizer_want(sym, &nobody, BASE + off, FRAME_LEAF, 1, 2);
	assert_miss(resolve_one(first), MISS_NO_SYMBOLS);
	maps_deinit(&nobody.maps);
	close(known.root_fd);
}

/* @root  a folder; NULL: it is not known */
static struct process process_in(uint32_t id, const char *root, bool is_machines)
{
	struct process proc = new_process(id);

	if (!root)
		return proc;
	proc.root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(proc.root_fd >= 0);
	proc.root_id = id + 1;
	proc.has_machines_root = is_machines;
	proc.uid = geteuid();
	proc.gid = getegid();
	return proc;
}

/*
 * A user has a root with a forged debug file. It names the code only in that root, also
 * if a program of his has the file first, and later.
 */
static void test_forged_debug_file(void **state)
{
	struct process liar = process_in(0, "forged", false);
	struct process unknown = process_in(1, NULL, false);
	struct process users[] = {
		process_in(2, "/", true),
		process_in(3, "/", true),
		process_in(4, "/", false), /* a service in its mount namespace */
		process_in(5, "forged", false), /* another root */
		unknown,
	};
	char debug_dir[128];
	struct symbolizer_config config = {.is_shared = true, .debug_dir = debug_dir};
	struct target_file *file = open_file("stripped", "/opt/stripped");
	uint64_t ip = ip_of(BASE, fixture_vaddr("prog", "fn"));
	uint32_t lie, lost, id = 0;

	(void)state;
	snprintf(debug_dir, sizeof(debug_dir), "%s/debug", fixture_dir);
	symbolizer_free(take_ptr(sym));
	assert_int_equal(symbolizer_new(&config, pool, worker, NULL, &sym, NULL), 0);
	map_at(&liar, MAPPING_FILE, file, BASE, 0);
	lie = symbolizer_want(sym, &liar, ip, FRAME_LEAF, 1, 2);
	assert_string_equal(function_of(resolve_one(lie)), "lie");
	/* What one who can open nothing leaves without a name has one for others. */
	map_at(&unknown, MAPPING_FILE, file, BASE, 0);
	lost = symbolizer_want(sym, &unknown, ip, FRAME_LEAF, 1, 2);
	assert_int_equal(symbolizer_want(sym, &liar, ip, FRAME_LEAF, 1, 2), lie);
	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		map_at(&users[i], MAPPING_FILE, file, BASE, 0);
		id = symbolizer_want(sym, &users[i], ip, FRAME_LEAF, 1, 2);
		assert_string_equal(function_of(resolve_one(id)), "fn");
		assert_int_not_equal(id, lost);
		assert_ptr_equal(object_user(symbolizer_get(sym, id)->object), &users[0]);
		maps_deinit(&users[i].maps);
	}
	/* Its root is another one now: the next one that has the machine's is the user. */
	users[0].root_id = 77;
	users[0].has_machines_root = false;
	map_at(&users[2], MAPPING_FILE, file, BASE, 0);
	assert_int_equal(symbolizer_want(sym, &users[2], ip, FRAME_LEAF, 1, 2), id);
	maps_deinit(&users[2].maps);
	assert_null(object_user(symbolizer_get(sym, id)->object));
	map_at(&users[1], MAPPING_FILE, file, BASE, 0);
	assert_int_equal(symbolizer_want(sym, &users[1], ip, FRAME_LEAF, 1, 2), id);
	assert_ptr_equal(object_user(symbolizer_get(sym, id)->object), &users[1]);
	assert_ptr_equal(object_user(symbolizer_get(sym, lie)->object), &liar);
	for (size_t i = 0; i < 4; i++)
		close(users[i].root_fd);
	close(liar.root_fd);
	maps_deinit(&users[1].maps);
	maps_deinit(&unknown.maps);
	maps_deinit(&liar.maps);
}

/* In a mount namespace of his own, a user has mounted what he likes over the machine's root. */
static void test_forged_in_a_copy_of_the_root(void **state)
{
	struct process liar = process_in(0, "forged", false);
	struct process other = process_in(1, "/", true);
	char debug_dir[128];
	struct symbolizer_config config = {.is_shared = true, .debug_dir = debug_dir};
	struct target_file *file = open_file("stripped", "/opt/stripped");
	uint64_t ip = ip_of(BASE, fixture_vaddr("prog", "fn"));
	uint32_t id;

	(void)state;
	snprintf(debug_dir, sizeof(debug_dir), "%s/debug", fixture_dir);
	symbolizer_free(take_ptr(sym));
	assert_int_equal(symbolizer_new(&config, pool, worker, NULL, &sym, NULL), 0);
	map_at(&liar, MAPPING_FILE, file, BASE, 0);
	map_at(&other, MAPPING_FILE, file, BASE, 0);
	/* Also if a set-uid program of root's let him, so in our user namespace. */
	liar.in_our_user_ns = true;
	id = symbolizer_want(sym, &liar, ip, FRAME_LEAF, 1, 2);
	assert_string_equal(function_of(resolve_one(id)), "lie");
	id = symbolizer_want(sym, &other, ip, FRAME_LEAF, 1, 2);
	assert_string_equal(function_of(resolve_one(id)), "fn");
	close(liar.root_fd);
	close(other.root_fd);
	maps_deinit(&liar.maps);
	maps_deinit(&other.maps);
}

/* Bob's program, with its debug file in a folder of his own; both run it. */
static struct process runs_bobs(uint32_t id, uid_t uid, struct target_file *file)
{
	struct process proc = process_in(id, fixture_dir, true);

	proc.root_id = 1;
	proc.uid = proc.gid = uid;
	proc.tenant.uid = uid;
	map_at(&proc, MAPPING_FILE, file, BASE, 0);
	return proc;
}

/* More users than are remembered run what @one does, in turns. */
static void come_and_go(const struct process *one, uint64_t ip)
{
	static struct process others[2 * SOURCE_MAX_WANTING];
	const uid_t first = 30400;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		others[i] = *one;
		others[i].tenant.uid = others[i].uid = first + (uid_t)i;
	}
	for (size_t i = 0; i < 100 * ARRAY_SIZE(others); i++)
		symbolizer_want(sym, &others[i % ARRAY_SIZE(others)], ip, FRAME_LEAF, 1,
				2);
}

/*
 * Alice runs it first, and may not read the debug file. It is opened with Bob's rights, at
 * once, or when he comes; but then for no other reason.
 */
static void test_a_debug_file_that_one_may_not_read(void **state)
{
	const uid_t alices = 30301, bobs = 30302;
	struct target_file *file = open_file("sleeper", "/private/sleeper");
	uint64_t ip = BASE +
		      fixture_file_off("sleeper", fixture_vaddr("sleeper.debug", "main"));
	struct symbolizer_stats stats;
	struct process alice, bob;
	uint32_t id, later;

	(void)state;
	if (geteuid())
		skip();
	fixture_run("mkdir -p private && cp sleeper.debug private && chmod 711 . && "
		    "chown 30302 private && chmod 700 private");
	alice = runs_bobs(0, alices, file);
	bob = runs_bobs(1, bobs, file);
	id = symbolizer_want(sym, &alice, ip, FRAME_LEAF, 1, 2);
	assert_int_equal(symbolizer_want(sym, &bob, ip, FRAME_LEAF, 1, 2), id);
	assert_string_equal(function_of(resolve_one(id)), "main");

	symbolizer_free(take_ptr(sym));
	assert_int_equal(symbolizer_new(&(struct symbolizer_config){0}, pool, worker,
					NULL, &sym, NULL),
			 0);
	come_and_go(&alice, ip);
	id = symbolizer_want(sym, &alice, ip, FRAME_LEAF, 1, 2);
	assert_miss(resolve_one(id), MISS_NO_SYMBOLS);
	assert_int_equal(symbolizer_want(sym, &alice, ip, FRAME_LEAF, 1, 2), id);
	assert_miss(resolve_one(id), MISS_NO_SYMBOLS);
	symbolizer_stats(sym, &stats);
	assert_int_equal(stats.nr_files, 1);
	/* A profile may have the earlier answer already. */
	later = symbolizer_want(sym, &bob, ip, FRAME_LEAF, 1, 2);
	assert_int_not_equal(later, id);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(symbolizer_want(sym, &bob, ip, FRAME_LEAF, 1, 2), later);
		assert_int_equal(symbolizer_want(sym, &alice, ip, FRAME_LEAF, 1, 2),
				 later);
		assert_string_equal(function_of(resolve_one(later)), "main");
		assert_miss(symbolizer_get(sym, id), MISS_NO_SYMBOLS);
		symbolizer_stats(sym, &stats);
		assert_int_equal(stats.nr_files, 2);
	}
	close(alice.root_fd);
	close(bob.root_fd);
	maps_deinit(&alice.maps);
	maps_deinit(&bob.maps);
}

/* Continues until a request is sent but not answered. */
static void begin_to_resolve(void)
{
	struct worker_wait wait;

	do
		assert_int_equal(symbolizer_resolve_step(sym, NULL), 1);
	while (!worker_waits(worker, &wait));
}

/* The root of a process is closed while the decoder works, and needs a file there. */
static void test_root_goes_while_it_resolves(void **state)
{
	struct process proc = new_process(0);
	struct target_file *file = open_file("sleeper", "/sleeper");
	uint64_t off =
		fixture_file_off("sleeper", fixture_vaddr("sleeper.debug", "main"));
	uint32_t id;

	(void)state;
	proc.root_fd = open(fixture_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	proc.uid = geteuid();
	proc.gid = getegid();
	map_at(&proc, MAPPING_FILE, file, BASE, 0);
	id = symbolizer_want(sym, &proc, BASE + off, FRAME_LEAF, 1, 2);
	begin_to_resolve();
	cleanup_closep(&proc.root_fd);
	proc.root_fd = -1;
	assert_miss(resolve_one(id), MISS_NO_SYMBOLS);
	maps_deinit(&proc.maps);
}

/* A tenant has a quarter of the addresses. */
static void test_a_tenant_leaves_addresses_to_others(void **state)
{
	struct process proc = new_process(0), other = new_process(0);
	struct symbolizer_config config = {.max_addresses = 16, .is_shared = true};
	uint32_t id;

	(void)state;
	symbolizer_free(take_ptr(sym));
	assert_int_equal(symbolizer_new(&config, pool, worker, NULL, &sym, NULL), 0);
	proc.tenant.container = 7;
	other.tenant.uid = 1000;
	for (uint64_t i = 0; i < 6; i++) {
		id = symbolizer_want(sym, &proc, BASE + i, FRAME_LEAF, 1, 2);
		assert_int_equal(symbolizer_get(sym, id)->miss,
				 i < 4 ? MISS_NO_MAPPING : MISS_LIMIT);
	}
	id = symbolizer_want(sym, &other, BASE + 6, FRAME_LEAF, 1, 2);
	assert_int_equal(symbolizer_get(sym, id)->miss, MISS_NO_MAPPING);
	/* A known address needs no place. */
	id = symbolizer_want(sym, &proc, BASE + 6, FRAME_LEAF, 1, 2);
	assert_int_equal(symbolizer_get(sym, id)->miss, MISS_NO_MAPPING);
}

static void on_address_refused(void *ctx, const struct quota *q, struct tenant who,
			       uint64_t nr_refused)
{
	assert_string_equal(q->what, "addresses");
	assert_int_equal(who.uid, 1000);
	*(uint64_t *)ctx += nr_refused;
}

/* Files that could not be opened have a source each, which takes places. */
static void test_sources_have_places(void **state)
{
	struct process proc = new_process(0);
	struct symbolizer_config config = {.max_addresses = 40, .is_shared = true};
	uint64_t nr_refused = 0;
	char path[] = "/0";

	(void)state;
	symbolizer_free(take_ptr(sym));
	assert_int_equal(symbolizer_new(&config, pool, worker, NULL, &sym, NULL), 0);
	proc.tenant.uid = 1000;
	for (uint64_t i = 0; i < 4; i++, path[1]++) {
		uint64_t at = BASE + i * 0x100000;
		uint32_t id;

		map_as(&proc, MAPPING_FILE, NULL, at, 0, path);
		id = symbolizer_want(sym, &proc, at, FRAME_LEAF, 1, 2);
		assert_int_equal(symbolizer_get(sym, id)->miss,
				 i < 2 ? MISS_FILE_LATE : MISS_LIMIT);
	}
	assert_int_equal(sym->table.nr_sources, 3);
	symbolizer_each_refused(sym, on_address_refused, &nr_refused);
	assert_int_equal(nr_refused, 2 * TABLE_SOURCE_PLACES);
	maps_deinit(&proc.maps);
}

/* Processes of which nothing is known have a quarter of the addresses together. */
static void test_addresses_of_unknown_processes(void **state)
{
	struct symbolizer_config config = {.max_addresses = 16, .is_shared = true};

	(void)state;
	symbolizer_free(take_ptr(sym));
	assert_int_equal(symbolizer_new(&config, pool, worker, NULL, &sym, NULL), 0);
	for (uint64_t i = 0; i < 6; i++) {
		uint32_t id = symbolizer_want(sym, NULL, BASE + i, FRAME_LEAF, 1, 2);

		assert_int_equal(symbolizer_get(sym, id)->miss,
				 i < 4 ? MISS_NO_PROCESS : MISS_LIMIT);
	}
	for (uint64_t i = 0; i < 6; i++)
		assert_int_not_equal(
			symbolizer_want_kernel(sym, ~0xfffULL + i, FRAME_LEAF, 1, 2),
			TABLE_OVER_LIMIT);
}

#define DEEP_FRAMES 10

/* Returns how many frames the main() of "deep", at @at, has @off bytes after its begin. */
static size_t frames_of(const struct process *proc, uint64_t at, uint64_t off)
{
	uint64_t main_off = fixture_file_off("deep", fixture_vaddr("deep", "main"));
	const struct resolved *r = resolve_one(
		symbolizer_want(sym, proc, at + main_off + off, FRAME_LEAF, 1, 2));

	assert_miss(r, MISS_NONE);
	assert_string_equal(r->frames[0].function, "f1");
	assert_int_equal(r->frames[0].line, 3);
	assert_string_equal(r->frames[r->nr_frames - 1].function, "main");
	return r->nr_frames;
}

static void start_small(bool is_shared)
{
	struct symbolizer_config config = {.max_addresses = 8 * (DEEP_FRAMES - 2),
					   .is_shared = is_shared};

	symbolizer_free(take_ptr(sym));
	assert_int_equal(symbolizer_new(&config, pool, worker, NULL, &sym, NULL), 0);
}

static void on_middle_refused(void *ctx, const struct quota *q, struct tenant who,
			      uint64_t nr_refused)
{
	uint64_t *nr = ctx;

	assert_string_equal(q->what, "frames of inlined functions");
	nr[who.uid] += nr_refused;
}

/* A tenant has a quarter of the frames between the innermost and the outermost one. */
static void test_a_tenant_leaves_inlined_frames_to_others(void **state)
{
	struct process users[3];
	uint64_t nr_refused[3] = {0};
	struct target_file *file;

	(void)state;
	start_small(true);
	for (uint32_t i = 0; i < 3; i++) {
		users[i] = new_process(i);
		users[i].tenant.uid = i;
		file = open_file("deep", "/deep");
		file->payers = payers_of_one(users[i].tenant);
		map_at(&users[i], MAPPING_FILE, file, BASE, 0);
	}
	assert_int_equal(frames_of(&users[1], BASE, 0), DEEP_FRAMES);
	assert_int_equal(frames_of(&users[1], BASE, 1), DEEP_FRAMES);
	assert_int_equal(frames_of(&users[1], BASE, 2), 2);
	assert_int_equal(frames_of(&users[1], BASE, 0), DEEP_FRAMES);
	assert_int_equal(frames_of(&users[2], BASE, 0), DEEP_FRAMES);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(frames_of(&users[0], BASE, i), DEEP_FRAMES);
	symbolizer_each_refused(sym, on_middle_refused, nr_refused);
	assert_int_equal(nr_refused[1], DEEP_FRAMES - 2);
	assert_int_equal(nr_refused[0] + nr_refused[2], 0);
	for (uint32_t i = 0; i < 3; i++)
		maps_deinit(&users[i].maps);
}

/* Each name of a file has its own entry for an address, whose frames count. */
static void test_inlined_frames_of_each_name(void **state)
{
	struct process proc = new_process(0);
	struct target_file *file = open_file("deep", "/deep");
	uint64_t main_off = fixture_file_off("deep", fixture_vaddr("deep", "main"));
	char path[] = "/0";

	(void)state;
	start_small(true);
	proc.tenant.uid = 1;
	file->payers = payers_of_one(proc.tenant);
	for (uint64_t i = 0; i < 3; i++, path[1]++) {
		map_as(&proc, MAPPING_FILE, file, BASE + i * 0x100000, 0, path);
		symbolizer_want(sym, &proc, BASE + i * 0x100000 + main_off, FRAME_LEAF, 1,
				2);
	}
	assert_int_equal(frames_of(&proc, BASE, 0), 2);
	assert_int_equal(frames_of(&proc, BASE + 0x200000, 0), 2);
	maps_deinit(&proc.maps);
}

/* Whoever maps them: all addresses together have as many as there may be addresses. */
static void test_inlined_frames_of_all(void **state)
{
	struct process procs[3];

	(void)state;
	start_small(false);
	for (uint32_t i = 0; i < 3; i++) {
		procs[i] = new_process(i);
		map_at(&procs[i], MAPPING_FILE, open_file("deep", "/deep"), BASE, 0);
	}
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(frames_of(&procs[i / 3], BASE, i % 3), DEEP_FRAMES);
	assert_int_equal(frames_of(&procs[2], BASE, 2), 2);
	for (uint32_t i = 0; i < 3; i++)
		maps_deinit(&procs[i].maps);
}

/* If the symbolizer is freed during a request, others get a new child. */
static void test_end_while_it_resolves(void **state)
{
	struct process proc = new_process(0);
	struct target_file *file = open_file("prog", "/opt/prog");
	uint64_t ip = ip_of(BASE, fixture_vaddr("prog", "fn"));
	struct symbolizer_config config = {0};
	uint32_t id;

	(void)state;
	map_at(&proc, MAPPING_FILE, file, BASE, 0);
	symbolizer_want(sym, &proc, ip, FRAME_LEAF, 1, 2);
	begin_to_resolve();
	symbolizer_free(take_ptr(sym));
	assert_int_equal(symbolizer_new(&config, pool, worker, NULL, &sym, NULL), 0);
	id = symbolizer_want(sym, &proc, ip, FRAME_LEAF, 1, 2);
	assert_string_equal(function_of(resolve_one(id)), "fn");
	maps_deinit(&proc.maps);
}

static void test_lines_of_a_file(void **state)
{
	struct process proc = new_process(0);
	struct target_file *file = open_file("prog", "/opt/prog");
	uint64_t vaddr = fixture_vaddr("prog", "fn");
	const struct resolved *r;

	(void)state;
	map_at(&proc, MAPPING_FILE, file, BASE, 0);
	r = resolve_one(
		symbolizer_want(sym, &proc, ip_of(BASE, vaddr), FRAME_LEAF, 1, 2));
	assert_miss(r, MISS_NONE);
	assert_int_equal(r->nr_frames, 1);
	assert_string_equal(function_of(r), "fn");
	assert_int_equal(r->frames[0].start_line, 3);
	assert_ptr_equal(r->process, &proc);
	assert_int_equal(r->address, vaddr);
	assert_int_equal(r->object->kind, OBJECT_FILE);
	assert_string_equal(r->object->name, "/opt/prog");
	assert_int_equal(r->object->build_id_len, 20);
	assert_true(vaddr >= r->object->start && vaddr < r->object->limit);
	assert_int_equal(vaddr - r->object->start + r->object->file_off,
			 fixture_file_off("prog", vaddr));
	maps_deinit(&proc.maps);
}

/* fatal() ends in a call: its return address is the next function's first byte. */
static void test_return_addresses(void **state)
{
	struct process proc = new_process(0);
	char line[64];
	uint64_t end;
	const struct resolved *back, *leaf;
	uint32_t back_id, leaf_id;

	(void)state;
	map_at(&proc, MAPPING_FILE, open_file("prog", "/opt/prog"), BASE, 0);
	fixture_line(line, sizeof(line), "nm -S prog | awk '$4 == \"fatal\" {print $2}'");
	end = fixture_vaddr("prog", "fatal") + strtoull(line, NULL, 16);
	back_id = symbolizer_want(sym, &proc, ip_of(BASE, end), FRAME_RETURN, 1, 2);
	leaf_id = symbolizer_want(sym, &proc, ip_of(BASE, end), FRAME_LEAF, 1, 2);
	assert_int_not_equal(back_id, leaf_id);
	back = resolve_one(back_id);
	leaf = symbolizer_get(sym, leaf_id);
	assert_string_equal(function_of(back), "fatal");
	assert_int_equal(back->frames[0].line, 10);
	assert_int_equal(back->address, end);
	assert_int_equal(leaf->address, end);
	assert_true(!leaf->nr_frames || strcmp(leaf->frames[0].function, "fatal"));
	maps_deinit(&proc.maps);
}

static void test_one_entry_whatever_the_process(void **state)
{
	struct process a = new_process(0), b = new_process(1);
	struct target_file *file = open_file("prog", "/opt/prog");
	struct target_file *copy = open_file("prog", "/opt/copy");
	uint64_t vaddr = fixture_vaddr("prog", "fn");
	uint32_t id;

	(void)state;
	map_at(&a, MAPPING_FILE, file, BASE, 0);
	map_at(&b, MAPPING_FILE, file, 2 * BASE, 0);
	map_at(&b, MAPPING_FILE, copy, BASE, 0);
	id = symbolizer_want(sym, &a, ip_of(BASE, vaddr), FRAME_LEAF, 1, 2);
	assert_int_equal(symbolizer_want(sym, &a, ip_of(BASE, vaddr), FRAME_LEAF, 7, 9),
			 id);
	assert_int_equal(
		symbolizer_want(sym, &b, ip_of(2 * BASE, vaddr), FRAME_LEAF, 1, 2), id);
	assert_int_not_equal(
		symbolizer_want(sym, &b, ip_of(BASE, vaddr), FRAME_LEAF, 1, 2), id);
	assert_int_not_equal(
		symbolizer_want(sym, &a, ip_of(BASE, vaddr) + 1, FRAME_LEAF, 1, 2), id);
	maps_deinit(&a.maps);
	maps_deinit(&b.maps);
}

static void test_later_wants_leave_earlier_ones_alone(void **state)
{
	struct process proc = new_process(0);
	uint64_t fn = fixture_vaddr("prog", "fn");
	const struct resolved *first;
	struct symbolizer_stats stats;
	struct resolved before;
	uint32_t id;

	(void)state;
	map_at(&proc, MAPPING_FILE, open_file("prog", "/opt/prog"), BASE, 0);
	id = symbolizer_want(sym, &proc, ip_of(BASE, fn), FRAME_LEAF, 1, 2);
	first = resolve_one(id);
	before = *first;
	for (uint64_t i = 0; i < 10000; i++)
		symbolizer_want(sym, &proc, BASE + i, FRAME_LEAF, 1, 2);
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	assert_ptr_equal(symbolizer_get(sym, id), first);
	assert_memory_equal(first, &before, sizeof(before));
	assert_string_equal(function_of(first), "fn");
	symbolizer_stats(sym, &stats);
	assert_int_equal(stats.nr_addresses,
			 10000 + (fixture_file_off("prog", fn) >= 10000));
	maps_deinit(&proc.maps);
}

static uint32_t want_in_prog(const struct process *proc, const char *function,
			     uint64_t offset)
{
	uint64_t vaddr = fixture_vaddr("prog", function) + offset;

	return symbolizer_want(sym, proc, ip_of(BASE, vaddr), FRAME_LEAF, 1, 2);
}

static void test_code_of_hot_functions(void **state)
{
	struct process proc = new_process(0);
	const struct resolved_code *codes;
	uint32_t other, last;
	size_t nr;

	(void)state;
	map_at(&proc, MAPPING_FILE, open_file("prog", "/opt/prog"), BASE, 0);
	other = want_in_prog(&proc, "main", 0);
	symbolizer_want_code(sym, want_in_prog(&proc, "fn", 0));
	assert_string_equal(function_of(resolve_one(other)), "main");
	codes = symbolizer_codes(sym, &nr);
	assert_int_equal(nr, 1); /* the code of main was not requested */
	assert_int_equal(codes[0].code.address, fixture_vaddr("prog", "fn"));
	assert_ptr_equal(codes[0].object, symbolizer_get(sym, other)->object);
	assert_null(codes[0].code.bytes);
	assert_int_equal(codes[0].code.rows[0].address, codes[0].code.address);
	for (size_t i = 0; i < codes[0].code.nr_rows; i++) {
		const struct code_row *row = &codes[0].code.rows[i];

		assert_ptr_equal(row->frame.function, strpool_add(pool, "fn"));
		assert_int_equal(row->frame.start_line, 3);
		assert_in_range(row->frame.line, 4, 6);
	}
	/* The same code by another address, then one more; main comes too late. */
	symbolizer_want_code(sym, want_in_prog(&proc, "fn", 1));
	symbolizer_want_code(sym, other);
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	symbolizer_codes(sym, &nr);
	assert_int_equal(nr, 1);
	last = want_in_prog(&proc, "fatal", 0);
	symbolizer_want_code(sym, last);
	assert_string_equal(function_of(resolve_one(last)), "fatal");
	codes = symbolizer_codes(sym, &nr);
	assert_int_equal(nr, 2);
	assert_string_equal(codes[0].code.rows[0].frame.function, "fn");
	assert_string_equal(codes[1].code.rows[0].frame.function, "fatal");
	maps_deinit(&proc.maps);
}

/* Of the memory for code a tenant has a quarter. What is there already takes none. */
static void test_a_tenant_leaves_room_for_code(void **state)
{
	struct process alice = new_process(0), bob = new_process(1);
	struct target_file *hers = open_file("prog", "/home/alice/prog");
	struct target_file *his = open_file("prog", "/home/bob/prog");
	struct quota *quota = &sym->codes.quota;
	size_t nr;

	(void)state;
	alice.tenant.uid = 1000;
	bob.tenant.uid = 1001;
	hers->payers = payers_of_one(alice.tenant);
	his->payers = payers_of_one(bob.tenant);
	map_at(&alice, MAPPING_FILE, hers, BASE, 0);
	map_at(&bob, MAPPING_FILE, his, BASE, 0);
	symbolizer_want_code(sym, want_in_prog(&alice, "fn", 0));
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	*quota = (struct quota){.max = 8 * sym->codes.nr_bytes};
	quota_add(quota, alice.tenant, sym->codes.nr_bytes);
	symbolizer_want_code(sym, want_in_prog(&alice, "fn", 1));
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	assert_int_equal(quota->accounts[0].nr, sym->codes.nr_bytes);
	quota_add(quota, alice.tenant, sym->codes.nr_bytes);
	symbolizer_want_code(sym, want_in_prog(&alice, "fatal", 0));
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	symbolizer_codes(sym, &nr);
	assert_int_equal(nr, 1);
	symbolizer_want_code(sym, want_in_prog(&bob, "fn", 0));
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	symbolizer_codes(sym, &nr);
	assert_int_equal(nr, 2);
	maps_deinit(&alice.maps);
	maps_deinit(&bob.maps);
}

static const char *name_of(uint32_t id)
{
	return symbolizer_get(sym, id)->object->name;
}

/*
 * Alice has mounted Bob's program at a path of her own, and ran it first. For each of them
 * its code is in the file that he runs. It is decoded once.
 */
static void test_nobody_names_files_for_others(void **state)
{
	struct process alice = new_process(0), bob = new_process(1);
	struct target_file *file = open_file("prog", "/home/alice/vmlinux");
	const struct resolved *a, *b;
	size_t nr_codes;
	uint32_t hers, his, more;

	(void)state;
	alice.tenant.uid = 1000;
	bob.tenant.uid = 1001;
	map_at(&alice, MAPPING_FILE, file, BASE, 0);
	map_as(&bob, MAPPING_FILE, file, BASE, 0, "/opt/prog");
	hers = want_in_prog(&alice, "fn", 0);
	his = want_in_prog(&bob, "fn", 0);
	more = want_in_prog(&bob, "main", 0);
	symbolizer_want_code(sym, hers);
	symbolizer_want_code(sym, his);
	assert_int_not_equal(hers, his);
	assert_string_equal(function_of(resolve_one(hers)), "fn");
	assert_string_equal(function_of(symbolizer_get(sym, his)), "fn");
	assert_string_equal(function_of(symbolizer_get(sym, more)), "main");
	assert_string_equal(name_of(hers), "/home/alice/vmlinux");
	assert_string_equal(name_of(his), "/opt/prog");
	assert_ptr_equal(symbolizer_get(sym, more)->object,
			 symbolizer_get(sym, his)->object);
	a = symbolizer_get(sym, hers);
	b = symbolizer_get(sym, his);
	assert_ptr_equal(a->frames, b->frames);
	assert_int_equal(a->address, b->address);
	assert_ptr_equal(object_first(b->object), a->object);
	assert_ptr_equal(a->object->next, b->object);
	symbolizer_codes(sym, &nr_codes);
	assert_int_equal(nr_codes, 1);
	assert_int_equal(want_in_prog(&bob, "fn", 0), his);
	assert_int_equal(want_in_prog(&alice, "fn", 0), hers);
	maps_deinit(&alice.maps);
	maps_deinit(&bob.maps);
}

/* Alice has mounted a file at many paths: the first ones name it, and each address is asked for once. */
static void test_many_names_of_a_file(void **state)
{
	struct process alice = new_process(0), bob = new_process(1);
	struct target_file *file = open_file("prog", "/home/alice/0");
	uint32_t ids[100], his;
	char path[64];

	(void)state;
	alice.tenant.uid = 1000;
	bob.tenant.uid = 1001;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		snprintf(path, sizeof(path), "/home/alice/%zu", i);
		map_as(&alice, MAPPING_FILE, file, BASE, 0, path);
		ids[i] = want_in_prog(&alice, i % 2 ? "fn" : "main", 0);
		maps_deinit(&alice.maps);
	}
	map_as(&bob, MAPPING_FILE, file, BASE, 0, "/opt/prog");
	his = want_in_prog(&bob, "fn", 0);
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		size_t as = i < TABLE_MAX_NAMES ? i : 0;

		snprintf(path, sizeof(path), "/home/alice/%zu", as);
		assert_string_equal(name_of(ids[i]), path);
		assert_string_equal(function_of(symbolizer_get(sym, ids[i])),
				    i % 2 ? "fn" : "main");
		if (i >= TABLE_MAX_NAMES)
			assert_int_equal(ids[i], ids[i % 2 ? TABLE_MAX_NAMES + 1 : 0]);
		assert_ptr_equal(symbolizer_get(sym, ids[i])->frames,
				 symbolizer_get(sym, ids[i % 2])->frames);
	}
	assert_string_equal(name_of(his), "/opt/prog");
	assert_ptr_equal(symbolizer_get(sym, his)->frames,
			 symbolizer_get(sym, ids[1])->frames);
	maps_deinit(&bob.maps);
}

static void test_debug_file_in_our_root(void **state)
{
	struct process proc = new_process(0);
	uint64_t vaddr = fixture_vaddr("prog", "fn");
	const struct resolved *r;

	(void)state;
	map_at(&proc, MAPPING_FILE, open_file("stripped", "/opt/stripped"), BASE, 0);
	r = resolve_one(
		symbolizer_want(sym, &proc, ip_of(BASE, vaddr), FRAME_LEAF, 1, 2));
	assert_miss(r, MISS_NONE);
	assert_string_equal(function_of(r), "fn");
	maps_deinit(&proc.maps);
}

static void test_replaced_file(void **state)
{
	struct process proc = new_process(0);
	struct target_file *file = open_file("prog", "/opt/prog");
	const struct resolved *r;

	(void)state;
	memset(file->build_id, 0x55, sizeof(file->build_id));
	file->build_id_len = 20;
	map_at(&proc, MAPPING_FILE, file, BASE, 0);
	r = resolve_one(symbolizer_want(sym, &proc, BASE + 0x1234, FRAME_LEAF, 1, 2));
	assert_miss(r, MISS_FILE_REPLACED);
	assert_int_equal(r->nr_frames, 0);
	assert_int_equal(r->address, 0x1234);
	/* The build id of the file that ran, not of the one that is there now. */
	assert_memory_equal(r->object->build_id, file->build_id, 20);
	maps_deinit(&proc.maps);
}

static void test_files_that_are_not_there(void **state)
{
	static const struct {
		int open_errno;
		enum miss miss;
	} cases[] = {{ENOENT, MISS_FILE_GONE},
		     {EACCES, MISS_FILE_GONE},
		     {ETIMEDOUT, MISS_FILE_LATE},
		     {ESTALE, MISS_FILE_REPLACED},
		     {EMFILE, MISS_TOO_MANY_FILES}};
	struct process proc = new_process(0);
	const struct resolved *r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct target_file *file = open_file(NULL, "/gone");
		uint64_t at = BASE + i * 0x1000000;

		file->open_errno = cases[i].open_errno;
		map_at(&proc, MAPPING_FILE, file, at, 0);
		r = resolve_one(
			symbolizer_want(sym, &proc, at + 0x1234, FRAME_RETURN, 1, 2));
		assert_miss(r, cases[i].miss);
		assert_string_equal(r->object->name, "/gone");
		assert_int_equal(r->address, 0x1234);
	}
	/* It is not opened yet. */
	map_at(&proc, MAPPING_FILE, NULL, BASE + 0x9000000, 0);
	r = resolve_one(symbolizer_want(sym, &proc, BASE + 0x9000000, FRAME_LEAF, 1, 2));
	assert_miss(r, MISS_FILE_LATE);
	maps_deinit(&proc.maps);
}

static void test_not_elf(void **state)
{
	struct process proc = new_process(0);
	const struct resolved *r;

	(void)state;
	map_at(&proc, MAPPING_FILE, open_file("prog.c", "/opt/prog.c"), BASE, 0);
	r = resolve_one(symbolizer_want(sym, &proc, BASE + 5, FRAME_LEAF, 1, 2));
	assert_miss(r, MISS_BAD_FILE);
	assert_string_equal(r->object->name, "/opt/prog.c");
	maps_deinit(&proc.maps);
}

/* ---- addresses without a file ---- */

static void test_nothing_known(void **state)
{
	struct process proc = new_process(0);
	struct target_file *file = open_file("prog", "/opt/prog");
	uint32_t no_process, no_mapping, ambiguous;

	(void)state;
	map_at(&proc, MAPPING_FILE, file, BASE, 0);
	map_at(&proc, MAPPING_ANON, NULL, BASE, 100);
	symbolizer_begin_stack(sym);
	no_process = symbolizer_want(sym, NULL, 0x1234, FRAME_RETURN, 1, 2);
	no_mapping = symbolizer_want(sym, &proc, 0x1234, FRAME_RETURN, 1, 2);
	ambiguous = symbolizer_want(sym, &proc, BASE, FRAME_LEAF, 50, 150);
	assert_int_not_equal(no_process, no_mapping);
	assert_miss(resolve_one(no_process), MISS_NO_PROCESS);
	assert_miss(symbolizer_get(sym, no_mapping), MISS_NO_MAPPING);
	assert_miss(symbolizer_get(sym, ambiguous), MISS_AMBIGUOUS_TIME);
	assert_int_equal(symbolizer_get(sym, no_process)->address, 0x1234);
	assert_int_equal(symbolizer_get(sym, no_process)->object->kind, OBJECT_UNKNOWN);
	assert_string_equal(symbolizer_get(sym, no_mapping)->object->name, "[unknown]");
	assert_miss(resolve_one(symbolizer_want(sym, &proc, 0, FRAME_RETURN, 1, 2)),
		    MISS_NO_MAPPING);
	maps_deinit(&proc.maps);
}

static void test_vdso(void **state)
{
	struct process proc = new_process(0);
	uint64_t at = getauxval(AT_SYSINFO_EHDR), end = 0;
	void *library = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *function = library ? dlsym(library, "__vdso_clock_gettime") : NULL;
	struct mapping m = {.kind = MAPPING_VDSO, .until_ns = UINT64_MAX};
	const struct resolved *r;
	char line[128];

	(void)state;
	if (!function) {
		print_message("skipped: no __vdso_clock_gettime\n");
		skip();
	}
	snprintf(line, sizeof(line),
		 "sed -n 's/^%lx-\\([0-9a-f]*\\) .*/\\1/p' /proc/%d/maps",
		 (unsigned long)at, (int)getpid());
	end = strtoull(fixture_line(line, sizeof(line), "%s", line), NULL, 16);
	m.path = strpool_add(pool, "[vdso]");
	m.start = at;
	m.end = end;
	assert_int_equal(maps_add(&proc.maps, &m), 0);
	/* Another size: a 32-bit process has another vdso. */
	m.start = BASE;
	m.end = BASE + (end - at) * 2;
	assert_int_equal(maps_add(&proc.maps, &m), 0);
	r = resolve_one(
		symbolizer_want(sym, &proc, (uint64_t)function, FRAME_LEAF, 1, 2));
	assert_int_equal(r->object->kind, OBJECT_VDSO);
	assert_string_equal(r->object->name, "[vdso]");
	assert_int_equal(r->nr_frames, 1);
	assert_non_null(strstr(r->frames[0].function, "clock_gettime"));
	r = resolve_one(symbolizer_want(sym, &proc, BASE + 0x800, FRAME_LEAF, 1, 2));
	assert_miss(r, MISS_NO_SYMBOLS);
	assert_int_equal(r->object->kind, OBJECT_VDSO);
	dlclose(library);
	maps_deinit(&proc.maps);
}

static void test_memfd(void **state)
{
	struct process proc = new_process(0);
	uint64_t vaddr = fixture_vaddr("prog", "fn");
	const struct resolved *r;

	(void)state;
	map_at(&proc, MAPPING_MEMFD, open_file("prog", "/memfd:x"), BASE, 0);
	map_at(&proc, MAPPING_MEMFD, open_file("prog.c", "/memfd:doublemapper"), JIT_CODE,
	       0);
	map_at(&proc, MAPPING_MEMFD, NULL, JIT_CODE * 2, 0);
	r = resolve_one(
		symbolizer_want(sym, &proc, ip_of(BASE, vaddr), FRAME_LEAF, 1, 2));
	assert_string_equal(function_of(r), "fn");
	r = resolve_one(symbolizer_want(sym, &proc, JIT_CODE, FRAME_LEAF, 1, 2));
	assert_int_equal(r->object->kind, OBJECT_JIT);
	assert_miss(r, MISS_JIT_UNKNOWN);
	r = resolve_one(symbolizer_want(sym, &proc, JIT_CODE * 2, FRAME_LEAF, 1, 2));
	assert_int_equal(r->object->kind, OBJECT_JIT);
	maps_deinit(&proc.maps);
}

/* ---- generated code ---- */

static void put(FILE *f, uint64_t value, size_t size)
{
	assert_int_equal(fwrite(&value, size, 1, f), 1);
}

/* A jitdump with one function, see linux/tools/perf/Documentation/jitdump-*.txt. */
static void write_jitdump(const char *path, uint64_t at, const char *name)
{
	FILE *f = fopen(path, "w");
	size_t name_len = strlen(name) + 1;

	assert_non_null(f);
	put(f, 0x4a695444, 4); /* magic */
	put(f, 1, 4);
	put(f, 40, 4); /* header's size */
	put(f, 62, 4); /* EM_X86_64 */
	put(f, 0, 4);
	put(f, 100, 4); /* pid */
	put(f, 0, 8);
	put(f, 0, 8);
	put(f, 0, 4); /* JIT_CODE_LOAD */
	put(f, 16 + 40 + name_len + 16, 4);
	put(f, 1, 8); /* time */
	put(f, 100, 4);
	put(f, 100, 4);
	put(f, at, 8);
	put(f, at, 8);
	put(f, 16, 8); /* bytes of code */
	put(f, 0, 8);
	assert_int_equal(fwrite(name, name_len, 1, f), 1);
	put(f, 0, 8);
	put(f, 0, 8);
	assert_int_equal(fclose(f), 0);
}

static struct jit_file open_jit_file(const char *path)
{
	struct jit_file file = {.fd = open(path, O_RDONLY | O_CLOEXEC), .path = path};

	assert_true(file.fd >= 0);
	return file;
}

static void test_jitdump_before_perf_map(void **state)
{
	struct process proc = new_process(0);
	uint32_t both, map_only, none;

	(void)state;
	write_jitdump("jit.dump", JIT_CODE, "dumped");
	fixture_write("perf.map", "7f0000000000 10 mapped\n7f0000000100 10 other\n");
	proc.jitdump = open_jit_file("jit.dump");
	proc.perf_map = open_jit_file("perf.map");
	map_at(&proc, MAPPING_ANON, NULL, JIT_CODE, 0);
	both = symbolizer_want(sym, &proc, JIT_CODE + 4, FRAME_LEAF, 1000, 2000);
	map_only =
		symbolizer_want(sym, &proc, JIT_CODE + 0x104, FRAME_RETURN, 1000, 2000);
	none = symbolizer_want(sym, &proc, JIT_CODE + 0x504, FRAME_LEAF, 1000, 2000);
	assert_string_equal(function_of(resolve_one(both)), "dumped");
	assert_string_equal(function_of(symbolizer_get(sym, map_only)), "other");
	assert_int_equal(symbolizer_get(sym, map_only)->address, JIT_CODE + 0x104);
	assert_miss(symbolizer_get(sym, map_only), MISS_JIT_NO_LINES);
	assert_miss(symbolizer_get(sym, none), MISS_JIT_UNKNOWN);
	assert_int_equal(symbolizer_get(sym, none)->object->kind, OBJECT_JIT);
	close(proc.jitdump.fd);
	close(proc.perf_map.fd);
	maps_deinit(&proc.maps);
}

static void test_jit_code_is_of_one_process_and_time(void **state)
{
	struct process a = new_process(0), b = new_process(1);
	uint32_t id;

	(void)state;
	map_at(&a, MAPPING_ANON, NULL, JIT_CODE, 0);
	map_at(&b, MAPPING_ANON, NULL, JIT_CODE, 0);
	id = symbolizer_want(sym, &a, JIT_CODE, FRAME_LEAF, 10, 20);
	assert_int_equal(symbolizer_want(sym, &a, JIT_CODE, FRAME_LEAF, 10, 20), id);
	assert_int_not_equal(symbolizer_want(sym, &b, JIT_CODE, FRAME_LEAF, 10, 20), id);
	assert_int_not_equal(symbolizer_want(sym, &a, JIT_CODE, FRAME_LEAF, 10, 21), id);
	assert_int_not_equal(symbolizer_want(sym, &a, JIT_CODE, FRAME_LEAF, 11, 20), id);
	maps_deinit(&a.maps);
	maps_deinit(&b.maps);
}

static void test_refused_jit_file(void **state)
{
	struct process proc = new_process(0);

	(void)state;
	proc.perf_map.open_errno = EPERM;
	map_at(&proc, MAPPING_ANON, NULL, JIT_CODE, 0);
	assert_miss(resolve_one(symbolizer_want(sym, &proc, JIT_CODE, FRAME_LEAF, 1, 2)),
		    MISS_JIT_FILE_REFUSED);
	proc.perf_map.open_errno = EMFILE;
	assert_miss(resolve_one(symbolizer_want(sym, &proc, JIT_CODE, FRAME_LEAF, 1, 3)),
		    MISS_TOO_MANY_FILES);
	proc.perf_map.open_errno = EBUSY;
	assert_miss(resolve_one(symbolizer_want(sym, &proc, JIT_CODE, FRAME_LEAF, 1, 5)),
		    MISS_FILE_LATE);
	/* The user is unknown, so no file was searched. */
	proc.perf_map.open_errno = ESRCH;
	assert_miss(resolve_one(symbolizer_want(sym, &proc, JIT_CODE, FRAME_LEAF, 1, 4)),
		    MISS_NO_PROCESS);
	maps_deinit(&proc.maps);
}

/* ---- ahead ---- */

static bool is_wanted_ahead(const struct process *proc, uint64_t ip)
{
	struct symbolizer_stats before, after;

	symbolizer_stats(sym, &before);
	symbolizer_want_ahead(sym, proc, ip, FRAME_LEAF, 2, 3);
	symbolizer_stats(sym, &after);
	return after.nr_addresses > before.nr_addresses;
}

static bool is_kernel_wanted_ahead(uint64_t ip)
{
	struct symbolizer_stats before, after;

	symbolizer_stats(sym, &before);
	symbolizer_want_kernel_ahead(sym, ip, FRAME_LEAF, 2, 3);
	symbolizer_stats(sym, &after);
	return after.nr_addresses > before.nr_addresses;
}

/* What may get a better name later is not named ahead. */
static void test_only_final_names_ahead(void **state)
{
	const uint64_t generated = 0xffffffffc0b10000;
	const struct task_event ev = {.kind = TASK_EVENT_KERNEL_CODE,
				      .start = generated,
				      .end = generated + 0x100};
	struct process proc = new_process(1);
	uint64_t fn = ip_of(BASE, fixture_vaddr("prog", "fn"));
	uint32_t id;

	(void)state;
	map_at(&proc, MAPPING_FILE, open_file("prog", "/bin/prog"), BASE, 1);
	map_at(&proc, MAPPING_FILE, open_file(NULL, "/bin/gone"), 2 * BASE, 1);
	map_at(&proc, MAPPING_ANON, NULL, JIT_CODE, 1);
	assert_false(is_wanted_ahead(NULL, fn));
	assert_false(is_wanted_ahead(&proc, JIT_CODE));
	assert_false(is_wanted_ahead(&proc, 2 * BASE));
	assert_false(is_wanted_ahead(&proc, 5 * BASE));
	/* A code object that is not known yet. */
	assert_false(is_wanted_ahead(&proc, LB_FRAME_OF(RUNTIME_PYTHON, 1, 0)));
	assert_true(is_wanted_ahead(&proc, fn));
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	/* The same entry as later. */
	id = symbolizer_want(sym, &proc, fn, FRAME_LEAF, 2, 9);
	assert_string_equal(function_of(symbolizer_get(sym, id)), "fn");

	kernel_code_event(&kernel_code, &ev);
	assert_true(is_kernel_wanted_ahead(0xffffffff81000100));
	assert_false(is_kernel_wanted_ahead(generated));
	kernel_code_deinit(&kernel_code);
	maps_deinit(&proc.maps);
}

/* ---- the kernel ---- */

static void test_kernel(void **state)
{
	uint32_t leaf = symbolizer_want_kernel(sym, 0xffffffff81000100, FRAME_LEAF, 1, 2);
	uint32_t back =
		symbolizer_want_kernel(sym, 0xffffffff81000100, FRAME_RETURN, 1, 2);
	uint32_t mod = symbolizer_want_kernel(sym, 0xffffffffc0a4e010, FRAME_LEAF, 1, 2);
	uint32_t none = symbolizer_want_kernel(sym, 0xffffffff00000000, FRAME_LEAF, 1, 2);
	const struct resolved *r = resolve_one(leaf);

	(void)state;
	assert_int_equal(
		symbolizer_want_kernel(sym, 0xffffffff81000100, FRAME_LEAF, 1, 2), leaf);
	assert_miss(r, MISS_KERNEL);
	assert_string_equal(function_of(r), "second_fn");
	assert_string_equal(r->object->name, "[kernel.kallsyms]");
	assert_int_equal(r->object->kind, OBJECT_KERNEL);
	assert_null(r->process);
	r = symbolizer_get(sym, back);
	assert_string_equal(function_of(r), "first_fn");
	assert_int_equal(r->address, 0xffffffff81000100);
	r = symbolizer_get(sym, mod);
	assert_string_equal(function_of(r), "mod_fn");
	assert_string_equal(r->object->name, "[kernel.kallsyms]/some_mod");
	r = symbolizer_get(sym, none);
	assert_miss(r, MISS_KERNEL);
	assert_int_equal(r->nr_frames, 0);
}

static void tell_code(enum task_event_kind kind, uint64_t time_ns, uint64_t start,
		      const char *name)
{
	const struct task_event ev = {.kind = kind,
				      .time_ns = time_ns,
				      .start = start,
				      .end = start + 0x100,
				      .name = name};

	kernel_code_event(&kernel_code, &ev);
}

static uint32_t want_at(uint64_t ip, uint64_t first_ns, uint64_t last_ns)
{
	return symbolizer_want_kernel(sym, ip, FRAME_LEAF, first_ns, last_ns);
}

/* One address, which belongs to different programs at different times. */
static void test_generated_kernel_code(void **state)
{
	const uint64_t ip = 0xffffffffc0b10010, second = 100, third = 5000000000;
	const struct resolved *r;
	uint32_t ids[5];

	(void)state;
	tell_code(TASK_EVENT_KERNEL_CODE, 0, 0xffffffffc0b00000, NULL);
	tell_code(TASK_EVENT_KERNEL_CODE_END, second - 50, ip - 0x10, "bpf_prog_2_first");
	tell_code(TASK_EVENT_KERNEL_CODE, second, ip - 0x10, "bpf_prog_3_second");
	tell_code(TASK_EVENT_KERNEL_CODE, third, ip - 0x10, "ftrace_trampoline");
	ids[0] = want_at(ip, 10, 20);
	ids[1] = want_at(ip, second, second + 10);
	ids[2] = want_at(ip, third + 1, third + 2);
	ids[3] = want_at(ip, second, third + 1);
	ids[4] = want_at(0xffffffffc0b00010, 1, third);
	assert_int_equal(want_at(ip, second + 3, second + 4), ids[1]);
	r = resolve_one(ids[0]);
	assert_string_equal(function_of(r), "bpf_prog_2_first");
	assert_string_equal(r->object->name, "[kernel.kallsyms]/bpf");
	assert_string_equal(function_of(symbolizer_get(sym, ids[1])),
			    "bpf_prog_3_second");
	r = symbolizer_get(sym, ids[2]);
	assert_string_equal(function_of(r), "ftrace_trampoline");
	assert_string_equal(r->object->name, "[kernel.kallsyms]");
	assert_miss(symbolizer_get(sym, ids[3]), MISS_KERNEL);
	assert_int_equal(symbolizer_get(sym, ids[3])->nr_frames, 0);
	assert_string_equal(function_of(symbolizer_get(sym, ids[4])),
			    "bpf_prog_1_listed");
	/* After the end of the listed one, and beside it, there is code of which nothing is known, as a socket filter is. */
	r = resolve_one(want_at(0xffffffffc0b00100, 1, 2));
	assert_miss(r, MISS_KERNEL);
	assert_int_equal(r->nr_frames, 0);
	tell_code(TASK_EVENT_KERNEL_CODE_END, third, 0xffffffffc0b00000,
		  "bpf_prog_1_listed");
	r = resolve_one(want_at(0xffffffffc0b00010, 2 * third, 2 * third + 1));
	assert_miss(r, MISS_KERNEL);
	assert_int_equal(r->nr_frames, 0);
	kernel_code_deinit(&kernel_code);
}

/* A listed program without a name ends with the loss of events: another may be there. */
static void test_listed_before_a_loss(void **state)
{
	const uint64_t ip = 0xffffffffc0b00000;

	(void)state;
	tell_code(TASK_EVENT_KERNEL_CODE, 0, ip, NULL);
	tell_code(TASK_EVENT_LOST, 50, 0, NULL);
	tell_code(TASK_EVENT_KERNEL_CODE, 0, ip, NULL);
	kernel_code_is_listed(&kernel_code);
	assert_int_equal(resolve_one(want_at(ip, 1, 2))->nr_frames, 0);
	assert_string_equal(function_of(resolve_one(want_at(ip, 60, 70))),
			    "bpf_prog_1_listed");
	kernel_code_deinit(&kernel_code);
}

/* After events were lost, programs are listed again, and their symbols are read anew. */
static void test_listed_again(void **state)
{
	const uint64_t ip = 0xffffffffc0b20000;

	(void)state;
	assert_int_equal(resolve_one(want_at(ip, 1, 2))->nr_frames, 0);
	fixture_write("kallsyms", "ffffffffc0b20000 t bpf_prog_4_new\t[bpf]\n");
	tell_code(TASK_EVENT_LOST, 50, 0, NULL);
	tell_code(TASK_EVENT_KERNEL_CODE, 0, ip, NULL);
	kernel_code_is_listed(&kernel_code);
	assert_string_equal(function_of(resolve_one(want_at(ip, 60, 70))),
			    "bpf_prog_4_new");
	fixture_write("kallsyms", kallsyms);
	kernel_code_deinit(&kernel_code);
}

/* A module is loaded after the symbols were read: they are read anew. */
static void test_modules_that_come_later(void **state)
{
	const uint64_t ip = 0xffffffffc0d00000;

	(void)state;
	assert_int_equal(resolve_one(want_at(ip, 1, 2))->nr_frames, 0);
	fixture_write("kallsyms", "ffffffffc0d00000 t later_fn\t[later_mod]\n");
	/* The number of its users does not matter. */
	fixture_write("modules", "some_mod 4096 7 - Live 0xffffffffc0a4e000\n");
	assert_int_equal(resolve_one(want_at(ip + 1, 1, 2))->nr_frames, 0);
	fixture_write("modules", "some_mod 4096 0 - Live 0xffffffffc0a4e000\n"
				 "later_mod 4096 0 - Live 0xffffffffc0d00000\n");
	assert_string_equal(function_of(resolve_one(want_at(ip + 2, 1, 2))), "later_fn");
	fixture_write("kallsyms", kallsyms);
	fixture_write("modules", "some_mod 4096 0 - Live 0xffffffffc0a4e000\n");
}

/* An address has the name of the module that is there now. */
static void test_a_module_that_is_replaced(void **state)
{
	const uint64_t ip = 0xffffffffc0a4e000;

	(void)state;
	fixture_write("modules", "some_mod 4096 0 - Live 0xffffffffc0a4e000\n");
	assert_string_equal(function_of(resolve_one(want_at(ip, 1, 2))), "mod_fn");
	fixture_write("kallsyms", "ffffffffc0a4e000 t other_fn\t[some_mod]\n");
	fixture_write("modules", "some_mod 8192 0 - Live 0xffffffffc0a4e000 (OE)\n");
	/* A sample of before, whose name is known, and one of now. */
	assert_string_equal(function_of(resolve_one(want_at(ip, 1, 2))), "mod_fn");
	assert_string_equal(
		function_of(resolve_one(want_at(ip, clock_now_ns(), clock_now_ns()))),
		"other_fn");
	assert_string_equal(function_of(resolve_one(want_at(ip, 1, 2))), "mod_fn");
	fixture_write("kallsyms", kallsyms);
	fixture_write("modules", "some_mod 4096 0 - Live 0xffffffffc0a4e000\n");
}

static void test_hidden_kernel(void **state)
{
	(void)state;
	assert_int_equal(restart_with("kallsyms.hidden", 0, 0), 0);
	assert_miss(resolve_one(symbolizer_want_kernel(sym, 0xffffffff81000100,
						       FRAME_LEAF, 1, 2)),
		    MISS_KERNEL_HIDDEN);
}

/* ---- a real process ---- */

/* start_boottime in the precision of /proc: field 22 of stat, in ticks. */
static uint64_t start_boottime_ns(pid_t pid)
{
	char line[64];

	fixture_line(line, sizeof(line), "awk '{print $22}' /proc/%d/stat", (int)pid);
	return strtoull(line, NULL, 10) * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Starts the sleeper program, which prints the address of its main(). */
static pid_t start_sleeper(uint64_t *ret_main_ip)
{
	int out[2];
	char text[64] = "";
	ssize_t len;
	pid_t pid;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		execl("./sleeper", "sleeper", NULL);
		_exit(127);
	}
	close(out[1]);
	len = read(out[0], text, sizeof(text) - 1);
	assert_true(len > 0);
	close(out[0]);
	*ret_main_ip = strtoull(text, NULL, 16);
	return pid;
}

/* Its debug file is beside it in its root. The program is deleted, then it exits. */
static void test_real_process(void **state)
{
	struct process_table_config config = {.proc_path = "/proc"};
	_cleanup_(process_table_freep) struct process_table *table = NULL;
	const struct resolved *r;
	const struct process *proc;
	struct timespec ts;
	uint64_t ip, now;
	struct lb_image image = {0};
	uint32_t tgid, id;
	pid_t pid;

	(void)state;
	pid = start_sleeper(&ip);
	tgid = (uint32_t)pid;
	assert_int_equal(process_table_new(&config, pool, &table, NULL), 0);
	assert_int_equal(process_table_scan(table, &tgid, 1, NULL), 0);
	assert_int_equal(unlink("sleeper"), 0);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	image.start_boottime_ns = start_boottime_ns(pid);
	image.tgid = tgid;
	proc = process_table_first_sample(table, &image, now);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_non_null(proc);
	id = symbolizer_want(sym, proc, ip, FRAME_LEAF, now, now);
	r = resolve_one(id);
	if (geteuid() != 0 && r->miss == MISS_FILE_GONE) {
		print_message("skipped: a deleted file is opened by root only\n");
		symbolizer_free(sym);
		sym = NULL;
		skip();
	}
	assert_miss(r, MISS_NONE);
	assert_string_equal(function_of(r), "main");
	assert_int_equal(r->frames[0].line, 4);
	assert_non_null(strstr(r->object->name, "/sleeper"));
	/* the table is freed first; nothing below may use it */
	symbolizer_free(sym);
	sym = NULL;
}

/* ---- limits and failures ---- */

static void test_limit(void **state)
{
	struct symbolizer_stats stats;
	uint32_t id = 0;

	(void)state;
	assert_int_equal(restart_with("kallsyms", 10, 0), 0);
	for (uint64_t i = 0; i < 10; i++)
		id = symbolizer_want_kernel(sym, 0xffffffff81000000 + i, FRAME_LEAF, 1,
					    2);
	assert_string_equal(function_of(resolve_one(id)), "first_fn");
	for (uint64_t i = 10; i < 15; i++)
		id = symbolizer_want_kernel(sym, 0xffffffff81000000 + i, FRAME_LEAF, 1,
					    2);
	assert_miss(resolve_one(id), MISS_LIMIT);
	assert_int_equal(symbolizer_get(sym, id)->nr_frames, 0);
	assert_non_null(symbolizer_get(sym, id)->object);
	symbolizer_stats(sym, &stats);
	assert_int_equal(stats.nr_addresses, 10);
	assert_int_equal(stats.nr_over_limit, 5);
}

static void test_decoder_that_dies(void **state)
{
	struct process proc = new_process(0);
	uint64_t vaddr = fixture_vaddr("prog", "fn");
	uint32_t lines, all, hangs, good;

	(void)state;
	assert_int_equal(restart_with("kallsyms", 0, 500), 0);
	map_at(&proc, MAPPING_FILE, open_file("prog.100001", "/a"), BASE, 0);
	map_at(&proc, MAPPING_FILE, open_file("prog.100003", "/b"), 2 * BASE, 0);
	map_at(&proc, MAPPING_FILE, open_file("prog.100007", "/c"), JIT_CODE, 0);
	map_at(&proc, MAPPING_FILE, open_file("prog", "/d"), JIT_CODE / 2, 0);
	lines = symbolizer_want(sym, &proc, ip_of(BASE, vaddr), FRAME_LEAF, 1, 2);
	all = symbolizer_want(sym, &proc, ip_of(2 * BASE, vaddr), FRAME_LEAF, 1, 2);
	hangs = symbolizer_want(sym, &proc, ip_of(JIT_CODE, vaddr), FRAME_LEAF, 1, 2);
	good = symbolizer_want(sym, &proc, ip_of(JIT_CODE / 2, vaddr), FRAME_LEAF, 1, 2);
	/* the name is still found without lines */
	assert_miss(resolve_one(lines), MISS_DECODER_GAVE_UP);
	assert_int_equal(symbolizer_get(sym, lines)->nr_frames, 1);
	assert_string_equal(function_of(symbolizer_get(sym, lines)), "fn");
	assert_miss(symbolizer_get(sym, all), MISS_DECODER_GAVE_UP);
	assert_int_equal(symbolizer_get(sym, all)->nr_frames, 0);
	assert_miss(symbolizer_get(sym, hangs), MISS_DECODER_GAVE_UP);
	/* the next file is not affected */
	assert_miss(symbolizer_get(sym, good), MISS_NONE);
	maps_deinit(&proc.maps);
}

static void test_many_addresses_are_cheap(void **state)
{
	struct process proc = new_process(0);
	struct timespec a, b;
	uint32_t id = 0;
	double ms;

	(void)state;
	map_at(&proc, MAPPING_FILE, open_file("prog", "/opt/prog"), BASE, 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	for (int round = 0; round < 10; round++)
		for (uint64_t i = 0; i < 10000; i++)
			id = symbolizer_want(sym, &proc, BASE + i, FRAME_LEAF, 1, 2);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
	print_message("100,000 wants of 10,000 addresses: %.0f ms\n", ms);
	assert_true(ms < 3000);
	resolve_one(id);
	maps_deinit(&proc.maps);
}

static void test_vaddrs_of_a_debug_file(void **state)
{
	_cleanup_close_ int fd = open("prog.debug", O_RDONLY | O_CLOEXEC);
	const uint64_t vaddrs[] = {fixture_vaddr("prog", "main"), 1,
				   fixture_vaddr("prog", "fn")};
	struct resolved ret[3];

	(void)state;
	assert_int_equal(symbolizer_resolve_vaddrs(sym, fd, vaddrs, 3, ret), 0);
	assert_string_equal(ret[0].frames[0].function, "main");
	assert_int_equal(ret[0].frames[0].line, 13);
	assert_int_equal(ret[1].nr_frames, 0);
	assert_string_equal(ret[2].frames[0].function, "fn");
	assert_int_equal(ret[2].address, vaddrs[2]);
}

/* ---- tenants who share the decoder ---- */

/* A tenant had its share: its files have no names until it may have more. Those of others have. */
static void test_tenants_share_the_decoder(void **state)
{
	struct time_share share = {.is_shared = true, .burst_ns = 1000000};
	struct symbolizer_config config = {.share = &share};
	struct process greedy = new_process(0), other = new_process(1);
	struct target_file *file = open_file("prog", "/opt/prog");
	uint64_t vaddr = fixture_vaddr("prog", "fn"), now_ns = clock_now_ns();
	uint32_t id, second;

	(void)state;
	symbolizer_free(take_ptr(sym));
	assert_int_equal(symbolizer_new(&config, pool, worker, NULL, &sym, NULL), 0);
	greedy.tenant.uid = 1000;
	other.tenant.uid = 1001;
	map_at(&greedy, MAPPING_FILE, file, BASE, 0);
	map_at(&other, MAPPING_FILE, file, BASE, 0);
	time_share_took(&share, greedy.tenant, now_ns - UINT64_C(3600000000000), now_ns);
	id = symbolizer_want(sym, &greedy, ip_of(BASE, vaddr), FRAME_LEAF, 1, 2);
	assert_miss(resolve_one(id), MISS_DECODER_GAVE_UP);
	assert_int_equal(share.nr_put_off, 1);
	/* The same file, for another tenant. */
	second = symbolizer_want(sym, &other, ip_of(BASE, vaddr + 1), FRAME_LEAF, 1, 2);
	assert_string_equal(function_of(resolve_one(second)), "fn");
	assert_miss(symbolizer_get(sym, id), MISS_DECODER_GAVE_UP);
	assert_true(share.nr_accounts == 2 && share.accounts[1].paid_ns > now_ns);
	/* It is named as soon as it may be. */
	memset(&share.accounts, 0, sizeof(share.accounts));
	assert_int_equal(
		symbolizer_want(sym, &other, ip_of(BASE, vaddr), FRAME_LEAF, 1, 2), id);
	assert_string_equal(function_of(resolve_one(id)), "fn");
	assert_miss(symbolizer_get(sym, id), MISS_NONE);
	symbolizer_free(take_ptr(sym));
	maps_deinit(&greedy.maps);
	maps_deinit(&other.maps);
}

static int start_frozen(void **state)
{
	return freezer_set_up(state) || start(state);
}

static int stop_frozen(void **state)
{
	return stop(state) | freezer_tear_down(state);
}

/* Starts a helper that serves @who, and lets it get stuck. */
static void get_stuck(struct tenant who, uint64_t *cpu_ns)
{
	struct child child;

	assert_int_equal(child_spawn(&child, cpu_ns), 0);
	freezer_freeze(child.pid);
	assert_true(child_kill(&child, who, 0, cpu_ns));
}

/* Who has stuck helpers gets no names; the others who map the same file do. */
static void test_stuck_helpers_are_no_matter_of_others(void **state)
{
	struct process stuck = new_process(0), other = new_process(1);
	struct target_file *file = open_file("prog", "/opt/prog");
	uint64_t vaddr = fixture_vaddr("prog", "fn"), cpu_ns = 0;
	uint32_t id, second;

	if (!freezer_is_there(state))
		skip();
	stuck.tenant.uid = 1000;
	other.tenant.uid = 1001;
	map_at(&stuck, MAPPING_FILE, file, BASE, 0);
	map_at(&other, MAPPING_FILE, file, BASE, 0);
	file->tenant = stuck.tenant;
	get_stuck(stuck.tenant, &cpu_ns);
	get_stuck(stuck.tenant, &cpu_ns);
	id = symbolizer_want(sym, &stuck, ip_of(BASE, vaddr), FRAME_LEAF, 1, 2);
	assert_miss(resolve_one(id), MISS_DECODER_GAVE_UP);
	/* Both want it: the other one waits for it. */
	second = symbolizer_want(sym, &stuck, ip_of(BASE, vaddr + 1), FRAME_LEAF, 1, 2);
	assert_int_equal(
		symbolizer_want(sym, &other, ip_of(BASE, vaddr), FRAME_LEAF, 1, 2), id);
	assert_string_equal(function_of(resolve_one(id)), "fn");
	assert_string_equal(function_of(symbolizer_get(sym, second)), "fn");
	freezer_thaw();
	for (int i = 0; i < 6000 && child_nr_undead(); i++)
		usleep(10000);
	child_forget_undead(&cpu_ns);
	maps_deinit(&stuck.maps);
	maps_deinit(&other.maps);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_debug_file_of_who_is_known),
		TEST(test_forged_debug_file),
		TEST(test_forged_in_a_copy_of_the_root),
		TEST(test_a_debug_file_that_one_may_not_read),
		TEST(test_root_goes_while_it_resolves),
		TEST(test_a_tenant_leaves_addresses_to_others),
		TEST(test_sources_have_places),
		TEST(test_addresses_of_unknown_processes),
		TEST(test_a_tenant_leaves_inlined_frames_to_others),
		TEST(test_inlined_frames_of_each_name),
		TEST(test_inlined_frames_of_all),
		TEST(test_end_while_it_resolves),
		TEST(test_tenants_share_the_decoder),
		cmocka_unit_test_setup_teardown(
			test_stuck_helpers_are_no_matter_of_others, start_frozen,
			stop_frozen),
		TEST(test_lines_of_a_file),
		TEST(test_return_addresses),
		TEST(test_one_entry_whatever_the_process),
		TEST(test_later_wants_leave_earlier_ones_alone),
		TEST(test_code_of_hot_functions),
		TEST(test_a_tenant_leaves_room_for_code),
		TEST(test_nobody_names_files_for_others),
		TEST(test_many_names_of_a_file),
		TEST(test_debug_file_in_our_root),
		TEST(test_replaced_file),
		TEST(test_files_that_are_not_there),
		TEST(test_not_elf),
		TEST(test_nothing_known),
		TEST(test_vdso),
		TEST(test_memfd),
		TEST(test_jitdump_before_perf_map),
		TEST(test_jit_code_is_of_one_process_and_time),
		TEST(test_refused_jit_file),
		TEST(test_kernel),
		TEST(test_generated_kernel_code),
		TEST(test_listed_before_a_loss),
		TEST(test_listed_again),
		TEST(test_only_final_names_ahead),
		TEST(test_modules_that_come_later),
		TEST(test_a_module_that_is_replaced),
		TEST(test_hidden_kernel),
		TEST(test_real_process),
		TEST(test_limit),
		TEST(test_decoder_that_dies),
		TEST(test_many_addresses_are_cheap),
		TEST(test_vaddrs_of_a_debug_file),
	};

	if (argc && !strcmp(argv[0], WORKER_ARGV0))
		return worker_main(test_ops, NR_OPERATIONS);
	return cmocka_run_group_tests(tests, build, fixture_teardown);
}
