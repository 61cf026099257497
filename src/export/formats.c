// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/export.h"

#include <string.h>

#include "base/cleanup.h"
#include "profile/labels.h"

/* For servers: none of these labels has a new value at each start. */
static const char *const server_labels[] = {LABEL_COMM, LABEL_CONTAINER_NAME, LABEL_UNIT,
					    LABEL_PHASE, NULL};
static const char *const thread_labels[] = {LABEL_COMM, NULL};

const struct export_format export_formats[] = {
	{"pprof", ".pb.gz .pprof", true, true, server_labels, export_pprof},
	{"pprof-full", "", true, true, NULL, export_pprof_full},
	{"folded", ".folded .collapsed", false, false, thread_labels, export_folded},
	{"folded-perfanno", "", false, true, NULL, export_folded_perfanno},
	{"folded-emacs", "", false, true, thread_labels, export_folded_emacs},
	{"perf", "", false, true, NULL, export_perf},
	{"callgrind", ".callgrind", false, true, thread_labels, export_callgrind},
	{"autofdo", ".afdo", false, true, NULL, export_autofdo},
	{"speedscope", ".speedscope.json", false, true, thread_labels, export_speedscope},
	{"cpuprofile", ".cpuprofile", false, true, thread_labels, export_cpuprofile},
	{"firefox", ".json.gz", true, false, thread_labels, export_firefox},
};
const size_t nr_export_formats = ARRAY_SIZE(export_formats);

const struct export_format *export_format_find(const char *name)
{
	for (size_t i = 0; i < nr_export_formats; i++)
		if (!strcmp(export_formats[i].name, name))
			return &export_formats[i];
	return NULL;
}

/* Is it a name as Valgrind gives it: "callgrind.out.4711", ".4711.2", ".4711-01"? */
static bool is_callgrind_name(const char *path)
{
	static const char start[] = "callgrind.out";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = strlen(start);

	return !strncmp(name, start, len) &&
	       name[len + strspn(name + len, "0123456789.-")] == '\0';
}

/* Returns the length of the longest of @suffixes that @path ends in; 0: none. */
static size_t suffix_len(const char *path, const char *suffixes)
{
	size_t path_len = strlen(path), longest = 0;

	while (*suffixes) {
		size_t len = strcspn(suffixes, " ");

		if (len > longest && len < path_len &&
		    !strncmp(path + path_len - len, suffixes, len))
			longest = len;
		suffixes += len;
		suffixes += strspn(suffixes, " ");
	}
	return longest;
}

const struct export_format *export_format_of_file(const char *path)
{
	const struct export_format *best = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < nr_export_formats; i++) {
		size_t len = suffix_len(path, export_formats[i].suffixes);

		if (len > longest) {
			longest = len;
			best = &export_formats[i];
		}
	}
	/* KCachegrind looks for such names, which have no suffix. */
	return !best && is_callgrind_name(path) ? export_format_find("callgrind") : best;
}
