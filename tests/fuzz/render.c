// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile of any bytes in every format that is shown: JSON is JSON, and no text has a
 * character that a terminal obeys.
 */
#include <stdlib.h>

#include "analyze/hot_lines.h"
#include "analyze/source.h"
#include "export/export.h"
#include "profile/pprof.h"
#include "lib/cost.h"
#include "lib/inlined.h"
#include "lib/shown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each of some 20 outputs has every sample; texts of some bytes repeat in all. */
const struct cost_bound cost_bound = {.fixed = 6000000, .per_byte = 2000};

static void check_all_shown(const struct render_input *in, unsigned int width)
{
	const struct render_options options = {
		.width = width,
		.context = 2,
		.utf8 = width % 2,
		.limit = width % 3,
		.min_share = width % 5 ? 0 : 0.05,
		.file_filter = width % 7 ? NULL : ".c",
	};

	check_shown(in, &options, "annotate", 0);
	check_shown(in, &options, "report", 0);
}

static void check_exported(const struct profile *p, const struct attribution *a)
{
	struct export_input in = {.profile = p, .attribution = a};
	uint8_t *phases = calloc(p->nr_samples + 1, 1);
	const char *note = NULL;

	check(phases && !phases_of_samples(p, phases));
	in.phases = phases;
	for (size_t i = 0; i < nr_export_formats; i++) {
		const struct export_format *format = &export_formats[i];
		struct io_pending pending = {0};
		struct error err = {0};

		in.labels = format->labels;
		for (in.nr_labels = 0; in.labels && in.labels[in.nr_labels];)
			in.nr_labels++;
		check(!io_pending_open(&pending, &err));
		if (format->write(&in, pending.out, &note, &err))
			check(err.text[0]);
		else if (!format->is_binary)
			check_text(&pending, format->name);
		io_pending_deinit(&pending);
	}
	free(phases);
}

static void check_all(struct profile *p, unsigned int width)
{
	const struct attribution_options options = {0};
	const struct source_search search = {.is_strangers = true};
	struct render_input in = {.profile = p, .file_name = "input"};
	struct attribution *a = NULL;
	struct groups *groups = NULL;
	struct machine_code *code = NULL;
	struct phases phases;
	struct error err = {0};

	check(!phases_of(p, false, &phases));
	check(!attribution_new(p, &options, &a));
	if (width % 3)
		check(!hot_lines_limit(a, width % 7 ? NULL : ".c", width % 3));
	check(!source_attach(a, p, &search));
	check(!groups_new(p, a, GROUP_BY_OWNER, NULL, &groups, &err) || err.text[0]);
	if (p->extra.nr_codes && !machine_code_new(p, machine_code_of_all, &code, &err))
		check(!machine_code_place(code, p));
	in.attribution = a;
	in.phases = &phases;
	in.processes = groups;
	check_all_shown(&in, width);
	in.machine_code = code;
	check_all_shown(&in, width);
	check_exported(p, a);
	machine_code_free(code);
	groups_free(groups);
	attribution_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strpool *pool = strpool_new(16 << 20);
	struct profile *p = NULL;
	struct error err = {0};

	if (!pprof_read(data, size, "input", pool, &p, &err) && !inlines_much(p, size))
		check_all(p, (unsigned int)(size % 130));
	profile_free(p);
	strpool_free(pool);
	return 0;
}
