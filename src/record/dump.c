// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/dump.h"

#include <inttypes.h>

#include "base/escape.h"
#include "process/table.h"
#include "runtime/runtime.h"

static void dump_kernel_ips(const __u64 *ips, uint32_t nr, FILE *out)
{
	fputs(" kernel", out);
	for (uint32_t i = 0; i < nr; i++)
		fprintf(out, " %" PRIx64, (uint64_t)ips[i]);
}

static void dump_user_ips(const __u64 *ips, uint32_t nr, FILE *out)
{
	fputs(" user", out);
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t ip = ips[i];
		const struct runtime *runtime = ip & LB_FRAME_TAG ? runtime_of_frame(ip)
								  : NULL;

		if (runtime)
			fprintf(out, " %s:%" PRIx64 "+%u", runtime->name,
				(uint64_t)LB_FRAME_ID(ip), LB_FRAME_INDEX(ip));
		else
			fprintf(out, " %" PRIx64, ip);
	}
}

void dump_sample(const struct sample *s, FILE *out)
{
	fprintf(out,
		"sample tgid %u exec %u count %" PRIu64 " status %d first %" PRIu64
		" last %" PRIu64 " comm ",
		s->tgid, s->exec_id, s->count, (int)s->status, s->first_ns, s->last_ns);
	escape_terminal(out, s->comm ? s->comm : "?");
	dump_kernel_ips(s->kern_ips, s->nr_kern, out);
	dump_user_ips(s->user_ips, s->nr_user, out);
	fputc('\n', out);
}

static void dump_process(const struct process *p, FILE *out)
{
	fprintf(out, "process %u start %" PRIu64 " exec %u%s%s comm ", p->tgid,
		p->start_boottime_ns, p->exec_id, p->identified ? "" : " (not sampled)",
		p->exited ? " exited" : "");
	escape_terminal(out, p->comm);
	fputc('\n', out);
	for (size_t i = 0; i < p->maps.nr; i++) {
		const struct mapping *m = &p->maps.items[i];

		fprintf(out, "  %" PRIx64 "-%" PRIx64 " offset %" PRIx64 " kind %d%s%s ",
			m->start, m->end, m->file_off, (int)m->kind,
			m->deleted ? " deleted" : "",
			m->file && m->file->fd >= 0 ? " open" : "");
		escape_terminal(out, m->path);
		fputc('\n', out);
	}
}

void dump_maps(struct process_table *processes, FILE *out)
{
	struct process_table_stats stats;

	process_table_stats(processes, &stats);
	for (uint32_t id = 0; id < stats.nr_processes; id++) {
		const struct process *p = process_table_at(processes, id);

		if (p)
			dump_process(p, out);
	}
}

void dump_resolved(const struct resolved *r, FILE *out)
{
	fputs("address ", out);
	escape_terminal(out, r->object->name);
	fprintf(out, "+%" PRIx64 " %s", r->address, miss_name(r->miss));
	for (size_t i = 0; i < r->nr_frames; i++) {
		fputs(i ? " <- " : " ", out);
		escape_terminal(out, r->frames[i].function);
		fputs(" ", out);
		escape_terminal(out, r->frames[i].file);
		fprintf(out, ":%u", r->frames[i].line);
	}
	fputc('\n', out);
}
