// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One ring per CPU. Records of one ring are in order of time, records of different
 * rings are not. So a read takes all records up to one moment, sorts them, and leaves
 * later ones in the rings.
 */
#include "collect/task_ring.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "collect/perf_event.h"

/*
 * Records of perf_event_open(2) -> struct task_event. Layouts are those of
 * include/uapi/linux/perf_event.h (enum perf_event_type) with sample_id_all and
 * PERF_SAMPLE_TID | PERF_SAMPLE_TIME: each record ends in {u32 pid, tid; u64 time}.
 */

/* Since Linux 5.12; older headers do not have it. */
#define MISC_MMAP_BUILD_ID (1 << 14)

struct sample_id {
	uint32_t pid, tid;
	uint64_t time_ns;
};

struct fork_record {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time_ns;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[];
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, inode_generation;
		};
		struct {
			uint8_t build_id_size, reserved[3];
			uint8_t build_id[20];
		};
	};
	uint32_t prot, flags;
	char path[];
};

/*
 * With several events open, each but the first gets a longer record: the kernel adds the
 * size of the sample id to the same header for each event (kernel/events/core.c,
 * perf_event_ksymbol_output()). So the id is where the name ends, a multiple of 8 bytes,
 * and the bytes behind it have no meaning.
 */
struct ksymbol_record {
	struct perf_event_header header;
	uint64_t addr;
	uint32_t len;
	uint16_t ksym_type, flags;
	char name[];
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

/* An exit record has the same layout. */
static int decode_fork(const struct fork_record *r, uint32_t size, struct task_event *ret)
{
	bool is_exit = r->header.type == PERF_RECORD_EXIT;

	if (size < sizeof(*r))
		return -EBADMSG;
	if (is_exit ? r->pid != r->tid : r->pid == r->ppid)
		return 0; /* a thread */
	ret->kind = is_exit ? TASK_EVENT_EXIT : TASK_EVENT_FORK;
	ret->pid = r->pid;
	ret->ppid = is_exit ? 0 : r->ppid;
	return 1;
}

static int decode_comm(const struct comm_record *r, uint32_t size, struct task_event *ret)
{
	size_t room;

	if (size < sizeof(*r) + sizeof(struct sample_id))
		return -EBADMSG;
	if (r->pid != r->tid)
		return 0; /* a thread: its samples have its name */
	room = size - sizeof(*r) - sizeof(struct sample_id);
	if (room > sizeof(ret->comm) - 1)
		room = sizeof(ret->comm) - 1;
	ret->kind = r->header.misc & PERF_RECORD_MISC_COMM_EXEC ? TASK_EVENT_EXEC
								: TASK_EVENT_COMM;
	ret->pid = r->pid;
	memcpy(ret->comm, r->comm, strnlen(r->comm, room));
	return 1;
}

static int decode_mmap2(const struct mmap2_record *r, uint32_t size,
			struct task_event *ret)
{
	size_t room;

	if (size < sizeof(*r) + sizeof(struct sample_id) + 1)
		return -EBADMSG;
	room = size - sizeof(*r) - sizeof(struct sample_id);
	if (!memchr(r->path, '\0', room) || r->addr + r->len < r->addr)
		return -EBADMSG;
	ret->kind = TASK_EVENT_MMAP;
	ret->pid = r->pid;
	ret->start = r->addr;
	ret->end = r->addr + r->len;
	ret->file_off = r->pgoff;
	ret->prot = r->prot;
	ret->name = r->path;
	if (r->header.misc & MISC_MMAP_BUILD_ID) {
		if (r->build_id_size > sizeof(r->build_id))
			return -EBADMSG;
		ret->build_id_len = r->build_id_size;
		memcpy(ret->build_id, r->build_id, r->build_id_size);
	} else {
		ret->major = r->major;
		ret->minor = r->minor;
		ret->inode = r->inode;
	}
	return 1;
}

static int decode_ksymbol(const struct ksymbol_record *r, uint32_t size,
			  struct task_event *ret)
{
	struct sample_id id;
	size_t room, len;

	if (size < sizeof(*r) + sizeof(id) + 1)
		return -EBADMSG;
	room = size - sizeof(*r) - sizeof(id);
	len = (strnlen(r->name, room) + 8) / 8 * 8; /* with the NUL */
	if (len > room || r->addr + r->len < r->addr)
		return -EBADMSG;
	memcpy(&id, r->name + len, sizeof(id));
	ret->time_ns = id.time_ns;
	ret->kind = r->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER
			    ? TASK_EVENT_KERNEL_CODE_END
			    : TASK_EVENT_KERNEL_CODE;
	ret->start = r->addr;
	ret->end = r->addr + r->len;
	ret->name = r->name;
	return 1;
}

int task_record_decode(const void *record, uint32_t size, struct task_event *ret)
{
	const struct perf_event_header *header = record;
	struct task_event ev = {0};
	struct sample_id id;
	int rc;

	if (size < sizeof(*header) + sizeof(id))
		return -EBADMSG;
	memcpy(&id, (const char *)record + size - sizeof(id), sizeof(id));
	ev.time_ns = id.time_ns;
	switch (header->type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		rc = decode_fork(record, size, &ev);
		break;
	case PERF_RECORD_COMM:
		rc = decode_comm(record, size, &ev);
		break;
	case PERF_RECORD_MMAP2:
		rc = decode_mmap2(record, size, &ev);
		break;
	case PERF_RECORD_KSYMBOL:
		rc = decode_ksymbol(record, size, &ev);
		break;
	case PERF_RECORD_LOST:
		if (size < sizeof(struct lost_record))
			return -EBADMSG;
		ev.kind = TASK_EVENT_LOST;
		ev.nr_lost = ((const struct lost_record *)record)->lost;
		rc = 1;
		break;
	default:
		return 0;
	}
	if (rc == 1)
		*ret = ev;
	return rc;
}

#define RING_BYTES       (512u * 1024) /* on a machine with few CPUs */
#define RING_BYTES_TOTAL (32u << 20) /* over all CPUs, but at least RING_BYTES_MIN each */
#define RING_BYTES_MIN   (64u * 1024)
/* An event with a path of PATH_MAX bytes. Without room for it events may be lost. */
#define MAX_RECORD_BYTES (4096 + 256)
/* Interval of checks for dead events; a check interrupts the event's CPU. */
#define LOOK_NS         250000000ULL
#define LOOK_PER_CPU_NS 2000000ULL

struct cpu_ring {
	uint32_t cpu;
	int fd;
	struct perf_event_life life;
	struct perf_event_mmap_page *page; /* followed by the data */
	uint64_t taken; /* up to here; the kernel may have it when all rings were read */
};

/*
 * Most events in memory, and bytes of their names: as many as all rings hold, because a
 * name may have 4 KB. Further ones stay in the rings, where the kernel counts losses.
 */
#define MAX_PENDING    (1u << 18)
#define MAX_NAME_BYTES RING_BYTES_TOTAL
/* Buffers that have grown larger are freed after their storm. */
#define KEPT_BYTES (4u << 20)

/* A decoded event, and the offset of its name in pending_events.names. */
struct pending {
	struct task_event ev;
	size_t name_at; /* SIZE_MAX: no name */
	size_t seq; /* keeps the order of events with equal times */
};

struct task_ring {
	struct cpu_ring *rings;
	size_t nr_rings, cap_rings;
	uint32_t ring_bytes;
	int epoll_fd;
	uint64_t look_ns; /* CLOCK_MONOTONIC: time of the next check */
	uint8_t *record; /* one record that wraps around a ring's end; 64 KB */

	/* One is filled while the other is delivered: a handler may wait for a helper. */
	struct pending_events {
		struct pending *items;
		size_t nr, cap;
		char *names;
		size_t nr_names, cap_names;
		bool is_full; /* takes no more until it is delivered */
		/* a CPU ran without a ring, or a ring had no more room */
		bool may_lack;
	} pending[2];
	unsigned int filling;
	bool is_delivering;
};

static void ring_close(const struct task_ring *r, const struct cpu_ring *ring)
{
	munmap(ring->page, r->ring_bytes + (size_t)sysconf(_SC_PAGESIZE));
	close(ring->fd);
}

static int ring_add(struct task_ring *r, uint32_t cpu)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct epoll_event interest = {.events = EPOLLIN};
	struct perf_event_life life;
	_cleanup_close_ int fd = perf_event_open_tasks((int)cpu, r->ring_bytes / 2);
	struct cpu_ring *ring;
	void *page;

	if (fd < 0)
		return fd;
	if (vec_grow(&r->rings, &r->cap_rings, r->nr_rings + 1, sizeof(*r->rings), 0))
		return -ENOMEM;
	page = mmap(NULL, r->ring_bytes + page_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	if (epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &interest) ||
	    perf_event_enable(fd, &life)) {
		int rc = -errno;

		munmap(page, r->ring_bytes + page_size);
		return rc;
	}
	ring = &r->rings[r->nr_rings++];
	*ring = (struct cpu_ring){
		.cpu = cpu, .fd = take_fd(&fd), .life = life, .page = page};
	return 0;
}

static uint32_t bytes_per_ring(size_t nr_cpus)
{
	uint32_t bytes = RING_BYTES;

	while (bytes > RING_BYTES_MIN && (uint64_t)bytes * nr_cpus > RING_BYTES_TOTAL)
		bytes /= 2;
	return bytes;
}

int task_ring_new(struct task_ring **ret, struct error *err)
{
	_cleanup_(task_ring_freep) struct task_ring *r = calloc(1, sizeof(*r));
	_cleanup_(cpu_list_deinit) struct cpu_set_list online = {0};
	int rc;

	if (!r)
		return error_set(err, -ENOMEM, "out of memory");
	r->record = malloc(UINT16_MAX);
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!r->record || r->epoll_fd < 0)
		return error_set(err, -ENOMEM, "out of memory or descriptors");
	rc = cpu_list_online(&online);
	if (rc)
		return error_set_exit(
			err, EXIT_SYSTEM, rc,
			"cannot read the list of CPUs below /sys; mount sysfs");
	r->ring_bytes = bytes_per_ring(online.nr);
	for (size_t i = 0; i < online.nr && !rc; i++) {
		rc = ring_add(r, online.cpus[i]);
		if (rc == -ENODEV)
			rc = 0; /* it has just gone offline */
	}
	if (rc)
		return perf_event_explain(rc, err);
	*ret = take_ptr(r);
	return 0;
}

void task_ring_free(struct task_ring *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nr_rings; i++)
		ring_close(r, &r->rings[i]);
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	free(r->rings);
	free(r->record);
	for (size_t i = 0; i < ARRAY_SIZE(r->pending); i++) {
		free(r->pending[i].items);
		free(r->pending[i].names);
	}
	free(r);
}

static bool is_time_to_look(struct task_ring *r)
{
	uint64_t now_ns = clock_now_ns(), every_ns = LOOK_PER_CPU_NS * r->nr_rings;

	if (now_ns < r->look_ns)
		return false;
	r->look_ns = now_ns + (every_ns > LOOK_NS ? every_ns : LOOK_NS);
	return true;
}

/* Closes dead events: they stay dead when their CPU comes back. */
static void drop_dead(struct task_ring *r, const struct cpu_set_list *online)
{
	bool looks = is_time_to_look(r);

	for (size_t k = r->nr_rings; k-- > 0;) {
		const struct cpu_ring *ring = &r->rings[k];

		if (cpu_list_has(online, ring->cpu) &&
		    (!looks || !perf_event_is_dead(ring->fd, &ring->life)))
			continue;
		ring_close(r, ring);
		r->rings[k] = r->rings[--r->nr_rings];
	}
}

void task_ring_follow_cpus(struct task_ring *r)
{
	_cleanup_(cpu_list_deinit) struct cpu_set_list online = {0};

	if (cpu_list_online(&online))
		return;
	drop_dead(r, &online);
	for (size_t i = 0; i < online.nr; i++) {
		size_t k = 0;

		while (k < r->nr_rings && r->rings[k].cpu != online.cpus[i])
			k++;
		if (k < r->nr_rings)
			continue;
		if (ring_add(r, online.cpus[i]))
			log_debug("no task events of CPU %u: %m, skipping",
				  online.cpus[i]);
		r->pending[r->filling].may_lack = true;
	}
}

int task_ring_poll_fd(const struct task_ring *r)
{
	return r->epoll_fd;
}

uint64_t task_ring_bytes(const struct task_ring *r)
{
	return (uint64_t)r->ring_bytes * r->nr_rings;
}

/* Stores an event for sorting. Return: 0, -ENOMEM or -ENOSPC. */
static int keep(struct pending_events *e, const struct task_event *ev)
{
	struct pending *p;
	size_t len = ev->name ? strlen(ev->name) + 1 : 0;
	int rc = vec_grow(&e->items, &e->cap, e->nr + 1, sizeof(*e->items), MAX_PENDING);

	if (!rc)
		rc = vec_grow(&e->names, &e->cap_names, e->nr_names + len, 1,
			      MAX_NAME_BYTES);
	if (rc)
		return rc;
	p = &e->items[e->nr];
	*p = (struct pending){.ev = *ev, .name_at = SIZE_MAX, .seq = e->nr};
	if (len) {
		memcpy(e->names + e->nr_names, ev->name, len);
		p->name_at = e->nr_names;
		e->nr_names += len;
	}
	e->nr++;
	return 0;
}

/* Returns the record at @at, copied if it wraps around the end of the ring. */
static const void *record_at(struct task_ring *r, const uint8_t *data, uint64_t at,
			     uint16_t size)
{
	size_t start = at & (r->ring_bytes - 1), first = r->ring_bytes - start;

	if (first >= size)
		return data + start;
	memcpy(r->record, data + start, first);
	memcpy(r->record + first, data, size - first);
	return r->record;
}

/* Takes the events of one ring up to @horizon_ns. Return: whether there was room. */
static bool ring_read(struct task_ring *r, struct cpu_ring *ring, uint64_t horizon_ns)
{
	const uint8_t *data = (const uint8_t *)ring->page + (size_t)sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	bool has_room = true;

	while (tail < head) {
		/* A header is 8-aligned and has 8 bytes: it never wraps. */
		const struct perf_event_header *header =
			(const void *)(data + (tail & (r->ring_bytes - 1)));
		uint16_t size = header->size;
		struct task_event ev;

		if (size < sizeof(*header) || size > head - tail)
			break; /* corrupt: without a size the next record is unknown */
		if (task_record_decode(record_at(r, data, tail, size), size, &ev) == 1) {
			if (ev.time_ns > horizon_ns)
				break;
			has_room = !keep(&r->pending[r->filling], &ev);
			if (!has_room)
				break;
		}
		tail += size;
	}
	ring->taken = tail;
	return has_room;
}

/* The kernel tells of a loss only with the next event that finds room, maybe much later. */
static bool was_full(const struct task_ring *r, const struct cpu_ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

	return head - ring->page->data_tail > r->ring_bytes - MAX_RECORD_BYTES;
}

static int by_time(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->ev.time_ns != y->ev.time_ns)
		return x->ev.time_ns < y->ev.time_ns ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/*
 * When there is no more room, nothing of this call is taken: events of some rings would
 * be delivered before older ones of others. Only what an empty buffer does not take is
 * split.
 */
void task_ring_gather(struct task_ring *r)
{
	struct pending_events *e = &r->pending[r->filling];
	size_t nr = e->nr, nr_names = e->nr_names, nr_read = 0;
	uint64_t horizon_ns = clock_now_ns();

	while (!e->is_full && nr_read < r->nr_rings)
		e->is_full = !ring_read(r, &r->rings[nr_read++], horizon_ns);
	if (e->is_full && nr) {
		e->nr = nr;
		e->nr_names = nr_names;
		return;
	}
	/* Just before it gets room: after that nothing tells that it was full. */
	for (size_t i = 0; i < nr_read; i++) {
		e->may_lack |= was_full(r, &r->rings[i]);
		__atomic_store_n(&r->rings[i].page->data_tail, r->rings[i].taken,
				 __ATOMIC_RELEASE);
	}
}

static void empty(struct pending_events *e)
{
	e->nr = e->nr_names = 0;
	e->is_full = e->may_lack = false;
	if (e->cap * sizeof(*e->items) + e->cap_names <= KEPT_BYTES)
		return;
	free(e->items);
	free(e->names);
	*e = (struct pending_events){0};
}

void task_ring_read(struct task_ring *r,
		    void (*handler)(void *ctx, const struct task_event *ev), void *ctx)
{
	struct pending_events *e = &r->pending[r->filling];
	struct task_event lost = {.kind = TASK_EVENT_LOST, .time_ns = clock_now_ns()};

	assert(!r->is_delivering);
	r->is_delivering = true;
	task_ring_gather(r);
	r->filling ^= 1;
	if (e->nr)
		qsort(e->items, e->nr, sizeof(*e->items), by_time);
	for (size_t i = 0; i < e->nr; i++) {
		struct pending *p = &e->items[i];

		p->ev.name = p->name_at == SIZE_MAX ? NULL : e->names + p->name_at;
		handler(ctx, &p->ev);
		lost.time_ns = p->ev.time_ns;
	}
	if (e->may_lack)
		handler(ctx, &lost);
	empty(e);
	r->is_delivering = false;
}
