// SPDX-License-Identifier: GPL-2.0-or-later
#include "launch/python_hook.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "launch/python_site.h"

#define MODE_VARIABLE "LINEBURN_PYTHON_HOOK"

static bool has_hook(const char *folder)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/startup/sitecustomize.py", folder);
	if (access(path, R_OK))
		return false;
	snprintf(path, sizeof(path), "%s/lineburn_hook/__init__.py", folder);
	return !access(path, R_OK);
}

int python_hook_find(char ret[PATH_MAX], struct error *err)
{
	static const char *const places[] = {"python", "../python",
					     "../share/lineburn/python"};
	char exe[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (len < 0)
		return error_set(err, -errno, "cannot read /proc/self/exe: %m");
	exe[len] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char place[PATH_MAX + 64], found[PATH_MAX];
		char copy[PATH_MAX];

		memcpy(copy, exe, (size_t)len + 1);
		snprintf(place, sizeof(place), "%s/%s", dirname(copy), places[i]);
		if (!realpath(place, found) || !has_hook(found))
			continue;
		memcpy(ret, found, strlen(found) + 1);
		return 0;
	}
	return error_set(err, -ENOENT,
			 "there are no Python files beside %s that can be read; install "
			 "lineburn with \"make install\"",
			 exe);
}

/* ---- the environment of a started command ---- */

static bool is_python(const char *command)
{
	const char *slash = strrchr(command, '/');

	return !strncmp(slash ? slash + 1 : command, "python", strlen("python"));
}

/*
 * An entry that is empty means the current directory, so no colon may follow or
 * precede what was not there.
 */
static int prepend_to_pythonpath(const char *folder)
{
	const char *old = getenv("PYTHONPATH");
	size_t len = strlen(folder);
	_cleanup_free_ char *all = NULL;

	/* lineburn run -- lineburn run -- python */
	if (old && !strncmp(old, folder, len) && (!old[len] || old[len] == ':'))
		return 0;
	if (!old || !*old)
		return setenv("PYTHONPATH", folder, 1) ? -errno : 0;
	if (asprintf(&all, "%s:%s", folder, old) < 0)
		return -ENOMEM;
	return setenv("PYTHONPATH", all, 1) ? -errno : 0;
}

static int put_in_place(struct error *err)
{
	char home[PATH_MAX], folder[PATH_MAX + 16];
	int rc = python_hook_find(home, err);

	if (rc)
		return rc;
	snprintf(folder, sizeof(folder), "%s/startup", home);
	if (strchr(folder, ':'))
		return error_set(err, -EINVAL,
				 "PYTHONPATH cannot hold %s: it has a colon", folder);
	rc = prepend_to_pythonpath(folder);
	if (rc)
		return error_set(err, rc, "out of memory");
	return setenv(MODE_VARIABLE, "run", 1) ? -errno : 0;
}

void python_hook_set_environ(bool on, const char *command)
{
	const char *given = getenv(MODE_VARIABLE);
	struct error err = {0};

	if (!on)
		setenv(MODE_VARIABLE, "off", 1);
	if (!on || (given && !strcmp(given, "off")))
		return;
	if (!put_in_place(&err))
		return;
	if (is_python(command))
		log_warning("Numba's code gets no lines: %s", err.text);
	else
		log_info("Python's hook: %s, skipping", err.text);
}

/* ---- lineburn python-hook ---- */

static int print_path(const char *home)
{
	printf("%s/startup\n", home);
	return 0;
}

int python_hook_run(enum python_hook_action action, const char *prefix,
		    const char *cache_dir, struct error *err)
{
	char home[PATH_MAX];
	int rc;

	if (action == PYTHON_HOOK_REMOVE)
		return python_site_remove(prefix, err);
	rc = python_hook_find(home, err);
	if (rc)
		return rc;
	if (action == PYTHON_HOOK_PATH)
		return print_path(home);
	return python_site_install(prefix, home, cache_dir, err);
}
