// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/target_fd.h"
#include "worker/broker.h"
#include "worker/message.h"

/*
 * Above the descriptors that dup2() uses in the child, and above the standard streams:
 * if stderr is closed, a message to it must not be written into our socket.
 */
#define FIRST_SAFE_FD 10

/* Return: 0, or a negative errno with *fd closed and -1. */
static int move_up(int *fd)
{
	int low = *fd;

	if (low >= FIRST_SAFE_FD)
		return 0;
	*fd = fcntl(low, F_DUPFD_CLOEXEC, FIRST_SAFE_FD);
	if (*fd < 0) {
		int rc = -errno;

		close(low);
		return rc;
	}
	close(low);
	return 0;
}

/*
 * posix_spawn() instead of fork() and execve(): it does not copy the page tables of a
 * collector that may have hundreds of megabytes, and it reports a failed execution.
 * /proc/self/exe is the running file even if a newer version replaced its name.
 */
static int spawn(int sock, int null, pid_t *ret)
{
	char *argv[] = {WORKER_ARGV0, NULL}, *envp[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t all;
	int rc;

	sigfillset(&all);
	rc = posix_spawn_file_actions_init(&actions);
	if (rc)
		return -rc;
	rc = posix_spawnattr_init(&attr);
	if (rc) {
		posix_spawn_file_actions_destroy(&actions);
		return -rc;
	}
	rc = posix_spawnattr_setsigmask(&attr, &all);
	if (!rc)
		rc = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	for (int fd = 0; !rc && fd <= 2; fd++)
		rc = posix_spawn_file_actions_adddup2(&actions, null, fd);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(&actions, sock, WORKER_SOCKET_FD);
	if (!rc)
		rc = posix_spawn_file_actions_addclosefrom_np(&actions,
							      WORKER_SOCKET_FD + 1);
	if (!rc)
		rc = posix_spawn(ret, "/proc/self/exe", &actions, &attr, argv, envp);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -rc;
}

/* Makes both ends of the socket. */
static int make_sockets(int *ret_ours, int *ret_theirs)
{
	_cleanup_close_ int ours = -1, theirs = -1;
	int sv[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return -errno;
	ours = sv[0];
	theirs = sv[1];
	rc = move_up(&ours);
	if (!rc)
		rc = move_up(&theirs);
	if (rc)
		return rc;
	*ret_ours = take_fd(&ours);
	*ret_theirs = take_fd(&theirs);
	return 0;
}

static int spawn_here(struct child *ret)
{
	_cleanup_close_ int ours = -1, theirs = -1, null = -1, pidfd = -1;
	pid_t pid;
	int rc;

	rc = make_sockets(&ours, &theirs);
	if (rc)
		return rc;
	null = io_open_nothing();
	if (null < 0)
		return null;
	rc = move_up(&null);
	if (rc)
		return rc;
	rc = spawn(theirs, null, &pid);
	if (rc)
		return rc;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	rc = pidfd < 0 ? -errno : move_up(&pidfd);
	if (rc) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return rc;
	}
	*ret = (struct child){
		.pid = pid, .pidfd = take_fd(&pidfd), .sock = take_fd(&ours)};
	return 0;
}

static void kill_here(const struct child *child)
{
	syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0);
}

/* Returns its CPU time in ns; 0 if the kernel has reaped it (ECHILD). */
static uint64_t reap_here(pid_t pid)
{
	struct rusage usage;

	if (wait4(pid, NULL, WNOHANG, &usage) != pid)
		return 0;
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

/* ---- children of a broker ---- */

/* Those that the broker has started and not reaped. */
static struct child served[CHILD_MAX_UNDEAD + CHILD_MAX_RUNNING];
static size_t nr_served;

static struct child *find_served(const struct broker_message *request)
{
	pid_t pid;

	if (request->len != sizeof(pid))
		return NULL;
	memcpy(&pid, request->data, sizeof(pid));
	for (size_t i = 0; i < nr_served; i++)
		if (served[i].pid == pid)
			return &served[i];
	return NULL;
}

int child_serve_start(void *ctx, const struct broker_message *request,
		      struct broker_message *reply)
{
	struct child child;
	int rc = nr_served < ARRAY_SIZE(served) ? spawn_here(&child) : -EAGAIN;

	(void)ctx;
	(void)request;
	reply->len = sizeof(child.pid);
	if (rc)
		return rc;
	memcpy(reply->data, &child.pid, sizeof(child.pid));
	reply->fds[reply->nr_fds++] = child.sock;
	reply->fds[reply->nr_fds] = fcntl(child.pidfd, F_DUPFD_CLOEXEC, FIRST_SAFE_FD);
	if (reply->fds[reply->nr_fds] < 0) {
		rc = -errno;
		kill_here(&child);
		waitpid(child.pid, NULL, 0);
		close(child.pidfd);
		return rc;
	}
	reply->nr_fds++;
	served[nr_served] = child;
	served[nr_served++].sock = -1;
	return 0;
}

int child_serve_kill(void *ctx, const struct broker_message *request,
		     struct broker_message *reply)
{
	const struct child *child = find_served(request);

	(void)ctx;
	(void)reply;
	if (!child)
		return -ESRCH;
	kill_here(child);
	return 0;
}

int child_serve_reap(void *ctx, const struct broker_message *request,
		     struct broker_message *reply)
{
	struct child *child = find_served(request);
	struct pollfd pfd = {.events = POLLIN};
	uint64_t cpu_ns;

	(void)ctx;
	reply->len = sizeof(cpu_ns);
	if (!child)
		return -ESRCH;
	pfd.fd = child->pidfd;
	if (poll(&pfd, 1, 0) <= 0)
		return -EAGAIN;
	cpu_ns = reap_here(child->pid);
	memcpy(reply->data, &cpu_ns, sizeof(cpu_ns));
	close(child->pidfd);
	*child = served[--nr_served];
	return 0;
}

static int ask_to_spawn(struct child *ret)
{
	struct child child = CHILD_NONE;
	struct broker_message reply = {.data = &child.pid, .len = sizeof(child.pid)};
	int rc = broker_ask(BROKER_HELPERS, BROKER_START_CHILD, NULL, &reply);
	uint64_t unused = 0;

	if (reply.nr_fds > 0)
		child.sock = reply.fds[0];
	if (reply.nr_fds > 1)
		child.pidfd = reply.fds[1];
	if (rc) {
		cleanup_closep(&child.sock);
		cleanup_closep(&child.pidfd);
		return rc;
	}
	if (child.sock < 0 || child.pidfd < 0)
		rc = -EMFILE; /* the kernel had no room here for the descriptors */
	if (!rc)
		rc = move_up(&child.sock);
	if (!rc)
		rc = move_up(&child.pidfd);
	if (rc) {
		/* The broker has a place for it until it is reaped. */
		child_kill(&child, TENANT_UNKNOWN, 0, &unused);
		child_forget_undead(&unused);
		return rc;
	}
	*ret = child;
	return 0;
}

static void ask_to_kill(const struct child *child)
{
	pid_t pid = child->pid;

	broker_ask(BROKER_HELPERS, BROKER_KILL_CHILD,
		   &(struct broker_message){.data = &pid, .len = sizeof(pid)}, NULL);
}

/* Return: 0, -EAGAIN: it has not ended, or another negative errno: it is gone. */
static int ask_to_reap(pid_t pid, uint64_t *cpu_ns)
{
	uint64_t used_ns = 0;
	struct broker_message reply = {.data = &used_ns, .len = sizeof(used_ns)};
	int rc = broker_ask(BROKER_HELPERS, BROKER_REAP_CHILD,
			    &(struct broker_message){.data = &pid, .len = sizeof(pid)},
			    &reply);

	if (!rc)
		*cpu_ns += used_ns;
	return rc;
}

/* ---- ours ---- */

int child_spawn(struct child *ret)
{
	if (child_nr_undead() >= CHILD_MAX_UNDEAD)
		return -EAGAIN;
	return broker_is_there(BROKER_HELPERS) ? ask_to_spawn(ret) : spawn_here(ret);
}

pid_t child_parent(void)
{
	return broker_is_there(BROKER_HELPERS) ? broker_pid(BROKER_HELPERS) : getpid();
}

/* Waits as one waits for an answer: other work goes on. */
static bool has_ended(int pidfd, int timeout_ms)
{
	struct pollfd pfd = {.fd = pidfd, .events = POLLIN};
	int64_t deadline_ns = message_clock_ns() + timeout_ms * INT64_C(1000000);

	/* message_wait() waits for a millisecond at least. */
	return poll(&pfd, 1, 0) > 0 ||
	       (timeout_ms && !message_wait(pidfd, POLLIN, deadline_ns));
}

/* Reaps a child. Return: whether it is gone (reaped by us, or by the kernel). */
static bool reap(struct child *child, int timeout_ms, uint64_t *cpu_ns)
{
	/* The pidfd of a broker's child may have been lost: then the broker tells. */
	if (child->pidfd >= 0 && !has_ended(child->pidfd, timeout_ms))
		return false;
	if (!broker_is_there(BROKER_HELPERS))
		*cpu_ns += reap_here(child->pid);
	else if (ask_to_reap(child->pid, cpu_ns) == -EAGAIN)
		return false;
	cleanup_closep(&child->pidfd);
	*child = CHILD_NONE;
	return true;
}

/* Killed children that are not dead yet. */
static struct undead {
	struct child child;
	uint64_t number;
	struct tenant who;
	uint64_t *cpu_ns; /* NULL: its owner is gone */
} undead[CHILD_MAX_UNDEAD + CHILD_MAX_RUNNING];
static size_t nr_undead;
static uint64_t last_number;

/*
 * What the child answered too late lies in the socket, maybe with descriptors of its target's
 * files. To close the socket closes them, and their file system may never answer.
 */
static void close_socket(struct child *child, struct tenant who)
{
	if (child->sock < 0)
		return;
	target_fd_opened(child->sock, who);
	target_fd_close(take_fd(&child->sock));
}

uint64_t child_kill(struct child *child, struct tenant who, int wait_ms, uint64_t *cpu_ns)
{
	if (!child->pid)
		return 0;
	if (broker_is_there(BROKER_HELPERS))
		ask_to_kill(child);
	else
		kill_here(child);
	close_socket(child, who);
	if (reap(child, wait_ms, cpu_ns))
		return 0;
	assert(nr_undead < ARRAY_SIZE(undead));
	undead[nr_undead++] = (struct undead){
		.child = *child, .number = ++last_number, .who = who, .cpu_ns = cpu_ns};
	*child = CHILD_NONE;
	return last_number;
}

static void reap_undead(void)
{
	for (size_t i = 0; i < nr_undead;) {
		uint64_t unused, *cpu_ns = undead[i].cpu_ns;

		if (reap(&undead[i].child, 0, cpu_ns ? cpu_ns : &unused))
			undead[i] = undead[--nr_undead];
		else
			i++;
	}
}

size_t child_max_undead(struct tenant who)
{
	return tenant_is_same(who, (struct tenant){0}) ? CHILD_MAX_UNDEAD_ROOT
						       : CHILD_MAX_UNDEAD_TENANT;
}

bool child_has_room(struct tenant who)
{
	size_t nr = 0, nr_at_folders = 0;

	if (!nr_undead)
		return true;
	reap_undead();
	for (size_t i = 0; i < nr_undead; i++)
		nr += tenant_is_same(undead[i].who, who);
	for (size_t i = 0; i < nr_undead; i++)
		nr_at_folders += undead[i].who.container == TENANT_FOLDERS;
	if (who.container == TENANT_FOLDERS && who.uid &&
	    nr_at_folders >= CHILD_MAX_UNDEAD_FOLDERS)
		return false;
	if (nr_undead >= CHILD_MANY_UNDEAD)
		return !nr && !tenant_is_same(who, TENANT_UNKNOWN);
	return nr < child_max_undead(who);
}

void child_charge_undead(uint64_t number, struct tenant who)
{
	for (size_t i = 0; i < nr_undead; i++)
		if (undead[i].number == number &&
		    tenant_is_same(undead[i].who, TENANT_UNKNOWN))
			undead[i].who = who;
}

static bool has_undead(uint64_t number)
{
	for (size_t i = 0; i < nr_undead; i++)
		if (undead[i].number == number)
			return true;
	return false;
}

bool child_is_undead(uint64_t number)
{
	if (!has_undead(number))
		return false;
	reap_undead();
	return has_undead(number);
}

size_t child_nr_undead(void)
{
	reap_undead();
	return nr_undead;
}

void child_forget_undead(const uint64_t *cpu_ns)
{
	reap_undead();
	for (size_t i = 0; i < nr_undead; i++)
		if (undead[i].cpu_ns == cpu_ns)
			undead[i].cpu_ns = NULL;
}

uint64_t child_cpu_ns(const struct child *child)
{
	struct timespec used;
	clockid_t clock;

	if (!child->pid || clock_getcpuclockid(child->pid, &clock) ||
	    clock_gettime(clock, &used))
		return 0;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/* Reads the start of a file of the child in /proc, as a string. */
static bool read_proc(const struct child *child, const char *name, char *buf, size_t size)
{
	_cleanup_close_ int fd = -1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)child->pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	return true;
}

bool child_schedule(const struct child *child, struct child_schedule *ret)
{
	struct child_schedule s;
	char text[128];

	if (!child->pid || !read_proc(child, "schedstat", text, sizeof(text)) ||
	    sscanf(text, "%" SCNu64 " %" SCNu64, &s.ran_ns, &s.waited_ns) != 2)
		return false;
	*ret = s;
	return true;
}

bool child_is_runnable(const struct child *child)
{
	char text[128], *state;

	if (!child->pid || !read_proc(child, "stat", text, sizeof(text)))
		return false;
	/* The state follows the name, which may contain any character. */
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'R';
}
