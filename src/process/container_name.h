/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of containers, by id, as far as files of their runtimes tell: of docker,
 * podman and CRI-O, and of the kubelet. They are looked for in our own root, and in that of
 * pid 1, where lineburn is in a container that sees the processes of its host; only what
 * belongs to root is read. A runtime writes some of them a moment after it has started the
 * container, so a name that is not there is looked for again.
 */
#ifndef LB_PROCESS_CONTAINER_NAME_H
#define LB_PROCESS_CONTAINER_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct container_names;

/* Ids kept; with one more, all are forgotten and looked for anew. */
#define CONTAINER_NAMES_MAX 16384

/**
 * @root_fds  at most 2, O_PATH; takes them, -1 is skipped, closes them on failure too
 * Return: NULL when out of memory.
 */
struct container_names *container_names_new(const int *root_fds, size_t nr_roots);
void container_names_free(struct container_names *names);
DEFINE_CLEANUP(struct container_names, container_names_free);

/**
 * What @id, any text, is called; looks for it when it is asked for the first time.
 * Files that list many are looked at once a second at most, and read when they changed.
 * Return: "" when it is not known; valid until the next call.
 */
const char *container_names_find(struct container_names *names, const char *id,
				 uint64_t now_ns);

/**
 * Looks again for what was not there, if it is time. Return: was anything found, by this or
 * since the last call, that was asked for in vain?
 */
bool container_names_retry(struct container_names *names, uint64_t now_ns);

#endif
