// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/container_text.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static void json_freep(json_t **json)
{
	json_decref(*json);
}

bool container_is_hex_id(const char *id)
{
	size_t n = 0;

	while (isxdigit((unsigned char)id[n]))
		n++;
	return n == CONTAINER_HEX_ID_LEN && !id[n];
}

struct part {
	const char *at;
	size_t len;
};

/* "a_b_c", @nr 3; the last one has what is left. Return: are there so many, none empty? */
static bool split_name(const char *name, size_t len, struct part *parts, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const char *end = i + 1 < nr ? memchr(name, '_', len) : name + len;

		if (!end || end == name)
			return false;
		parts[i] = (struct part){name, (size_t)(end - name)};
		len -= parts[i].len + (i + 1 < nr);
		name = end + 1;
	}
	return true;
}

static bool put_kubernetes(const struct part *ns, const struct part *pod,
			   const struct part *container, char *ret)
{
	if (ns->len + pod->len + container->len + 3 > CONTAINER_NAME_BYTES)
		return false;
	snprintf(ret, CONTAINER_NAME_BYTES, "%.*s/%.*s/%.*s", (int)ns->len, ns->at,
		 (int)pod->len, pod->at, (int)container->len, container->at);
	return true;
}

/*
 * cri-dockerd and CRI-O name those of Kubernetes k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT
 * (cri-dockerd: core/naming.go).
 */
static bool put_name(const char *name, char *ret)
{
	static const char kubernetes[] = "k8s_";
	size_t len = strlen(name), skip = sizeof(kubernetes) - 1;
	struct part parts[5];

	if (!strncmp(name, kubernetes, skip) &&
	    split_name(name + skip, len - skip, parts, ARRAY_SIZE(parts)))
		return put_kubernetes(&parts[2], &parts[1], &parts[0], ret);
	if (!len || len >= CONTAINER_NAME_BYTES)
		return false;
	memcpy(ret, name, len + 1);
	return true;
}

int container_names_in_storage(const char *text, size_t len, container_add add, void *ctx)
{
	_cleanup_(json_freep) json_t *root = json_loadb(text, len, 0, NULL);
	json_t *container;
	size_t i;

	if (!json_is_array(root))
		return -EBADMSG;
	json_array_foreach(root, i, container)
	{
		const char *id = json_string_value(json_object_get(container, "id"));
		const char *name = json_string_value(
			json_array_get(json_object_get(container, "names"), 0));
		char shown[CONTAINER_NAME_BYTES];

		if (id && name && container_is_hex_id(id) && put_name(name, shown))
			add(ctx, id, shown);
	}
	return 0;
}

int container_name_in_docker(const char *text, size_t len, char *ret)
{
	_cleanup_(json_freep) json_t *root = json_loadb(text, len, 0, NULL);
	const char *name = json_string_value(json_object_get(root, "Name"));

	if (name && *name == '/')
		name++;
	return name && put_name(name, ret) ? 0 : -EBADMSG;
}

bool container_of_log(const char *file, char *ret_id, char *ret_name)
{
	static const char suffix[] = ".log";
	size_t len = strlen(file), tail = CONTAINER_HEX_ID_LEN + sizeof(suffix) - 1;
	char id[CONTAINER_HEX_ID_LEN + 1] = "";
	struct part parts[3];

	if (len < tail + 2 || strcmp(file + len - sizeof(suffix) + 1, suffix) ||
	    file[len - tail - 1] != '-')
		return false;
	memcpy(id, file + len - tail, CONTAINER_HEX_ID_LEN);
	if (!container_is_hex_id(id) ||
	    !split_name(file, len - tail - 1, parts, ARRAY_SIZE(parts)) ||
	    !put_kubernetes(&parts[1], &parts[0], &parts[2], ret_name))
		return false;
	memcpy(ret_id, id, sizeof(id));
	return true;
}
