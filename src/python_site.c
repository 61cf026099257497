// SPDX-License-Identifier: GPL-2.0-or-later
#include "python_site.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/creds.h"
#include "base/io.h"

#define PACKAGE          "lineburn_hook"
#define PTH              "lineburn-hook.pth"
#define OLDEST_MINOR     9
#define MODULE_MAX_BYTES (1u << 20)

/* One line, as site wants it; a package that is gone must not cost a traceback. */
static const char pth_text[] = "import sys; exec(\"try:\\n import " PACKAGE "\\n " PACKAGE
			       ".start()\\nexcept Exception:\\n pass\")\n";

/* Of the package; what is compiled from them has the same names before the dot. */
static const char *const modules[] = {"__init__", "numba_lines", "numba_cache"};

struct module_text {
	char *text; /* heap */
	size_t len;
};

/* ---- which folders ---- */

/* PREFIX/lib/python3.N/site-packages of each N that is new enough. */
static int find_sites(const char *prefix, glob_t *ret, struct error *err)
{
	_cleanup_free_ char *pattern = NULL;
	size_t nr = 0;

	if (asprintf(&pattern, "%s/lib/python3.*/site-packages", prefix) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	if (glob(pattern, GLOB_ONLYDIR, NULL, ret))
		return error_set(err, -ENOENT,
				 "%s is no virtual environment or prefix of a Python: it "
				 "has no lib/python3.*/site-packages",
				 prefix);
	for (size_t i = 0; i < ret->gl_pathc; i++) {
		const char *minor = ret->gl_pathv[i] + strlen(prefix) +
				    strlen("/lib/python3.");

		if (strtoul(minor, NULL, 10) >= OLDEST_MINOR)
			ret->gl_pathv[nr++] = ret->gl_pathv[i];
		else
			free(ret->gl_pathv[i]);
	}
	ret->gl_pathc = nr;
	ret->gl_pathv[nr] = NULL;
	if (!nr) {
		globfree(ret);
		return error_set(err, -ENOENT,
				 "the Python of %s is older than 3.%d: its Numba is not "
				 "known to the hook",
				 prefix, OLDEST_MINOR);
	}
	return 0;
}

/* The path becomes part of a pattern, so it may not be one itself. */
static int check_prefix(const char *prefix, struct error *err)
{
	struct stat st;

	if (strpbrk(prefix, "*?[\\"))
		return error_set(err, -EINVAL, "%s has one of *?[\\ in its name", prefix);
	if (stat(prefix, &st))
		return error_set(err, -errno, "cannot look into %s: %m", prefix);
	return 0;
}

/* ---- with whose rights ---- */

/* As root only: whoever owns the folder could divert what we write there. */
static int become_owner(const char *site, bool *ret_is_other, struct creds *creds,
			struct error *err)
{
	struct stat st;

	if (stat(site, &st))
		return error_set(err, -errno, "cannot look into %s: %m", site);
	*ret_is_other = !geteuid() && st.st_uid;
	if (*ret_is_other && creds_become(creds, st.st_uid, st.st_gid))
		return error_set(err, -EPERM,
				 "cannot write to %s with its owner's rights", site);
	return 0;
}

/* ---- install ---- */

static void free_modules(struct module_text *texts)
{
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
		free(texts[i].text);
}

static int read_modules(const char *home, struct module_text *ret, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
		char path[PATH_MAX + 64];
		int rc;

		snprintf(path, sizeof(path), "%s/" PACKAGE "/%s.py", home, modules[i]);
		rc = io_read_file(path, MODULE_MAX_BYTES, &ret[i].text, &ret[i].len);
		if (rc) {
			errno = -rc;
			return error_set(err, rc, "cannot read %s: %m", path);
		}
	}
	return 0;
}

/* Readable for all: the service runs as somebody else. */
static int write_file(const char *folder, const char *name, const char *text, size_t len,
		      struct error *err)
{
	char path[PATH_MAX + 64];
	int rc;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	rc = io_write_file_atomic(path, text, len, false, (uid_t)-1, (gid_t)-1, NULL);
	if (!rc && chmod(path, 0644))
		rc = -errno;
	if (!rc)
		return 0;
	errno = -rc;
	return error_set(err, rc, "cannot write %s: %m", path);
}

static int remove_file(const char *folder, const char *name, bool *removed,
		       struct error *err)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!unlink(path))
		*removed = true;
	else if (errno != ENOENT && errno != ENOTDIR)
		return error_set(err, -errno, "cannot remove %s: %m", path);
	return 0;
}

static int write_package(const char *folder, const struct module_text *texts,
			 const char *cache_dir, struct error *err)
{
	static const char version[] = LINEBURN_VERSION "\n";
	char name[64], cache[PATH_MAX + 2];
	bool forgotten;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(modules) && !rc; i++) {
		snprintf(name, sizeof(name), "%s.py", modules[i]);
		rc = write_file(folder, name, texts[i].text, texts[i].len, err);
	}
	if (!rc)
		rc = write_file(folder, "version", version, sizeof(version) - 1, err);
	if (rc)
		return rc;
	if (cache_dir) {
		snprintf(cache, sizeof(cache), "%s\n", cache_dir);
		return write_file(folder, "cache-dir", cache, strlen(cache), err);
	}
	return remove_file(folder, "cache-dir", &forgotten, err);
}

static int install_one(const char *site, const struct module_text *texts,
		       const char *cache_dir, struct error *err)
{
	char folder[PATH_MAX];
	struct stat st;
	int rc;

	if ((size_t)snprintf(folder, sizeof(folder), "%s/" PACKAGE, site) >=
	    sizeof(folder))
		return error_set(err, -ENAMETOOLONG, "%s is too long a path", site);
	if (mkdir(folder, 0755) && errno != EEXIST)
		return error_set(err, -errno, "cannot make %s: %m", folder);
	if (lstat(folder, &st) || !S_ISDIR(st.st_mode))
		return error_set(err, -ENOTDIR, "%s is there, and is no folder", folder);
	if (chmod(folder, 0755))
		return error_set(err, -errno, "cannot open %s to all: %m", folder);
	rc = write_package(folder, texts, cache_dir, err);
	if (rc)
		return rc;
	return write_file(site, PTH, pth_text, sizeof(pth_text) - 1, err);
}

/* Absolute, since the service will look at it from somewhere else. */
static int make_absolute(const char *path, char ret[PATH_MAX], struct error *err)
{
	char cwd[PATH_MAX] = "";

	if (!*path || strchr(path, '\n'))
		return error_set_exit(err, EXIT_USAGE, -EINVAL,
				      "--cache-dir takes the path of a folder");
	if (*path != '/' && !getcwd(cwd, sizeof(cwd)))
		return error_set(err, -errno, "cannot find the current folder: %m");
	if ((size_t)snprintf(ret, PATH_MAX, "%s%s%s", cwd, *cwd ? "/" : "", path) >=
	    PATH_MAX)
		return error_set(err, -ENAMETOOLONG, "%s is too long a path", path);
	return 0;
}

static int install_all(const glob_t *sites, const struct module_text *texts,
		       const char *cache_dir, struct error *err)
{
	for (size_t i = 0; i < sites->gl_pathc; i++) {
		const char *site = sites->gl_pathv[i];
		struct creds creds;
		bool is_other;
		int rc = become_owner(site, &is_other, &creds, err);

		if (rc)
			return rc;
		rc = install_one(site, texts, cache_dir, err);
		if (is_other)
			creds_restore(&creds);
		if (rc)
			return rc;
		fprintf(stderr,
			"lineburn: the hook of " LINEBURN_VERSION " is in %s/" PACKAGE
			"; restart the service\n",
			site);
	}
	return 0;
}

int python_site_install(const char *prefix, const char *home, const char *cache_dir,
			struct error *err)
{
	struct module_text texts[ARRAY_SIZE(modules)] = {0};
	char cache[PATH_MAX];
	glob_t sites = {0};
	int rc = check_prefix(prefix, err);

	if (!rc && cache_dir)
		rc = make_absolute(cache_dir, cache, err);
	if (!rc)
		rc = find_sites(prefix, &sites, err);
	if (rc)
		return rc;
	rc = read_modules(home, texts, err);
	if (!rc)
		rc = install_all(&sites, texts, cache_dir ? cache : NULL, err);
	free_modules(texts);
	globfree(&sites);
	return rc;
}

/* ---- remove ---- */

/* Is it a module of ours, compiled? "numba_lines.cpython-311.pyc" */
static bool is_compiled_module(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
		size_t len = strlen(modules[i]);

		if (!strncmp(name, modules[i], len) && name[len] == '.')
			return true;
	}
	return false;
}

static void remove_compiled(const char *folder)
{
	char path[PATH_MAX + NAME_MAX + 32];
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;

	snprintf(path, sizeof(path), "%s/__pycache__", folder);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (is_compiled_module(entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	rmdir(path);
}

/* The .pth file first: from then on nothing starts what is being removed. */
static int remove_one(const char *site, bool *removed, struct error *err)
{
	char folder[PATH_MAX], name[64];
	struct stat st;
	int rc;

	if ((size_t)snprintf(folder, sizeof(folder), "%s/" PACKAGE, site) >=
	    sizeof(folder))
		return error_set(err, -ENAMETOOLONG, "%s is too long a path", site);
	rc = remove_file(site, PTH, removed, err);
	if (rc || lstat(folder, &st) || !S_ISDIR(st.st_mode))
		return rc;
	remove_compiled(folder);
	for (size_t i = 0; i < ARRAY_SIZE(modules) && !rc; i++) {
		snprintf(name, sizeof(name), "%s.py", modules[i]);
		rc = remove_file(folder, name, removed, err);
	}
	if (!rc)
		rc = remove_file(folder, "version", removed, err);
	if (!rc)
		rc = remove_file(folder, "cache-dir", removed, err);
	if (!rc && rmdir(folder))
		return error_set(err, -errno, "cannot remove %s: %m", folder);
	return rc;
}

int python_site_remove(const char *prefix, struct error *err)
{
	glob_t sites = {0};
	int rc = check_prefix(prefix, err);

	if (!rc)
		rc = find_sites(prefix, &sites, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < sites.gl_pathc && !rc; i++) {
		struct creds creds;
		bool is_other, removed = false;

		rc = become_owner(sites.gl_pathv[i], &is_other, &creds, err);
		if (rc)
			break;
		rc = remove_one(sites.gl_pathv[i], &removed, err);
		if (is_other)
			creds_restore(&creds);
		if (!rc)
			fprintf(stderr, "lineburn: %s %s\n",
				removed ? "the hook was removed from"
					: "there is no hook in",
				sites.gl_pathv[i]);
	}
	globfree(&sites);
	return rc;
}
