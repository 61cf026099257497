/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the names of containers by id in files of docker, podman, CRI-O and the
 * kubelet. It searches our own root and that of pid 1, because lineburn may run in a
 * container that sees the host's processes. It reads only files that belong to root. A
 * runtime writes some of them shortly after it starts the container, so missing names
 * are retried.
 */
#ifndef LB_PROCESS_CONTAINER_NAME_H
#define LB_PROCESS_CONTAINER_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct container_names;

/* Most ids cached. The cache is emptied when one more is added. */
#define CONTAINER_NAMES_MAX 16384

/**
 * @root_fds  at most 2, O_PATH; takes them, also on failure; -1 is skipped
 * Return: NULL when out of memory.
 */
struct container_names *container_names_new(const int *root_fds, size_t nr_roots);
void container_names_free(struct container_names *names);
DEFINE_CLEANUP(struct container_names, container_names_free);

/**
 * Returns the name of @id, any text. The first call for an id searches the files. Files
 * with many names are checked at most once a second, and read only if they changed.
 * Return: "" when it is not known; valid until the next call.
 */
const char *container_names_find(struct container_names *names, const char *id,
				 uint64_t now_ns);

/**
 * Retries missing names that are due. Return: whether a retry or a search for another
 * id found one since the last call.
 */
bool container_names_retry(struct container_names *names, uint64_t now_ns);

/*
 * Parsers of the files of runtimes and the kubelet. Pure functions. A container of
 * Kubernetes is named NAMESPACE/POD/CONTAINER with every runtime.
 */

#define CONTAINER_HEX_ID_LEN 64
/* NAMESPACE and CONTAINER are DNS labels of 63, POD is a name of 253. */
#define CONTAINER_NAME_BYTES 512

typedef void (*container_add)(void *ctx, const char *id, const char *name);

/** Returns whether @id is exactly 64 hex digits. */
bool container_is_hex_id(const char *id);

/**
 * Parses containers.json and volatile-containers.json of containers/storage, which podman
 * and CRI-O write: an array of {"id": ..., "names": [...]} (container-storage(5),
 * containers/storage: containers.go). Calls @add for each that has both.
 * Return: 0, or -EBADMSG when it is no such array.
 */
int container_names_in_storage(const char *text, size_t len, container_add add,
			       void *ctx);

/**
 * Parses dockerd's config.v2.json: {"Name": "/web", ...} (moby:
 * daemon/container/container.go).
 * Return: 0, or -EBADMSG with @ret, CONTAINER_NAME_BYTES, unchanged.
 */
int container_name_in_docker(const char *text, size_t len, char *ret);

/**
 * Parses the kubelet's name of a container's log, POD_NAMESPACE_CONTAINER-ID.log
 * (kubelet: pkg/kubelet/kuberuntime/legacy.go).
 *
 * @ret_id  CONTAINER_HEX_ID_LEN + 1; @ret_name  CONTAINER_NAME_BYTES
 * Return: whether it is such a name.
 */
bool container_of_log(const char *file, char *ret_id, char *ret_name);

#endif
