// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of /proc/kallsyms (kernel/kallsyms.c, s_show()):
 *
 *   ffffffff81000000 T _stext
 *   ffffffffc0a4e000 t nf_hook_slow\t[nf_tables]
 *   ffffffffc03f1a40 t bpf_prog_6deef7357e7b4530_sd_devices\t[bpf]
 *
 * There are 120,000 to 250,000 lines. So the text is kept as read, only an array of
 * offsets in it is sorted, and only names that are looked up are interned.
 *
 * Lines of /proc/modules (kernel/module/procfs.c, m_show()): a module, the bytes of all its
 * memory, and where its code begins, which is first in that memory, or, since Linux 6.4,
 * in pages of its own:
 *
 *   nf_tables 372736 110 nft_ct,nft_log, Live 0xffffffffc0a4e000 (E)
 */
#include "symbolize/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "base/search.h"
#include "base/vec.h"

#define MAX_BYTES     (512u << 20)
#define MAX_SYMBOLS   (8u << 20)
#define MAX_FUNCTION  (1u << 20) /* code farther above a symbol does not belong to it */
#define KERNEL_OFFSET UINT32_MAX
#define MAX_MODULES   65536
#define PAGE_BYTES    4096 /* the least; a module's code ends at the end of a page */

struct symbol_place {
	uint64_t ip;
	uint32_t name; /* offset in the text */
	uint32_t module; /* offset in the text; KERNEL_OFFSET: vmlinux */
};

struct module_place {
	const char *name; /* in modules_text */
	uint64_t start, end;
};

struct kallsyms {
	char *modules_text;
	struct module_place *modules;
	size_t nr_modules, cap_modules;
	char *text; /* names end in NUL after parsing */
	struct symbol_place *places; /* ascending, one per address */
	size_t nr, cap;
	struct strpool *pool;
};

/* Preference among symbols of one address, as for ELF. */
static const char types[] = "TtWw";

static size_t rank(const struct kallsyms *k, const struct symbol_place *p)
{
	/* The type is two bytes before the name: "T name". */
	return (size_t)(strchr(types, k->text[p->name - 2]) - types);
}

static int compare_places(const void *va, const void *vb, void *ctx)
{
	const struct symbol_place *a = va, *b = vb;
	const struct kallsyms *k = ctx;
	const char *name_a = k->text + a->name, *name_b = k->text + b->name;
	size_t us_a, us_b;

	if (a->ip != b->ip)
		return a->ip > b->ip ? 1 : -1;
	if (rank(k, a) != rank(k, b))
		return rank(k, a) > rank(k, b) ? 1 : -1;
	us_a = strspn(name_a, "_");
	us_b = strspn(name_b, "_");
	if (us_a != us_b)
		return us_a > us_b ? 1 : -1;
	return strcmp(name_a, name_b);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Adds one line if it is a text symbol; terminates its strings in place. */
static int take_line(struct kallsyms *k, char *line, char *end)
{
	struct symbol_place place = {.module = KERNEL_OFFSET};
	char *at = line, *tab;
	int err;

	for (; at < end && hex_digit(*at) >= 0; at++)
		place.ip = place.ip << 4 | (uint64_t)hex_digit(*at);
	if (at == line || end - at < 4 || at[0] != ' ' || at[2] != ' ' || !at[1] ||
	    !strchr(types, at[1]))
		return 0;
	place.name = (uint32_t)(at + 3 - k->text);
	*end = '\0';
	tab = memchr(at, '\t', (size_t)(end - at));
	if (tab) {
		*tab = '\0';
		if (tab[1] == '[' && end[-1] == ']') {
			end[-1] = '\0';
			place.module = (uint32_t)(tab + 2 - k->text);
		}
	}
	err = vec_grow(&k->places, &k->cap, k->nr + 1, sizeof(*k->places), MAX_SYMBOLS);
	if (err)
		return err == -ENOSPC ? 0 : err;
	k->places[k->nr++] = place;
	return 0;
}

static int parse(struct kallsyms *k, size_t len)
{
	char *line = k->text, *text_end = k->text + len;

	while (line < text_end) {
		char *end = memchr(line, '\n', (size_t)(text_end - line));
		int err;

		if (!end)
			end = text_end;
		err = take_line(k, line, end);
		if (err)
			return err;
		line = end + 1;
	}
	return 0;
}

/* Adds the module of one line, which ends in NUL. */
static int take_module(struct kallsyms *k, char *line)
{
	char *rest = line, *name = strsep(&rest, " "), *at;
	struct module_place place = {.name = name};
	uint64_t bytes;

	if (!rest)
		return 0;
	bytes = strtoull(rest, NULL, 10);
	at = strstr(rest, " 0x");
	if (!at)
		return 0;
	place.start = strtoull(at + 1, NULL, 16);
	if (__builtin_add_overflow(place.start, bytes, &place.end))
		return 0;
	if (vec_grow(&k->modules, &k->cap_modules, k->nr_modules + 1, sizeof(place),
		     MAX_MODULES))
		return -ENOMEM;
	k->modules[k->nr_modules++] = place;
	return 0;
}

void kallsyms_files_open(struct kallsyms_files *ret, const char *symbols,
			 const char *modules)
{
	ret->symbols_fd = open(symbols, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ret->modules_fd = open(modules, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

void kallsyms_files_close(struct kallsyms_files *files)
{
	cleanup_closep(&files->symbols_fd);
	cleanup_closep(&files->modules_fd);
}

/* Reads from the start. *ret is terminated; the caller frees it. */
static int read_whole(int fd, char **ret, size_t *ret_len)
{
	if (fd < 0)
		return -ENOENT;
	if (lseek(fd, 0, SEEK_SET))
		return -errno;
	return io_read_all(fd, MAX_BYTES, ret, ret_len);
}

uint64_t kallsyms_hash_modules(const struct kallsyms_files *files)
{
	_cleanup_free_ char *text = NULL;
	char *rest, *line;
	const char *place;
	uint64_t hash = 0;
	size_t len;

	if (read_whole(files->modules_fd, &text, &len))
		return 0;
	rest = text;
	/* Not the number of its users, which follows its name and size. */
	while ((line = strsep(&rest, "\n"))) {
		size_t name = strcspn(line, " ");

		name += line[name] ? 1 + strcspn(line + name + 1, " ") : 0;
		place = strstr(line, " 0x");
		hash = hash_bytes(hash, line, name);
		if (place)
			hash = hash_bytes(hash, place, strcspn(place + 1, " ") + 1);
	}
	return hash;
}

/* Without the file (a kernel without modules), no module is known. */
static int read_modules(struct kallsyms *k, int fd)
{
	char *rest, *line;
	size_t len;
	int err = read_whole(fd, &k->modules_text, &len);

	if (err)
		return err == -ENOMEM ? err : 0;
	rest = k->modules_text;
	while (!err && (line = strsep(&rest, "\n")))
		err = take_module(k, line);
	return err;
}

static bool all_hidden(const struct kallsyms *k)
{
	for (size_t i = 0; i < k->nr; i++)
		if (k->places[i].ip)
			return false;
	return true;
}

static void keep_best_names(struct kallsyms *k)
{
	size_t kept = 0;

	qsort_r(k->places, k->nr, sizeof(*k->places), compare_places, k);
	for (size_t i = 0; i < k->nr; i++)
		if (!kept || k->places[kept - 1].ip != k->places[i].ip)
			k->places[kept++] = k->places[i];
	k->nr = kept;
}

int kallsyms_load(const struct kallsyms_files *files, struct strpool *pool,
		  struct kallsyms **ret)
{
	_cleanup_(kallsyms_freep) struct kallsyms *k = calloc(1, sizeof(*k));
	size_t len;
	int err;

	if (!k)
		return -ENOMEM;
	k->pool = pool;
	err = read_whole(files->symbols_fd, &k->text, &len);
	if (!err)
		err = parse(k, len);
	if (!err)
		err = read_modules(k, files->modules_fd);
	if (err)
		return err;
	if (!k->nr)
		return -ENODATA;
	if (all_hidden(k))
		return -EACCES;
	keep_best_names(k);
	*ret = take_ptr(k);
	return 0;
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	free(k->places);
	free(k->modules);
	free(k->modules_text);
	free(k->text);
	free(k);
}

/* Does the symbol mark the end of code? Addresses after it have no symbol. */
static bool is_end_marker(const char *name)
{
	return !strcmp(name, "_etext") || !strcmp(name, "_einittext");
}

static bool is_in_module(const struct kallsyms *k, const char *name, uint64_t ip)
{
	for (size_t i = 0; i < k->nr_modules; i++)
		if (strcmp(k->modules[i].name, name) == 0)
			return ip - k->modules[i].start <
			       k->modules[i].end - k->modules[i].start;
	return false;
}

static bool is_last_of_module(const struct kallsyms *k, const struct symbol_place *p)
{
	const struct symbol_place *next = p + 1;

	return next == k->places + k->nr || next->module == KERNEL_OFFSET ||
	       strcmp(k->text + next->module, k->text + p->module) != 0;
}

/*
 * Does @ip, above symbol @p and below the next symbol, belong to it? Code that the kernel
 * generates ("bpf", "__builtin__ftrace", "__builtin__kprobes") is in no module.
 */
static bool reaches(const struct kallsyms *k, const struct symbol_place *p, uint64_t ip)
{
	if (p->module == KERNEL_OFFSET)
		return ip - p->ip <= MAX_FUNCTION && !is_end_marker(k->text + p->name);
	if (is_last_of_module(k, p) && ip / PAGE_BYTES != p->ip / PAGE_BYTES)
		return false;
	return is_in_module(k, k->text + p->module, ip);
}

const char *kallsyms_at(const struct kallsyms *k, uint64_t start)
{
	size_t at = SEARCH_FIRST(i, k->nr, k->places[i].ip >= start);

	return at < k->nr && k->places[at].ip == start
		       ? strpool_add(k->pool, k->text + k->places[at].name)
		       : NULL;
}

bool kallsyms_find(const struct kallsyms *k, uint64_t ip, struct kernel_symbol *ret)
{
	size_t above = SEARCH_FIRST(i, k->nr, k->places[i].ip > ip);
	const struct symbol_place *p;

	if (!above)
		return false;
	p = &k->places[above - 1];
	if (!reaches(k, p, ip))
		return false;
	ret->name = strpool_add(k->pool, k->text + p->name);
	ret->module = strpool_add(k->pool,
				  p->module == KERNEL_OFFSET ? "" : k->text + p->module);
	ret->start = p->ip;
	return true;
}
