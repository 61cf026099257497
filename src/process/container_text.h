/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of containers in what runtimes and the kubelet keep about them. Pure functions;
 * a container of Kubernetes is named NAMESPACE/POD/CONTAINER, whoever runs it.
 */
#ifndef LB_PROCESS_CONTAINER_TEXT_H
#define LB_PROCESS_CONTAINER_TEXT_H

#include <stdbool.h>
#include <stddef.h>

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
