/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols of the kernel and its modules from kallsyms. They are trusted, because the
 * kernel wrote them.
 */
#ifndef LB_SYMBOLIZE_KALLSYMS_H
#define LB_SYMBOLIZE_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/strpool.h"

struct kallsyms;

struct kernel_symbol {
	const char *name;
	const char *module; /* "" for vmlinux */
	uint64_t start;
};

/*
 * The kernel hides addresses from readers without CAP_SYSLOG, by the rights with which a
 * file was opened. So these are opened once, early.
 */
struct kallsyms_files {
	int symbols_fd, modules_fd; /* -1: cannot be opened */
};

/** @symbols  "/proc/kallsyms"; @modules  "/proc/modules"; tests use fixtures */
void kallsyms_files_open(struct kallsyms_files *ret, const char *symbols,
			 const char *modules);
void kallsyms_files_close(struct kallsyms_files *files);
/** Returns a hash of the modules that are loaded: names, sizes and addresses. */
uint64_t kallsyms_hash_modules(const struct kallsyms_files *files);

/** Return: 0, -errno, -EACCES when all addresses are hidden. */
int kallsyms_load(const struct kallsyms_files *files, struct strpool *pool,
		  struct kallsyms **ret);
void kallsyms_free(struct kallsyms *k);
DEFINE_CLEANUP(struct kallsyms, kallsyms_free);

/**
 * Finds the text symbol that @ip belongs to. Return: false when there is none, or when
 * @ip may be in other code: symbols have no size, and code between them may have none.
 * So never that of code which the kernel generated, such as a BPF program.
 */
bool kallsyms_find(const struct kallsyms *k, uint64_t ip, struct kernel_symbol *ret);

/** Returns the name of the text symbol at @start, interned, or NULL. */
const char *kallsyms_at(const struct kallsyms *k, uint64_t start);

#endif
