// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/service_id.h"

#include <limits.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

#include "base/match.h"
#include "base/path.h"
#include "profile/mapping_kind.h"
#include "runtime/python/source.h"

/*
 * Adds a text and its NUL: "ab" + "c" differs from "a" + "bc". Not known is the same as
 * empty.
 */
static void add_n(struct sha256_ctx *ctx, const char *text, size_t len)
{
	sha256_update(ctx, len, (const uint8_t *)text);
	sha256_update(ctx, 1, (const uint8_t *)"");
}

static void add(struct sha256_ctx *ctx, const char *text)
{
	add_n(ctx, text ? text : "", text ? strlen(text) : 0);
}

/* Is it a file's name, and no number such as "0.5"? Then it says what the program is. */
static bool is_file_name(const char *arg, size_t len)
{
	return (memchr(arg, '.', len) || memchr(arg, '/', len)) &&
	       strspn(arg, "0123456789.") < len;
}

/*
 * Adds the script that the executable runs: /srv/app.py of "python -u app.py --port 80".
 * Further arguments often differ between two runs of one program.
 */
static void add_script(struct sha256_ctx *ctx, const struct process *process)
{
	bool is_python = code_kind_of(process->owner.exe) == CODE_INTERPRETER;
	char path[PATH_MAX], clean[PATH_MAX];
	const char *name;
	bool is_module = false;
	size_t len = process->command
			     ? python_source_main(process->command, &name, &is_module)
			     : 0;
	int n;

	if (!len || (!is_python && !is_file_name(name, len))) {
		add(ctx, "");
		return;
	}
	add(ctx, is_module ? "module" : "file");
	n = snprintf(path, sizeof(path), "%s/%.*s",
		     *name == '/' || !process->cwd ? "" : process->cwd, (int)len, name);
	if (n > 0 && (size_t)n < sizeof(path))
		add(ctx, path_clean(path, clean, sizeof(clean)));
	else
		add_n(ctx, name, len);
}

/*
 * Adds where it runs. In Kubernetes the name is NAMESPACE/POD/CONTAINER, and a pod is
 * called differently after each start.
 */
static void add_container(struct sha256_ctx *ctx, const char *name)
{
	const char *pod = name ? strchr(name, '/') : NULL;
	const char *container = pod ? strchr(pod + 1, '/') : NULL;

	if (!container) {
		add(ctx, name);
		return;
	}
	add_n(ctx, name, (size_t)(pod - name));
	add(ctx, container);
}

/* The name of a scope has a number that changes; web@1.service is an instance of web. */
static void add_unit(struct sha256_ctx *ctx, const char *unit)
{
	const char *service = unit && match_ends(unit, ".service") ? unit : "";

	add_n(ctx, service, strcspn(service, "@"));
}

const char *service_id_of(const struct process *process, char ret[SERVICE_ID_SIZE])
{
	uint8_t digest[(SERVICE_ID_SIZE - 1) / 2];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	add(&ctx, "lineburn service");
	if (process && process->owner.exe) {
		add(&ctx, process->owner.exe);
		add_script(&ctx, process);
		add_container(&ctx, process->owner.container_name);
		add_unit(&ctx, process->owner.unit);
	}
	sha256_digest(&ctx, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(ret + 2 * i, 3, "%02x", digest[i]);
	return ret;
}
