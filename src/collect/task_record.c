// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of perf_event_open(2) -> struct task_event. Layouts are those of
 * include/uapi/linux/perf_event.h (enum perf_event_type) with sample_id_all and
 * PERF_SAMPLE_TID | PERF_SAMPLE_TIME: each record ends in {u32 pid, tid; u64 time}.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "collect/task_ring.h"

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

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

static int decode_fork(const struct fork_record *r, uint32_t size, struct task_event *ret)
{
	if (size < sizeof(*r))
		return -EBADMSG;
	if (r->pid == r->ppid)
		return 0; /* a thread */
	ret->kind = TASK_EVENT_FORK;
	ret->pid = r->pid;
	ret->ppid = r->ppid;
	return 1;
}

static int decode_exit(const struct fork_record *r, uint32_t size, struct task_event *ret)
{
	if (size < sizeof(*r))
		return -EBADMSG;
	if (r->pid != r->tid)
		return 0; /* a thread */
	ret->kind = TASK_EVENT_EXIT;
	ret->pid = r->pid;
	return 1;
}

static int decode_comm(const struct comm_record *r, uint32_t size, struct task_event *ret)
{
	size_t room;

	if (size < sizeof(*r) + sizeof(struct sample_id))
		return -EBADMSG;
	if (r->pid != r->tid)
		return 0; /* a thread: its name travels with its samples */
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
	ret->path = r->path;
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
		rc = decode_fork(record, size, &ev);
		break;
	case PERF_RECORD_EXIT:
		rc = decode_exit(record, size, &ev);
		break;
	case PERF_RECORD_COMM:
		rc = decode_comm(record, size, &ev);
		break;
	case PERF_RECORD_MMAP2:
		rc = decode_mmap2(record, size, &ev);
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
