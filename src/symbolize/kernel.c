// SPDX-License-Identifier: GPL-2.0-or-later
/* Names kernel addresses: functions from kallsyms, one object per module. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/match.h"
#include "base/vec.h"
#include "symbolize/symbolizer_internal.h"

/*
 * Loads them once, and again after generated code was listed without names, or if the
 * modules are others.
 */
static void load_kallsyms(struct symbolizer *s)
{
	uint64_t nr_lists = s->config.kernel_code ? s->config.kernel_code->nr_lists : 0;
	const struct kallsyms_files *files = s->config.kernel_files;
	uint64_t modules = files ? kallsyms_hash_modules(files) : 0;
	struct kallsyms *loaded;
	int err;

	if (s->kallsyms_tried && s->kallsyms_lists == nr_lists &&
	    s->kallsyms_modules == modules)
		return;
	s->kallsyms_tried = true;
	s->kallsyms_lists = nr_lists;
	s->kallsyms_modules = modules;
	err = files ? kallsyms_load(files, s->pool, &loaded) : -ENOENT;
	if (err) {
		log_debug("kallsyms: error %d, kernel functions have no names, skipping",
			  -err);
		return;
	}
	kallsyms_free(s->kallsyms);
	s->kallsyms = loaded;
}

/*
 * Finds or adds the object of @module. There are few modules: a list is enough.
 */
static struct object *module_object(struct symbolizer *s, const char *module)
{
	char name[256];
	const char *interned;

	snprintf(name, sizeof(name), "[kernel.kallsyms]/%s", module);
	interned = strpool_add(s->pool, name);
	for (size_t i = 0; i < s->nr_modules; i++)
		if (s->modules[i]->name == interned)
			return s->modules[i];
	if (vec_grow(&s->modules, &s->cap_modules, s->nr_modules + 1, sizeof(*s->modules),
		     0))
		return NULL;
	s->modules[s->nr_modules] = table_add_object(&s->table, OBJECT_KERNEL, interned);
	return s->modules[s->nr_modules] ? s->modules[s->nr_modules++] : NULL;
}

static bool find_symbol(const struct symbolizer *s, const struct entry *entry,
			struct kernel_symbol *ret)
{
	const struct kernel_code *code = s->config.kernel_code;
	const struct kernel_function *f;

	if (!entry->last_ns)
		return kallsyms_find(s->kallsyms, entry->lookup, ret);
	if (kernel_code_find(code, entry->lookup, entry->first_ns, entry->last_ns, &f) !=
	    KERNEL_CODE_FOUND)
		return false;
	/* If it has ended, the symbol at its address is that of other code by now. */
	if (f->name)
		ret->name = strpool_add(s->pool, f->name);
	else if (f->until_ns == UINT64_MAX)
		ret->name = kallsyms_at(s->kallsyms, f->start);
	else
		ret->name = NULL;
	if (!ret->name)
		return false;
	ret->module = match_starts(ret->name, "bpf_") ? "bpf" : "";
	ret->start = f->start;
	return true;
}

static int name_entry(struct symbolizer *s, struct entry *entry, struct frame *frame)
{
	struct kernel_symbol sym;
	struct object *object;

	entry->resolved.miss = MISS_KERNEL_HIDDEN;
	if (!s->kallsyms)
		return 0;
	entry->resolved.miss = MISS_KERNEL;
	if (!find_symbol(s, entry, &sym))
		return 0;
	if (sym.module[0]) {
		object = module_object(s, sym.module);
		if (!object)
			return -ENOMEM;
		entry->resolved.object = object;
	}
	*frame = (struct frame){.function = sym.name, .system_name = "", .file = ""};
	entry->resolved.frames = frame;
	entry->resolved.nr_frames = 1;
	return 0;
}

static int resolve_all(struct symbolizer *s, struct source *source)
{
	_cleanup_free_ struct frame *frames = calloc(source->nr_pending, sizeof(*frames));
	struct frame *frame = frames; /* one for each address */
	int err;

	load_kallsyms(s);
	err = frames ? symbolizer_keep_frames(s, &frames) : -ENOMEM;
	for (size_t i = 0; i < source->nr_pending; i++) {
		struct entry *entry = table_entry(&s->table, source->pending[i]);

		if (err)
			entry->resolved.miss = MISS_LIMIT;
		else
			err = name_entry(s, entry, frame++);
	}
	return err;
}

const struct resolver symbolizer_kernel = {.step = resolve_all};
