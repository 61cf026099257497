// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of program images, whose events and first samples processes cause in any order,
 * and whose names they choose. There is no /proc: what is known is known from events. Each
 * step has eight bytes (struct step). The table keeps its order and its counts, and when all
 * has ended it forgets all.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/image.h"
#include "process/table.h"
#include "lib/cost.h"

#define NR_PIDS      12
#define MAX_STEPS    400
#define TICK_NS      50000000ull

#define MAX_IMAGES   40
#define MAX_MAPPINGS 400

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 3000000, .per_byte = 4000};

struct step {
	uint8_t kind, pid, other, ticks;
	uint8_t page, nr_pages, name, more;
};

/* In place of a task event's kind. */
enum {
	STEP_SAMPLE = TASK_EVENT_LOST + 1,
	STEP_FIND,
	STEP_REFRESH,
	STEP_EXPIRE,
	STEP_TRIM,
	STEP_FORGET,
	NR_STEPS,
};

static const char *const names[] = {
	"/bin/a",
	"/lib/libpython3.11.so.1.0",
	"/lib/a.so (deleted)",
	"//anon",
	"[heap]",
	"[vdso]",
	"[vsyscall]",
	"/memfd:doublemapper (deleted)",
	"/dev/zero (deleted)",
	"/tmp/jit-7.dump",
	"",
	"/a/../b",
};

static struct process_table *table;
static uint64_t start_boot_ns, now_ns;

/* The identity of a process: one in four says that it began at another time. */
static struct lb_image identity_of(const struct step *s)
{
	return (struct lb_image){
		.start_boottime_ns = start_boot_ns + s->more % 4 * 10 * TICK_NS,
		.tgid = 1 + s->pid % NR_PIDS,
		.exec_id = s->more / 4 % 4,
	};
}

static void send_event(const struct step *s)
{
	const char *name = names[s->name % ARRAY_SIZE(names)];
	struct task_event ev = {
		.kind = (enum task_event_kind)(s->kind % NR_STEPS),
		.time_ns = now_ns,
		.pid = 1 + s->pid % NR_PIDS,
		.ppid = 1 + s->other % NR_PIDS,
		.nr_lost = s->more,
		.comm = "fuzzed",
		.start = (uint64_t)s->page << 12,
		.end = (uint64_t)(s->page + s->nr_pages) << 12,
		.name = name,
		.file_off = (uint64_t)(s->other & 7) << 12,
		.prot = s->more & 1 ? PROT_READ | PROT_EXEC
				    : PROT_READ | PROT_WRITE | PROT_EXEC,
		.minor = 1,
		.inode = *name == '/' ? 10u + s->name : 0,
		.build_id_len = s->more & 2 ? TASK_EVENT_BUILD_ID_MAX : 0,
	};

	memset(ev.build_id, s->other / 8, sizeof(ev.build_id));
	process_table_event(table, &ev);
}

static void send_sample(const struct step *s)
{
	const struct lb_image id = identity_of(s);
	const struct lb_first_sample first = {
		.start_boottime_ns = id.start_boottime_ns,
		.time_ns = now_ns - s->ticks % 2 * TICK_NS,
		.tgid = id.tgid,
		.exec_id = id.exec_id,
		.ids = {.ppid = s->other % (NR_PIDS + 1),
			.uid = s->name % 3 ? 1000u + s->name % 3 : 0,
			.gid = s->name % 5 ? 1000 : LB_NO_ID,
			.user_ns = s->name % 2,
			.ns_tgid = s->page % 4},
	};
	const struct process *p;

	if (s->nr_pages % 2)
		process_table_announce(table, &first);
	process_table_read_announced(table);
	p = process_table_first_told(table, &first);
	assert(!p || p->tgid == id.tgid);
	process_table_forget_announced(table);
}

static void find(const struct step *s)
{
	const struct lb_image id = identity_of(s);
	uint64_t first_ns = now_ns - s->ticks * TICK_NS;
	const struct process *p =
		s->other % 3 == 0   ? process_table_find(table, &id, first_ns, now_ns)
		: s->other % 3 == 1 ? process_table_identify(table, &id, first_ns)
				    : process_table_expect(table, &id, now_ns);

	assert(!p || p->tgid == id.tgid);
}

static void do_step(const struct step *s)
{
	now_ns += s->ticks * TICK_NS;
	switch (s->kind % NR_STEPS) {
	case STEP_SAMPLE:
		send_sample(s);
		break;
	case STEP_FIND:
		find(s);
		break;
	case STEP_REFRESH:
		process_table_refresh(table, now_ns);
		process_table_open_new(table, now_ns);
		break;
	case STEP_EXPIRE:
		process_table_expire(table, now_ns);
		break;
	case STEP_TRIM:
		process_table_trim(table, now_ns);
		break;
	case STEP_FORGET:
		process_table_forget_ended(table, now_ns);
		break;
	default:
		send_event(s);
	}
}

static void check_maps(const struct maps *maps)
{
	assert(maps->nr_live + maps->nr_past == maps->nr);
	for (size_t i = 1; i < maps->nr_live; i++)
		assert(maps->items[maps->live[i - 1]].end <=
		       maps->items[maps->live[i]].start);
}

/* Nobody but root has more than its part. Of mappings the last one may split another. */
static void check_part(uint32_t uid)
{
	size_t nr_images = 0, nr_mappings = 0;

	for (uint32_t i = 0; i < process_table_nr_ids(table); i++) {
		const struct image *img = table->images[i];

		if (!img || img->payer.uid != uid)
			continue;
		nr_images++;
		nr_mappings += img->proc.maps.nr;
	}
	assert(nr_images <= MAX_IMAGES / 4);
	assert(nr_mappings <= MAX_MAPPINGS / 4 + 2);
}

static void check_table(void)
{
	struct process_table_stats stats;
	uint64_t nr_images = 0, nr_mappings = 0;

	for (uint32_t i = 0; i < process_table_nr_ids(table); i++) {
		const struct process *p = process_table_at(table, i);

		if (!p)
			continue;
		assert(p->tgid >= 1 && p->tgid <= NR_PIDS);
		check_maps(&p->maps);
		nr_mappings += p->maps.nr;
		nr_images++;
	}
	process_table_stats(table, &stats);
	assert(stats.nr_processes == nr_images && stats.nr_mappings == nr_mappings);
}

/* All processes end; after that nothing is left of them. */
static void end_all(void)
{
	struct process_table_stats stats;

	for (uint32_t pid = 1; pid <= NR_PIDS; pid++) {
		const struct task_event ev = {
			.kind = TASK_EVENT_EXIT, .time_ns = ++now_ns, .pid = pid};

		process_table_event(table, &ev);
	}
	now_ns += 100 * CLOCK_SECOND_NS;
	process_table_refresh(table, now_ns);
	now_ns += CLOCK_SECOND_NS;
	process_table_forget_ended(table, now_ns);
	process_table_stats(table, &stats);
	assert(!stats.nr_processes && !stats.nr_mappings);
	assert(!process_table_nr_active(table));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char empty[] = "/tmp/lineburn-fuzz-XXXXXX";
	const struct process_table_config config = {.proc_path = empty,
						    .is_shared = true,
						    .max_processes = MAX_IMAGES,
						    .max_mappings = MAX_MAPPINGS};
	size_t nr = size / sizeof(struct step);
	struct strpool *pool = strpool_new(1 << 20);

	assert(pool && mkdtemp(empty));
	assert(!process_table_new(&config, pool, &table, NULL));
	assert(!rmdir(empty));
	now_ns = clock_now_ns();
	start_boot_ns = clock_boot_ns();
	for (size_t i = 0; i < nr && i < MAX_STEPS; i++) {
		struct step s;

		memcpy(&s, data + i * sizeof(s), sizeof(s));
		do_step(&s);
		check_part(1001);
		check_part(1002);
		check_part(TENANT_UNKNOWN_UID);
	}
	check_table();
	end_all();
	process_table_free(table);
	strpool_free(pool);
	return 0;
}
