// SPDX-License-Identifier: GPL-2.0-or-later
#include "launch/python_hook.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/cleanup.h"
#include "base/creds.h"
#include "base/error.h"
#include "base/io.h"
#include "base/log.h"
#include "base/user.h"

#define PYTHON_OLDEST_MINOR 9

struct python_folder {
	int fd; /* O_PATH */
	char *path; /* heap; only for messages */
};

struct python_prefix {
	const char *path; /* as the user gave it, borrowed; only for messages */
	int fd; /* O_PATH */
	uid_t uid; /* its owner */
	gid_t gid;
	bool is_other; /* we have its owner's privileges instead of root's */
	struct creds creds;
	struct python_folder *sites; /* site-packages of each CPython >= 3.9 */
	size_t nr_sites; /* at least one */
};

#define MAX_LINKS 40 /* the kernel's limit */

/* Opens with O_PATH. Return: -ENOTDIR also if it is a link. */
static int open_no_link(int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	return errno == ELOOP ? -ENOTDIR : -errno;
}

static int open_following(int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* ---- path of the prefix ---- */

/*
 * State of a path walk: current folder, rest of the path, and owner of followed links.
 */
struct path_walk {
	int fd;
	char rest[PATH_MAX];
	uid_t linker; /* owner of followed links; 0: only root's */
	int nr_links;
};

/* @fd  a descriptor, taken, or a negative errno */
static int walk_to(struct path_walk *w, int fd)
{
	if (fd < 0)
		return fd;
	close(w->fd);
	w->fd = fd;
	return 0;
}

static int walk_text(struct path_walk *w, int link)
{
	char to[PATH_MAX];
	ssize_t len = readlinkat(link, "", to, sizeof(to));
	size_t rest_len = strlen(w->rest);

	if (len < 0)
		return -errno;
	if ((size_t)len + 1 + rest_len >= sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + len + 1, w->rest, rest_len + 1);
	memcpy(w->rest, to, (size_t)len);
	w->rest[len] = '/';
	return *to == '/' ? walk_to(w, open_following(AT_FDCWD, "/")) : 0;
}

static int walk_link(struct path_walk *w, const char *name)
{
	_cleanup_close_ int link = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (link < 0 || fstat(link, &st) || fstatfs(link, &fs))
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return -ENOTDIR;
	if (++w->nr_links > MAX_LINKS)
		return -ELOOP;
	if (st.st_uid && w->linker && st.st_uid != w->linker)
		return -EPERM;
	if (st.st_uid)
		w->linker = st.st_uid;
	/* The text of links in /proc, such as /proc/PID/root, is not their target. */
	if (fs.f_type == PROC_SUPER_MAGIC)
		return walk_to(w, open_following(w->fd, name));
	return walk_text(w, link);
}

static int walk_step(struct path_walk *w)
{
	char *begin = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(begin, "/");
	char name[NAME_MAX + 1];
	int fd;

	if (len >= sizeof(name))
		return -ENAMETOOLONG;
	memcpy(name, begin, len);
	name[len] = '\0';
	memmove(w->rest, begin + len, strlen(begin + len) + 1);
	if (!len)
		return 0;
	fd = open_no_link(w->fd, name);
	return fd == -ENOTDIR ? walk_link(w, name) : walk_to(w, fd);
}

/*
 * Opens @path as root. The owner of a link could redirect root to a folder that only
 * root may write. So another user's link is followed only if that user owns the target,
 * too.
 */
static int open_as_root(const char *path)
{
	struct path_walk w = {.fd = open_following(AT_FDCWD, *path == '/' ? "/" : ".")};
	struct stat st;
	int rc = w.fd < 0 ? w.fd : 0;

	if ((size_t)snprintf(w.rest, sizeof(w.rest), "%s", path) >= sizeof(w.rest))
		rc = -ENAMETOOLONG;
	while (!rc && *w.rest)
		rc = walk_step(&w);
	if (!rc && fstat(w.fd, &st))
		rc = -errno;
	if (!rc && w.linker && w.linker != st.st_uid)
		rc = -EPERM;
	if (!rc)
		return w.fd;
	if (w.fd >= 0)
		close(w.fd);
	return rc;
}

/* ---- site-packages of the prefix ---- */

/* Return: the folder; -ENOENT without a message if it does not exist. */
static int open_part(const struct python_prefix *p, int dir, const char *name,
		     const char *path, struct error *err)
{
	int fd = geteuid() ? open_following(dir, name) : open_no_link(dir, name);
	struct stat st;

	if (fd >= 0)
		return fd;
	if (fd == -ENOTDIR && !geteuid() &&
	    !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode))
		return error_set(err, -ELOOP,
				 "%s is reached through a link in the environment, which "
				 "root does not follow; run this as its owner (uid %u)",
				 path, p->uid);
	if (fd == -ENOENT || fd == -ENOTDIR)
		return -ENOENT;
	errno = -fd;
	return error_set(err, fd, "cannot look into %s: %m", path);
}

static int check_owner(const struct python_prefix *p, int site, const char *path,
		       struct error *err)
{
	struct stat st;

	if (fstat(site, &st))
		return error_set(err, -errno, "cannot look into %s: %m", path);
	if (geteuid() || st.st_uid == p->uid)
		return 0;
	return error_set(
		err, -EPERM,
		"%s belongs to uid %u and %s to uid %u, so root cannot tell with "
		"whose rights to write; run this as the user who installs "
		"packages there",
		p->path, p->uid, path, st.st_uid);
}

/* Return: -ENOENT without a message if there is no site-packages folder. */
static int add_site(struct python_prefix *p, int lib, const char *python,
		    struct error *err)
{
	_cleanup_close_ int dir = -1, site = -1;
	_cleanup_free_ char *path = NULL;
	int rc;

	if (asprintf(&path, "%s/lib/%s/site-packages", p->path, python) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	dir = open_part(p, lib, python, path, err);
	if (dir < 0)
		return dir;
	site = open_part(p, dir, "site-packages", path, err);
	if (site < 0)
		return site;
	rc = check_owner(p, site, path, err);
	if (rc)
		return rc;
	p->sites[p->nr_sites++] =
		(struct python_folder){.fd = take_fd(&site), .path = take_ptr(path)};
	return 0;
}

static int has_no_site(const struct python_prefix *p, struct error *err)
{
	return error_set(err, -ENOENT,
			 "%s is not a virtual environment or prefix of a Python: it has "
			 "no lib/python3.*/site-packages",
			 p->path);
}

static const char python_name[] = "python3.";

static int is_python(const struct dirent *entry)
{
	return !strncmp(entry->d_name, python_name, strlen(python_name));
}

static int add_sites(struct python_prefix *p, int lib, struct dirent *const *pythons,
		     size_t nr, struct error *err)
{
	bool has_old = false;

	p->sites = calloc(nr + 1, sizeof(*p->sites));
	if (!p->sites)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++) {
		const char *minor = pythons[i]->d_name + strlen(python_name);
		int rc;

		if (strtoul(minor, NULL, 10) < PYTHON_OLDEST_MINOR) {
			has_old = true;
			continue;
		}
		rc = add_site(p, lib, pythons[i]->d_name, err);
		if (rc && rc != -ENOENT)
			return rc;
	}
	if (p->nr_sites)
		return 0;
	if (has_old)
		return error_set(err, -ENOENT,
				 "the Python of %s is older than 3.%d: its Numba is not "
				 "known to the hook",
				 p->path, PYTHON_OLDEST_MINOR);
	return has_no_site(p, err);
}

static int find_sites(struct python_prefix *p, struct error *err)
{
	_cleanup_close_ int lib = -1;
	_cleanup_free_ char *path = NULL;
	struct dirent **pythons = NULL;
	int nr, rc;

	if (asprintf(&path, "%s/lib", p->path) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	lib = open_part(p, p->fd, "lib", path, err);
	if (lib < 0)
		return lib == -ENOENT ? has_no_site(p, err) : lib;
	nr = scandirat(lib, ".", &pythons, is_python, alphasort);
	if (nr < 0)
		return error_set(err, -errno, "cannot look into %s: %m", path);
	rc = add_sites(p, lib, pythons, (size_t)nr, err);
	for (int i = 0; i < nr; i++)
		free(pythons[i]);
	free(pythons);
	return rc;
}

static void python_prefix_deinit(struct python_prefix *p)
{
	if (p->is_other)
		creds_restore(&p->creds);
	for (size_t i = 0; i < p->nr_sites; i++) {
		close(p->sites[i].fd);
		free(p->sites[i].path);
	}
	free(p->sites);
	if (p->fd >= 0)
		close(p->fd);
}

/*
 * Opens the prefix. Until python_prefix_deinit() root has its owner's file privileges.
 * Root follows links to the prefix if root or the owner owns them, and no links in it;
 * it changes only files of this owner. Other users keep their own privileges.
 */
static int python_prefix_open(struct python_prefix *p, struct error *err)
{
	struct stat st;

	if (geteuid() || !*p->path)
		p->fd = open_following(AT_FDCWD, p->path);
	else
		p->fd = open_as_root(p->path);
	if (p->fd == -EPERM)
		return error_set(err, p->fd,
				 "%s leads through a link that neither root nor the "
				 "owner of the environment owns, so root does not follow "
				 "it; give the path that the link points to",
				 p->path);
	if (p->fd < 0 || fstat(p->fd, &st)) {
		errno = p->fd < 0 ? -p->fd : errno;
		return error_set(err, -errno, "cannot look into %s: %m", p->path);
	}
	p->uid = st.st_uid;
	p->gid = st.st_gid;
	/* Only as root: the prefix's owner could redirect root's actions in it. */
	p->is_other = !geteuid() && p->uid;
	if (p->is_other && creds_become(&p->creds, p->uid, p->gid)) {
		p->is_other = false;
		return error_set(err, -EPERM,
				 "cannot write to %s with its owner's rights", p->path);
	}
	return find_sites(p, err);
}

#define PACKAGE          "lineburn_hook"
#define PTH              "lineburn-hook.pth"
#define MODULE_MAX_BYTES (1u << 20)

/*
 * One line, as the module site requires. Must not cause a traceback if the package was
 * removed.
 */
static const char pth_text[] = "import sys; exec(\"try:\\n import " PACKAGE "\\n " PACKAGE
			       ".start()\\nexcept Exception:\\n pass\")\n";

/* Modules of the package. Their compiled files have the same names up to the dot. */
static const char *const modules[] = {"__init__.py", "numba_lines.py", "numba_cache.py"};
/* Other files of an installed package. */
#define VERSION   "version"
#define CACHE_DIR "cache-dir"

struct module_text {
	char *text; /* heap */
	size_t len;
};

/* ---- files of one folder ---- */

static int cannot(struct error *err, int rc, const char *what,
		  const struct python_folder *folder, const char *name)
{
	errno = -rc;
	return error_set(err, rc, "cannot %s %s/%s: %m", what, folder->path, name);
}

/* Readable by all users, because the service runs as another user. */
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

/* Return: -ENOENT without a message: it does not exist, or is not a folder. */
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

		snprintf(path, sizeof(path), "%s/" PACKAGE "/%s", home, modules[i]);
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
	char cache[PATH_MAX + 2];
	bool forgotten;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(modules) && !rc; i++)
		rc = write_file(folder, modules[i], texts[i].text, texts[i].len, err);
	if (!rc)
		rc = write_file(folder, VERSION, version, sizeof(version) - 1, err);
	if (rc)
		return rc;
	if (!cache_dir)
		return remove_file(folder, CACHE_DIR, &forgotten, err);
	snprintf(cache, sizeof(cache), "%s\n", cache_dir);
	return write_file(folder, CACHE_DIR, cache, strlen(cache), err);
}

/* Writes the .pth file last, so that an interrupted installation has no effect. */
static int install(const struct python_folder *site, const struct module_text *texts,
		   const char *cache_dir, struct error *err)
{
	_cleanup_(close_folder) struct python_folder folder = {.fd = -1};
	int rc;

	if (mkdirat(site->fd, PACKAGE, 0755) && errno != EEXIST)
		return cannot(err, -errno, "make", site, PACKAGE);
	rc = open_package(site, &folder, err);
	if (rc == -ENOENT)
		return error_set(err, -ENOTDIR,
				 "%s/" PACKAGE " exists, and is not a folder",
				 site->path);
	if (!rc && fchmod(folder.fd, 0755))
		rc = error_set(err, -errno, "cannot make %s readable for all users: %m",
			       folder.path);
	if (!rc)
		rc = write_package(&folder, texts, cache_dir, err);
	if (!rc)
		rc = write_file(site, PTH, pth_text, sizeof(pth_text) - 1, err);
	if (!rc)
		log_warning("the hook of " LINEBURN_VERSION " is in %s/" PACKAGE
			    "; restart the service",
			    site->path);
	return rc;
}

/* Makes the path absolute, because the service has another working directory. */
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

/* ---- remove ---- */

/* Is it one of our modules, compiled? "numba_lines.cpython-311.pyc" */
static bool is_compiled_module(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
		if (!strncmp(name, modules[i], strcspn(modules[i], ".") + 1))
			return true;
	}
	return false;
}

static void remove_compiled(const struct python_folder *folder)
{
	_cleanup_closedir_ DIR *dir = io_open_dir(folder->fd, "__pycache__");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (is_compiled_module(entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	unlinkat(folder->fd, "__pycache__", AT_REMOVEDIR);
}

static int remove_package(const struct python_folder *site, bool *removed,
			  struct error *err)
{
	static const char *const others[] = {VERSION, CACHE_DIR};
	_cleanup_(close_folder) struct python_folder folder = {.fd = -1};
	int rc = open_package(site, &folder, err);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	remove_compiled(&folder);
	for (size_t i = 0; i < ARRAY_SIZE(modules) && !rc; i++)
		rc = remove_file(&folder, modules[i], removed, err);
	for (size_t i = 0; i < ARRAY_SIZE(others) && !rc; i++)
		rc = remove_file(&folder, others[i], removed, err);
	if (!rc && unlinkat(site->fd, PACKAGE, AT_REMOVEDIR))
		rc = cannot(err, -errno, "remove", site, PACKAGE);
	return rc;
}

/*
 * Removes only our files and those that Python compiled from them. Removes the .pth
 * file first, so that no Python loads a partly removed package.
 */
static int uninstall(const struct python_folder *site, struct error *err)
{
	bool removed = false;
	int rc = remove_file(site, PTH, &removed, err);

	if (!rc)
		rc = remove_package(site, &removed, err);
	if (!rc)
		log_warning("%s %s",
			    removed ? "the hook was removed from" : "there is no hook in",
			    site->path);
	return rc;
}

/* ---- where the hook is ---- */

/* Where this program is. Who owns its folder may replace the program itself. */
struct program {
	char path[PATH_MAX];
	uid_t folder_owner;
	dev_t dev; /* of the folder */
};

static int find_program(struct program *ret, struct error *err)
{
	ssize_t len = readlink("/proc/self/exe", ret->path, sizeof(ret->path) - 1);
	char copy[PATH_MAX];
	struct stat st;

	if (len < 0)
		return error_set(err, -errno, "cannot read /proc/self/exe: %m");
	ret->path[len] = '\0';
	memcpy(copy, ret->path, (size_t)len + 1);
	if (stat(dirname(copy), &st))
		return error_set(err, -errno, "cannot look into the folder of %s: %m",
				 ret->path);
	ret->folder_owner = st.st_uid;
	ret->dev = st.st_dev;
	return 0;
}

static bool has_other_writers(const char *path, const struct stat *st, bool is_above)
{
	bool has_acl;

	/* Who is in such a group may replace the program, too: staff in /usr/local. */
	if (is_above)
		return st->st_mode & S_IWOTH;
	has_acl = lgetxattr(path, "system.posix_acl_access", NULL, 0) > 0;
	return user_others_may_write(st->st_uid, st->st_gid, st->st_mode, has_acl);
}

/*
 * Refuses a file that may be changed by another user than root, ours, and the owner of the
 * program's folder. @is_above: it is a folder above @home.
 */
static int check_file(const struct program *p, const char *home, const char *path,
		      bool is_above, struct error *err)
{
	char why[64] = "";
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT
			       ? 0
			       : error_set(err, -errno, "cannot look at %s: %m", path);
	if (st.st_uid && st.st_uid != geteuid() && st.st_uid != p->folder_owner)
		snprintf(why, sizeof(why), "belongs to uid %u", st.st_uid);
	else if (S_ISLNK(st.st_mode))
		strcpy(why, "is a symbolic link");
	else if (has_other_writers(path, &st, is_above))
		strcpy(why, "may be written by others");
	else if (S_ISDIR(st.st_mode) && st.st_dev != p->dev)
		/* The server of a user's file system tells any owner. */
		strcpy(why, "is on another file system than lineburn");
	if (!*why)
		return 0;
	return error_set(err, -EPERM,
			 "the Python files in %s are not used, because %s %s, so that "
			 "another user could decide what they do; keep them where only "
			 "root and you may write, or install lineburn with \"make "
			 "install\"",
			 home, path, why);
}

static bool holds_program(const struct program *p, const char *folder)
{
	size_t len = strlen(folder);

	return !strncmp(p->path, folder, len) && p->path[len] == '/';
}

/* @home  without links */
static int check_home(const struct program *p, const char *home, struct error *err)
{
	static const char *const loaded[] = {
		"",
		"/startup",
		"/startup/sitecustomize.py",
		"/startup/__pycache__",
		"/" PACKAGE,
		"/" PACKAGE "/__pycache__",
	};
	char path[PATH_MAX + 64];
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(loaded) && !rc; i++) {
		snprintf(path, sizeof(path), "%s%s", home, loaded[i]);
		rc = check_file(p, home, path, false, err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(modules) && !rc; i++) {
		snprintf(path, sizeof(path), "%s/" PACKAGE "/%s", home, modules[i]);
		rc = check_file(p, home, path, false, err);
	}
	/* Who may change a folder that the program is in may replace the program. */
	snprintf(path, sizeof(path), "%s", home);
	while (!rc) {
		*strrchr(path, '/') = '\0';
		if (!*path || holds_program(p, path))
			break;
		rc = check_file(p, home, path, true, err);
	}
	return rc;
}

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
	struct program p;
	int rc = find_program(&p, err), refused = 0;

	if (rc)
		return rc;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char place[PATH_MAX + 64], found[PATH_MAX];
		char copy[PATH_MAX];

		strcpy(copy, p.path);
		snprintf(place, sizeof(place), "%s/%s", dirname(copy), places[i]);
		if (!realpath(place, found) || !has_hook(found))
			continue;
		rc = check_home(&p, found, err);
		if (!rc) {
			strcpy(ret, found);
			return 0;
		}
		refused = rc;
	}
	if (refused)
		return refused;
	return error_set(err, -ENOENT,
			 "there are no Python files beside %s that can be read; install "
			 "lineburn with \"make install\"",
			 p.path);
}

/* ---- the environment of a started command ---- */

#define MODE_VARIABLE "LINEBURN_PYTHON_HOOK"

static bool runs_python(const char *command)
{
	const char *slash = strrchr(command, '/');

	return !strncmp(slash ? slash + 1 : command, "python", strlen("python"));
}

/*
 * Adds no colon to an empty PYTHONPATH, because an empty entry means the current
 * directory.
 */
static int prepend_to_pythonpath(const char *folder)
{
	const char *old = getenv("PYTHONPATH");
	size_t len = strlen(folder);
	_cleanup_free_ char *all = NULL;

	/* It is there already: lineburn run -- lineburn run -- python */
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
	if (runs_python(command))
		log_warning("Numba's code gets no lines: %s", err.text);
	else
		log_info("Python's hook: %s, skipping", err.text);
}

/* ---- lineburn python-hook ---- */

int python_hook_run(enum python_hook_action action, const char *prefix,
		    const char *cache_dir, struct error *err)
{
	struct module_text texts[ARRAY_SIZE(modules)] = {0};
	struct python_prefix p = {.path = prefix, .fd = -1};
	char home[PATH_MAX], cache[PATH_MAX];
	int rc = 0;

	/* Those of the file (setcap) are for recordings. */
	if (geteuid())
		(void)capabilities_keep(0, false);
	if (action != PYTHON_HOOK_REMOVE)
		rc = python_hook_find(home, err);
	if (!rc && action == PYTHON_HOOK_PATH) {
		printf("%s/startup\n", home);
		return 0;
	}
	if (!rc && cache_dir)
		rc = make_absolute(cache_dir, cache, err);
	if (!rc && action == PYTHON_HOOK_INSTALL)
		rc = read_modules(home, texts, err);
	if (!rc)
		rc = python_prefix_open(&p, err);
	for (size_t i = 0; i < p.nr_sites && !rc; i++)
		rc = action == PYTHON_HOOK_REMOVE
			     ? uninstall(&p.sites[i], err)
			     : install(&p.sites[i], texts, cache_dir ? cache : NULL, err);
	python_prefix_deinit(&p);
	free_modules(texts);
	return rc;
}
