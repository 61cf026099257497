// SPDX-License-Identifier: GPL-2.0-or-later
#include "launch/python_site.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "launch/python_prefix.h"

#define PACKAGE          "lineburn_hook"
#define PTH              "lineburn-hook.pth"
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

/* ---- one folder ---- */

static int cannot(struct error *err, int rc, const char *what,
		  const struct python_folder *folder, const char *name)
{
	errno = -rc;
	return error_set(err, rc, "cannot %s %s/%s: %m", what, folder->path, name);
}

/* Readable for all: the service runs as somebody else. */
static int write_file(const struct python_folder *folder, const char *name,
		      const char *text, size_t len, struct error *err)
{
	_cleanup_close_ int fd = -1;
	int rc = io_write_file_at(folder->fd, name, text, len, true, &fd);

	if (!rc && fchmod(fd, 0644))
		rc = -errno;
	return rc ? cannot(err, rc, "write", folder, name) : 0;
}

static int remove_file(const struct python_folder *folder, const char *name,
		       bool *removed, struct error *err)
{
	if (!unlinkat(folder->fd, name, 0))
		*removed = true;
	else if (errno != ENOENT && errno != ENOTDIR)
		return cannot(err, -errno, "remove", folder, name);
	return 0;
}

static void close_folder(struct python_folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
	free(folder->path);
}

/* Return: -ENOENT without a sentence: there is none, or what has its name is no folder. */
static int open_package(const struct python_folder *site, struct python_folder *ret,
			struct error *err)
{
	_cleanup_close_ int fd = openat(site->fd, PACKAGE,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return -ENOENT;
	if (fd < 0)
		return cannot(err, -errno, "open", site, PACKAGE);
	if (asprintf(&ret->path, "%s/" PACKAGE, site->path) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	ret->fd = take_fd(&fd);
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

static int write_package(const struct python_folder *folder,
			 const struct module_text *texts, const char *cache_dir,
			 struct error *err)
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

static int install_one(const struct python_folder *site, const struct module_text *texts,
		       const char *cache_dir, struct error *err)
{
	_cleanup_(close_folder) struct python_folder folder = {.fd = -1};
	int rc;

	if (mkdirat(site->fd, PACKAGE, 0755) && errno != EEXIST)
		return cannot(err, -errno, "make", site, PACKAGE);
	rc = open_package(site, &folder, err);
	if (rc == -ENOENT)
		return error_set(err, -ENOTDIR,
				 "%s/" PACKAGE " is there, and is no folder", site->path);
	if (!rc && fchmod(folder.fd, 0755))
		rc = error_set(err, -errno, "cannot open %s to all: %m", folder.path);
	if (!rc)
		rc = write_package(&folder, texts, cache_dir, err);
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

static int install_all(const char *prefix, const struct module_text *texts,
		       const char *cache_dir, struct error *err)
{
	struct python_prefix p;
	int rc = python_prefix_init(&p, prefix, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < p.nr_sites && !rc; i++) {
		rc = install_one(&p.sites[i], texts, cache_dir, err);
		if (!rc)
			log_warning("the hook of " LINEBURN_VERSION " is in %s/" PACKAGE
				    "; restart the service",
				    p.sites[i].path);
	}
	python_prefix_deinit(&p);
	return rc;
}

int python_site_install(const char *prefix, const char *home, const char *cache_dir,
			struct error *err)
{
	struct module_text texts[ARRAY_SIZE(modules)] = {0};
	char cache[PATH_MAX];
	int rc = 0;

	if (cache_dir)
		rc = make_absolute(cache_dir, cache, err);
	if (!rc)
		rc = read_modules(home, texts, err);
	if (!rc)
		rc = install_all(prefix, texts, cache_dir ? cache : NULL, err);
	free_modules(texts);
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

static void remove_compiled(const struct python_folder *folder)
{
	int fd = openat(folder->fd, "__pycache__",
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (fd >= 0 && !dir)
		close(fd);
	while (dir && (entry = readdir(dir))) {
		if (is_compiled_module(entry->d_name))
			unlinkat(fd, entry->d_name, 0);
	}
	unlinkat(folder->fd, "__pycache__", AT_REMOVEDIR);
}

/* The .pth file first: from then on nothing starts what is being removed. */
static int remove_one(const struct python_folder *site, bool *removed, struct error *err)
{
	_cleanup_(close_folder) struct python_folder folder = {.fd = -1};
	char name[64];
	int rc;

	rc = remove_file(site, PTH, removed, err);
	if (!rc)
		rc = open_package(site, &folder, err);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	remove_compiled(&folder);
	for (size_t i = 0; i < ARRAY_SIZE(modules) && !rc; i++) {
		snprintf(name, sizeof(name), "%s.py", modules[i]);
		rc = remove_file(&folder, name, removed, err);
	}
	if (!rc)
		rc = remove_file(&folder, "version", removed, err);
	if (!rc)
		rc = remove_file(&folder, "cache-dir", removed, err);
	if (!rc && unlinkat(site->fd, PACKAGE, AT_REMOVEDIR))
		rc = cannot(err, -errno, "remove", site, PACKAGE);
	return rc;
}

int python_site_remove(const char *prefix, struct error *err)
{
	struct python_prefix p;
	int rc = python_prefix_init(&p, prefix, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < p.nr_sites && !rc; i++) {
		bool removed = false;

		rc = remove_one(&p.sites[i], &removed, err);
		if (!rc)
			log_warning("%s %s",
				    removed ? "the hook was removed from"
					    : "there is no hook in",
				    p.sites[i].path);
	}
	python_prefix_deinit(&p);
	return rc;
}
