// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
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
#include "base/retry_pause.h"
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

/* Opens this program, even if a newer version has replaced its name. Return: O_PATH or -errno. */
static int open_program(void)
{
	int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC), rc;

	rc = fd < 0 ? -errno : move_up(&fd);
	return rc ? rc : fd;
}

static const struct {
	const char *path;
	int flags;
} files[NR_CHILD_FILES] = {
	[CHILD_STAT] = {"/proc/self/stat", O_RDONLY | O_CLOEXEC},
	[CHILD_SCHEDSTAT] = {"/proc/self/schedstat", O_RDONLY | O_CLOEXEC},
	[CHILD_FDS] = {"/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC},
	[CHILD_EXE] = {"/proc/self/exe", O_PATH | O_NOFOLLOW | O_CLOEXEC},
	[CHILD_OOM_SCORE_ADJ] = {"/proc/self/oom_score_adj", O_PATH | O_CLOEXEC},
};

static int send_files(int sock)
{
	struct message m = {.type = MESSAGE_BORN};
	int fds[NR_CHILD_FILES];

	for (size_t i = 0; i < NR_CHILD_FILES; i++) {
		int fd = open(files[i].path, files[i].flags);

		if (fd < 0)
			continue;
		fds[m.nr_fds++] = fd;
		m.value |= 1u << i;
	}
	return message_send(sock, &m, NULL, fds, MESSAGE_NO_DEADLINE);
}

/*
 * Becomes the program from a copy of this process. All three are above FIRST_SAFE_FD. If it gets
 * stuck, it has nothing else of this process, such as a pipe whose reader would wait for it.
 */
static _Noreturn void execute(int sock, int null, int program)
{
	static char argv0[] = WORKER_ARGV0;
	char *argv[] = {argv0, NULL}, *envp[] = {NULL};
	const int last = WORKER_SOCKET_FD + 1;

	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	dup2(sock, WORKER_SOCKET_FD);
	if (dup3(program, last, O_CLOEXEC) != last)
		_exit(EXIT_FAILED);
	closefrom(last + 1);
	/* As soon as can be: until then somebody may hold its directory. */
	if (!send_files(WORKER_SOCKET_FD))
		execveat(last, "", argv, envp, AT_EMPTY_PATH);
	_exit(EXIT_FAILED);
}

/*
 * A fork and no vfork, as in posix_spawn(3): this process must not wait for the child, which
 * may get stuck. A broker is small; a viewer has none, and takes milliseconds more.
 */
static int spawn(int sock, int null, int program, pid_t *ret)
{
	sigset_t all, before;
	int rc = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	*ret = fork();
	if (!*ret)
		execute(sock, null, program);
	if (*ret < 0)
		rc = -errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
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

/* Kills a child that nobody can have. One that is stuck is not waited for. */
static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	for (int i = 0; i < 100 && !waitpid(pid, NULL, WNOHANG); i++)
		usleep(1000);
}

static int spawn_here(struct child *ret)
{
	_cleanup_close_ int ours = -1, theirs = -1, null = -1, pidfd = -1,
			    program = open_program();
	pid_t pid;
	int rc;

	if (program < 0)
		return program;

	rc = make_sockets(&ours, &theirs);
	if (rc)
		return rc;
	null = io_open_nothing();
	if (null < 0)
		return null;
	rc = move_up(&null);
	if (rc)
		return rc;
	rc = spawn(theirs, null, program, &pid);
	if (rc)
		return rc;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	rc = pidfd < 0 ? -errno : move_up(&pidfd);
	if (rc) {
		end(pid);
		return rc;
	}
	*ret = CHILD_NONE;
	ret->pid = pid;
	ret->pidfd = take_fd(&pidfd);
	ret->sock = take_fd(&ours);
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

static bool served_has_ended(const struct child *child)
{
	struct pollfd pfd = {.fd = child->pidfd, .events = POLLIN};

	return poll(&pfd, 1, 0) > 0;
}

/* Return: its CPU time in ns */
static uint64_t drop_served(struct child *child)
{
	uint64_t cpu_ns = reap_here(child->pid);

	close(child->pidfd);
	*child = served[--nr_served];
	return cpu_ns;
}

/* Nobody asks for those that were started when nobody waited for the answer any more. */
static void drop_ended(void)
{
	for (size_t i = nr_served; i--;)
		if (served_has_ended(&served[i]))
			drop_served(&served[i]);
}

int child_serve_start(void *ctx, const struct broker_message *request,
		      struct broker_message *reply)
{
	struct child child;
	int rc;

	(void)ctx;
	(void)request;
	reply->len = sizeof(child.pid);
	if (nr_served == ARRAY_SIZE(served))
		drop_ended();
	rc = nr_served < ARRAY_SIZE(served) ? spawn_here(&child) : -EAGAIN;
	if (rc)
		return rc;
	memcpy(reply->data, &child.pid, sizeof(child.pid));
	reply->fds[reply->nr_fds++] = child.sock;
	reply->fds[reply->nr_fds] = fcntl(child.pidfd, F_DUPFD_CLOEXEC, FIRST_SAFE_FD);
	if (reply->fds[reply->nr_fds] < 0) {
		rc = -errno;
		end(child.pid);
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
	uint64_t cpu_ns;

	(void)ctx;
	reply->len = sizeof(cpu_ns);
	if (!child)
		return -ESRCH;
	if (!served_has_ended(child))
		return -EAGAIN;
	cpu_ns = drop_served(child);
	memcpy(reply->data, &cpu_ns, sizeof(cpu_ns));
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

/* Return: must it be asked again? */
static bool ask_to_kill(const struct child *child)
{
	pid_t pid = child->pid;

	return broker_ask(BROKER_HELPERS, BROKER_KILL_CHILD,
			  &(struct broker_message){.data = &pid, .len = sizeof(pid)},
			  NULL) == -EAGAIN;
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

/* What it reads in /proc before it is executed takes microseconds, unless somebody holds that. */
#define BIRTH_STEP_NS    (250 * INT64_C(1000000))
#define BIRTH_MAX_NS     INT64_C(10000000000) /* on a machine without CPU time */

#define TENANT_OF_UNBORN ((struct tenant){.container = TENANT_HELPERS})

static struct retry_pause births;

/* Waits until it has sent something, or died. Return: 0, or -ETIMEDOUT: it ran, and sleeps. */
static int wait_for_birth(const struct child *child)
{
	int64_t now_ns = message_clock_ns(), end_ns = now_ns + BIRTH_MAX_NS;
	uint64_t ran_ns = 0, before_ns;

	for (; now_ns < end_ns; now_ns = message_clock_ns()) {
		int rc = message_wait(child->sock, POLLIN, now_ns + BIRTH_STEP_NS);

		if (rc != -ETIMEDOUT)
			return rc;
		before_ns = ran_ns;
		ran_ns = child_cpu_ns(child);
		if (ran_ns && ran_ns == before_ns)
			break;
	}
	return -ETIMEDOUT;
}

static int take_files(struct child *child)
{
	struct message_fds fds;
	struct message m;
	int rc = message_recv(child->sock, &m, &fds, message_clock_ns() + BIRTH_STEP_NS);
	size_t nr = 0;

	if (!rc && (m.type != MESSAGE_BORN || m.len))
		rc = -EBADMSG;
	for (size_t i = 0; !rc && i < NR_CHILD_FILES; i++) {
		if (!(m.value & 1u << i) || nr == fds.nr)
			continue;
		rc = move_up(&fds.fd[nr]);
		child->files[i] = fds.fd[nr++];
	}
	while (fds.nr > nr)
		close(fds.fd[--fds.nr]);
	return rc;
}

bool child_births_are_paused(void)
{
	return clock_now_ns() < births.until_ns;
}

int child_spawn(struct child *ret, uint64_t *cpu_ns)
{
	struct child child = CHILD_NONE;
	int rc;

	if (child_nr_undead() >= CHILD_MAX_UNDEAD || !child_has_room(TENANT_OF_UNBORN) ||
	    child_births_are_paused())
		return -EBUSY;
	rc = broker_is_there(BROKER_HELPERS) ? ask_to_spawn(&child) : spawn_here(&child);
	if (rc)
		return rc;
	rc = wait_for_birth(&child);
	if (rc == -ETIMEDOUT)
		retry_pause_begin(&births, CHILD_FIRST_PAUSE_NS, CHILD_MAX_PAUSE_NS,
				  clock_now_ns());
	else
		retry_pause_forget(&births, clock_now_ns());
	if (!rc)
		rc = take_files(&child);
	if (rc)
		child_kill(&child, TENANT_OF_UNBORN, 0, cpu_ns);
	else
		*ret = child;
	return rc;
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

static void close_files(struct child *child)
{
	for (size_t i = 0; i < NR_CHILD_FILES; i++) {
		cleanup_closep(&child->files[i]);
		child->files[i] = -1;
	}
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
	close_files(child);
	*child = CHILD_NONE;
	return true;
}

/* Killed children that are not dead yet. */
static struct undead {
	struct child child;
	uint64_t number;
	struct tenant who;
	uint64_t *cpu_ns; /* NULL: its owner is gone */
	bool must_kill; /* the broker was late */
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
	bool must_kill = false;

	if (!child->pid)
		return 0;
	if (broker_is_there(BROKER_HELPERS))
		must_kill = ask_to_kill(child);
	else
		kill_here(child);
	close_socket(child, who);
	if (reap(child, wait_ms, cpu_ns))
		return 0;
	close_files(child);
	assert(nr_undead < ARRAY_SIZE(undead));
	undead[nr_undead++] = (struct undead){.child = *child,
					      .number = ++last_number,
					      .who = who,
					      .cpu_ns = cpu_ns,
					      .must_kill = must_kill};
	*child = CHILD_NONE;
	return last_number;
}

static void reap_undead(void)
{
	for (size_t i = 0; i < nr_undead;) {
		uint64_t unused, *cpu_ns = undead[i].cpu_ns;

		if (undead[i].must_kill)
			undead[i].must_kill = ask_to_kill(&undead[i].child);
		if (reap(&undead[i].child, 0, cpu_ns ? cpu_ns : &unused))
			undead[i] = undead[--nr_undead];
		else
			i++;
	}
}

size_t child_max_undead(struct tenant who)
{
	if (tenant_is_same(who, (struct tenant){0}))
		return CHILD_MAX_UNDEAD_ROOT;
	return tenant_is_same(who, TENANT_OF_UNBORN) ? CHILD_MAX_UNDEAD_UNBORN
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
	if (nr_undead >= CHILD_MANY_UNDEAD && !tenant_is_same(who, TENANT_OF_UNBORN))
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

/* Reads one of its files, as a string. */
static bool read_file(const struct child *child, enum child_file file, char *buf,
		      size_t size)
{
	ssize_t n = child->pid ? pread(child->files[file], buf, size - 1, 0) : 0;

	if (n <= 0)
		return false;
	buf[n] = '\0';
	return true;
}

bool child_schedule(const struct child *child, struct child_schedule *ret)
{
	struct child_schedule s;
	char text[128];

	if (!read_file(child, CHILD_SCHEDSTAT, text, sizeof(text)) ||
	    sscanf(text, "%" SCNu64 " %" SCNu64, &s.ran_ns, &s.waited_ns) != 2)
		return false;
	*ret = s;
	return true;
}

bool child_is_runnable(const struct child *child)
{
	char text[128], *state;

	if (!read_file(child, CHILD_STAT, text, sizeof(text)))
		return false;
	/* The state follows the name, which may contain any character. */
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'R';
}
