// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of a ring of perf events, one after the other: their names are chosen by
 * strangers. A record either is refused, or has a name that ends within it; mappings and
 * the kernel's code take what it says.
 */
#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "collect/task_ring.h"
#include "process/kernel_code.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 10};

static void check_event(const struct task_event *ev, const char *record, size_t size)
{
	assert(memchr(ev->comm, '\0', sizeof(ev->comm)));
	assert(ev->build_id_len <= sizeof(ev->build_id));
	if (ev->name) {
		assert(ev->name >= record && ev->name < record + size);
		assert(memchr(ev->name, '\0', (size_t)(record + size - ev->name)));
	}
	if (ev->kind == TASK_EVENT_MMAP || ev->kind == TASK_EVENT_KERNEL_CODE)
		assert(ev->start <= ev->end);
}

/*
 * Of so many events with code of the kernel. The kernel chooses the places; here all may overlap,
 * and each is compared with those before.
 */
#define MAX_CODES 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int nr_codes = 0;
	struct kernel_code code = {.must_list = true};
	const struct kernel_function *f;

	while (size >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;
		struct task_event ev;
		char *record; /* of its own: the sanitizer sees reads beyond it */
		int rc;

		memcpy(&header, data, sizeof(header));
		if (header.size < sizeof(header) || header.size > size)
			break;
		record = malloc(header.size);
		assert(record);
		memcpy(record, data, header.size);
		rc = task_record_decode(record, header.size, &ev);
		assert(rc == 0 || rc == 1 || rc == -EBADMSG);
		if (rc == 1)
			check_event(&ev, record, header.size);
		if (rc == 1 && nr_codes++ < MAX_CODES) {
			kernel_code_event(&code, &ev);
			kernel_code_find(&code, ev.start, ev.time_ns, UINT64_MAX, &f);
		}
		free(record);
		data += header.size;
		size -= header.size;
	}
	kernel_code_is_listed(&code);
	kernel_code_forget(&code, UINT64_MAX);
	kernel_code_deinit(&code);
	return 0;
}
