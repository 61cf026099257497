// SPDX-License-Identifier: GPL-2.0-or-later
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caller.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "base/user.h"
#include "launch/python_hook.h"
#include "process/proc_dir.h"
#include "worker/broker.h"

#define ENVIRON_MAX_BYTES (4u << 20)
#define MAX_ANCESTORS     16
/* Most time to wait; a file system may be slow. */
#define MAPPED_MS 100
#define KILLED_MS 500

extern char **environ;

static bool parse_id(const char *text, unsigned long *ret)
{
	char *end;

	if (!text || !*text)
		return false;
	*ret = strtoul(text, &end, 10);
	return !*end && *ret < UINT32_MAX;
}

void launch_user_find(struct launch_user *ret)
{
	unsigned long uid, gid;
	struct user user;

	*ret = (struct launch_user){.uid = geteuid(), .gid = getegid()};
	if (geteuid() || !parse_id(getenv("SUDO_UID"), &uid) ||
	    !parse_id(getenv("SUDO_GID"), &gid) || !uid)
		return;
	ret->is_other = true;
	ret->uid = (uid_t)uid;
	ret->gid = (gid_t)gid;
	if (!user_by_uid(ret->uid, USER_ASK_MS, &user))
		strcpy(ret->name, user.name);
}

static bool is_parent_of(uint32_t ppid, uid_t uid)
{
	_cleanup_close_ int dir = proc_dir_open_here(ppid);
	struct proc_status status;

	return dir >= 0 && !proc_dir_status(dir, &status) && status.real_uid == uid;
}

/*
 * sudo becomes root, and keeps the real uid of its caller; before sudo 1.9.4 that becomes
 * root's, too, and the caller is its parent. A program of the caller's that is only called
 * sudo is not root, and root's own sudo has another caller, whose environment is not for this
 * user.
 */
static bool is_sudo_of(int proc_dir, const struct proc_stat *stat, uid_t uid)
{
	struct proc_status status;

	return !strcmp(stat->comm, "sudo") && !proc_dir_status(proc_dir, &status) &&
	       status.uid == 0 &&
	       (status.real_uid == uid ||
		(status.real_uid == 0 && is_parent_of(stat->ppid, uid)));
}

static bool is_lineburn(int proc_dir)
{
	struct stat ours, its;

	return !stat("/proc/self/exe", &ours) && !fstatat(proc_dir, "exe", &its, 0) &&
	       ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

/*
 * Finds the innermost sudo of @uid above us, which has that user's environment. With a
 * terminal of its own (use_pty) that is a child of sudo, with the same environment.
 * Return: its directory in /proc, or -ESRCH.
 */
static int find_sudo(uid_t uid)
{
	pid_t pid = getppid();
	bool is_ours = true; /* some of our own processes have become the user already */

	for (int i = 0; i < MAX_ANCESTORS && pid > 1; i++) {
		_cleanup_close_ int dir = proc_dir_open_here((uint32_t)pid);
		struct proc_status status;
		struct proc_stat stat;

		if (dir < 0 || proc_dir_stat(dir, &stat))
			break;
		if (is_sudo_of(dir, &stat, uid))
			return take_fd(&dir);
		/*
		 * What is above a program of a user's is not known to have run this: root's
		 * "sudo -u USER program" may be, with an environment of root's.
		 */
		is_ours = is_ours && is_lineburn(dir);
		if (!is_ours && (proc_dir_status(dir, &status) || status.real_uid))
			break;
		pid = (pid_t)stat.ppid;
	}
	return -ESRCH;
}

char **launch_split_environ(char *text, size_t len)
{
	size_t nr = 1; /* the last one may lack its NUL */
	char **env;

	for (size_t i = 0; i < len; i++)
		nr += !text[i];
	env = calloc(nr + 1, sizeof(*env));
	if (!env)
		return NULL;
	nr = 0;
	for (char *s = text; s < text + len; s += strlen(s) + 1)
		env[nr++] = s;
	return env;
}

/*
 * Reads the environment from before sudo cleaned it; NULL: unavailable. Only root may
 * read it.
 */
static char **read_environ(uid_t uid)
{
	_cleanup_close_ int sudo = find_sudo(uid), fd = -1;
	char *text = NULL;
	size_t len;

	if (sudo >= 0)
		fd = openat(sudo, "environ", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_all(fd, ENVIRON_MAX_BYTES, &text, &len))
		return NULL;
	return launch_split_environ(text, len);
}

static void set_environ(char **env)
{
	if (env) {
		environ = env;
		return;
	}
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	unsetenv("SUDO_USER");
	unsetenv("SUDO_COMMAND");
}

/* Runs only in the child, so nothing is freed. */
int launch_become(const struct launch_user *user)
{
	char **env = read_environ(user->uid);
	gid_t groups[NGROUPS_MAX];
	size_t nr = 0;

	if (user->name[0])
		nr = user_groups(user->name, user->gid, groups, NGROUPS_MAX);
	if (setgroups(nr, groups) || setresgid(user->gid, user->gid, user->gid) ||
	    setresuid(user->uid, user->uid, user->uid))
		return -errno;
	set_environ(env);
	return env ? LAUNCH_BECAME : LAUNCH_BECAME_WITHOUT_ENVIRONMENT;
}

/* For larger files, tables are built when the code is hit. */
#define MAP_MAX_BYTES (256 << 20)

/*
 * Maps the file before it is executed, so that the tables for its code can be built
 * while the command waits. Return: whether there is one that may be read.
 */
static bool map_command(const char *name)
{
	_cleanup_close_ int fd = command_file_open(name);
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st))
		(void)mmap(
			NULL,
			(size_t)(st.st_size < MAP_MAX_BYTES ? st.st_size : MAP_MAX_BYTES),
			PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	return fd >= 0;
}

_Noreturn static void child(char **argv, const struct launch_user *user, bool python_hook,
			    int go_fd, int failed_fd)
{
	char byte;
	ssize_t n;
	int rc;

	/* It may wait for a file system, after lineburn's end, too. */
	broker_leave();
	caller_restore();
	rc = user->is_other ? launch_become(user) : 0;
	/*
	 * With the user's id and PATH, so that exec finds the same file. All of this before
	 * sampling: from then on, what this process does counts as the command's.
	 */
	if (rc >= 0) {
		python_hook_set_environ(python_hook, argv[0]);
		if (map_command(argv[0]) && rc == LAUNCH_BECAME_WITHOUT_ENVIRONMENT)
			log_warning("the command has the environment that sudo made: "
				    "that of user %u, who called sudo, was not found or "
				    "cannot be read",
				    (unsigned int)user->uid);
	}
	send(go_fd, "", 1, MSG_NOSIGNAL);
	do
		n = read(go_fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		/* launch_go() was not called, or lineburn died */
		_exit(EXIT_OWN_FAILURE);
	if (rc >= 0) {
		execvp(argv[0], argv);
		rc = -errno;
	}
	rc = -rc;
	if (write(failed_fd, &rc, sizeof(rc)) != sizeof(rc))
		_exit(EXIT_OWN_FAILURE);
	_exit(rc == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

int launch_new(char **argv, const struct launch_user *user, bool python_hook,
	       struct launch **ret, struct error *err)
{
	_cleanup_(launch_freep) struct launch *l = calloc(1, sizeof(*l));
	int go[2] = {-1, -1}, failed[2] = {-1, -1};

	if (!l)
		return error_set(err, -ENOMEM, "out of memory");
	l->go_fd = l->failed_fd = -1;
	l->command = argv[0];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go))
		return error_set(err, -errno, "cannot start %s: %m", argv[0]);
	l->go_fd = go[1];
	if (pipe2(failed, O_CLOEXEC)) {
		close(go[0]);
		return error_set(err, -errno, "cannot start %s: %m", argv[0]);
	}
	l->failed_fd = failed[0];
	fflush(NULL);
	l->pid = fork();
	if (l->pid == 0) {
		close(go[1]);
		close(failed[0]);
		child(argv, user, python_hook, go[0], failed[1]);
	}
	if (l->pid < 0)
		error_set(err, -errno, "cannot start %s: %m", argv[0]);
	close(go[0]);
	close(failed[1]);
	if (l->pid < 0)
		return -EAGAIN;
	/* If our parent set it to ignored, the exit status would be lost. */
	signal(SIGCHLD, SIG_DFL);
	*ret = take_ptr(l);
	return 0;
}

/* A file system that does not answer keeps it from ending. */
static void kill_before_start(struct launch *l)
{
	kill(l->pid, SIGKILL);
	for (int i = 0; i < KILLED_MS && !launch_has_ended(l); i++)
		poll(NULL, 0, 1);
}

void launch_free(struct launch *l)
{
	if (!l)
		return;
	cleanup_closep(&l->go_fd);
	cleanup_closep(&l->failed_fd);
	if (l->pid > 0 && !l->started && !l->ended)
		kill_before_start(l);
	free(l);
}

void launch_wait_mapped(const struct launch *l)
{
	struct pollfd said = {.fd = l->go_fd, .events = POLLIN};

	poll(&said, 1, MAPPED_MS);
}

int launch_go(struct launch *l, struct error *err)
{
	/* Not write(2), which raises SIGPIPE if a signal has killed the child. */
	if (send(l->go_fd, "", 1, MSG_NOSIGNAL) != 1)
		return error_set(err, -errno,
				 "%s was killed before it could be started; try again",
				 l->command);
	close(take_fd(&l->go_fd));
	l->started = true;
	return 0;
}

int launch_look(struct launch *l, struct error *err)
{
	struct pollfd said = {.fd = l->failed_fd, .events = POLLIN};
	int code = 0;

	if (l->executed || poll(&said, 1, 0) <= 0)
		return 0;
	if (said.revents & POLLIN && !l->ended) /* it has failed, and ends */
		return 0;
	if (read(l->failed_fd, &code, sizeof(code)) != sizeof(code)) {
		l->executed = true;
		return 0;
	}
	errno = code;
	return error_set_exit(err, code == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE,
			      -code, "cannot run %s: %m", l->command);
}

int launch_give_up(struct launch *l, struct error *err)
{
	/* Now, or when its file system answers. */
	launch_signal(l, SIGKILL);
	return error_set_exit(err, EXIT_NOT_EXECUTABLE, -ETIMEDOUT,
			      "cannot run %s: its file system did not answer before a "
			      "signal ended the wait",
			      l->command);
}

bool launch_has_ended(struct launch *l)
{
	if (!l->ended && waitpid(l->pid, &l->wait_status, WNOHANG) == l->pid)
		l->ended = true;
	return l->ended;
}

void launch_signal(const struct launch *l, int sig)
{
	if (!l->ended)
		kill(l->pid, sig);
}

int launch_exit_status(const struct launch *l)
{
	if (WIFSIGNALED(l->wait_status))
		return 128 + WTERMSIG(l->wait_status);
	return WEXITSTATUS(l->wait_status);
}

void launch_die_by_same_signal(const struct launch *l)
{
	struct rlimit no_core = {0, 0};
	sigset_t one;
	int sig;

	if (!l->ended || !WIFSIGNALED(l->wait_status))
		return;
	sig = WTERMSIG(l->wait_status);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(sig, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(sig);
}

/* ---- the file that a command executes ---- */

#define MAX_SCRIPTS 4 /* nested interpreters, the kernel's limit */
#define LINE_BYTES  256 /* of "#!": BINPRM_BUF_SIZE of linux/binfmts.h */

/*
 * Opens an executable file. Refuses pipes and devices, because opening one may have
 * effects.
 */
static int open_file(const char *path)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return -EACCES;
	return io_reopen(fd, O_NONBLOCK);
}

static int search(const char *name)
{
	const char *path = getenv("PATH");
	int why = -ENOENT;

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/'))
		return open_file(name);
	if (!path)
		path = "/bin:/usr/bin";
	for (;;) {
		size_t len = strcspn(path, ":");
		char file[PATH_MAX];
		int fd;

		/* An empty component means the working directory. */
		snprintf(file, sizeof(file), "%.*s%s%s", (int)(len < PATH_MAX ? len : 0),
			 path, len ? "/" : "./", name);
		fd = open_file(file);
		if (fd >= 0)
			return fd;
		if (fd == -EACCES)
			why = fd;
		if (!path[len])
			return why;
		path += len + 1;
	}
}

static bool is_env(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, "env");
}

/* @line has LINE_BYTES; set to the interpreter. Return: false if it is not a script. */
static bool read_interpreter(int fd, char *line)
{
	static const char blank[] = " \t";
	ssize_t n = pread(fd, line, LINE_BYTES - 1, 0);
	char *rest, *word;

	if (n < 2 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	rest = line + 2;
	word = strtok_r(rest, blank, &rest);
	if (word && is_env(word))
		do /* skips env's options and variables */
			word = strtok_r(NULL, blank, &rest);
		while (word && (*word == '-' || strchr(word, '=')));
	if (!word)
		return false;
	memmove(line, word, strlen(word) + 1);
	return true;
}

int command_file_open(const char *name)
{
	char line[LINE_BYTES];

	for (int i = 0; i <= MAX_SCRIPTS; i++) {
		_cleanup_close_ int fd = search(i ? line : name);

		if (fd < 0 || !read_interpreter(fd, line))
			return take_fd(&fd);
	}
	return -ELOOP;
}
