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

/*
 * Names of containers in what runtimes and the kubelet keep about them. Pure functions; a
 * container of Kubernetes is named NAMESPACE/POD/CONTAINER, whoever runs it.
 */

#define CONTAINER_HEX_ID_LEN 64
/* NAMESPACE and CONTAINER are DNS labels of 63, POD is a name of 253. */
#define CONTAINER_NAME_BYTES 512

typedef void (*container_add)(void *ctx, const char *id, const char *name);

/** 64 hex digits and no more? */
bool container_is_hex_id(const char *id);

/**
 * containers.json and volatile-containers.json of containers/storage, which podman and
 * CRI-O keep: an array of {"id": ..., "names": [...]} (container-storage(5),
 * containers/storage: containers.go). Calls @add for each that has both.
 * Return: 0, or -EBADMSG when it is no such array.
 */
int container_names_in_storage(const char *text, size_t len, container_add add,
			       void *ctx);

/**
 * config.v2.json of dockerd: {"Name": "/web", ...} (moby: daemon/container/container.go).
 * Return: 0, or -EBADMSG with @ret, CONTAINER_NAME_BYTES, unchanged.
 */
int container_name_in_docker(const char *text, size_t len, char *ret);

/**
 * What the kubelet calls a container's log, POD_NAMESPACE_CONTAINER-ID.log (kubelet:
 * pkg/kubelet/kuberuntime/legacy.go).
 *
 * @ret_id  CONTAINER_HEX_ID_LEN + 1; @ret_name  CONTAINER_NAME_BYTES
 * Return: is it one?
 */
bool container_of_log(const char *file, char *ret_id, char *ret_name);

#endif
