// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/target_fd.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"

/* Beyond MAX_CLOSERS only for tenants for whom none is at work. */
#define MAX_CLOSERS 32
#define HARD_MAX    64
#define AT_ONCE     64 /* descriptors for a closer */
/* A tenant of whom a quarter waits gets no more files. */
#define MAX_WAITING 4096
#define MAX_FDS     (1u << 20) /* NR_OPEN of the kernel is seldom larger */
#define STUCK_NS    1000000000ULL
#define HAND_OUT_NS 100000000ULL
#define BUSY_NS     10000000ULL /* the same, when there is work for a closer */
#define END_NS      200000000ULL
#define STACK_BYTES 16384
#define IDLE        0u
#define END         UINT32_MAX
/* How often the parent's end is looked for, seconds. */
#define PARENT_S 1

/* Of one closer; shared with it. */
struct closer {
	/* It closes fds[0..nr). IDLE: it waits for work. END: it ends. */
	_Atomic uint32_t nr;
	int fds[AT_ONCE];
};

struct shared {
	_Atomic uint32_t nr_closers; /* wanted; END: all end */
	_Atomic uint64_t
		targets[MAX_FDS / 64]; /* bits of descriptors of files of targets */
	struct closer closers[HARD_MAX];
};

struct waiting_fd {
	int fd;
	struct tenant who;
};

/* Of an open descriptor. */
struct opened_fd {
	struct tenant who;
	bool is_known;
};

static struct {
	struct shared *shared; /* NULL: this process closes by itself */
	pid_t pid;
	size_t nr_closers;
	struct {
		struct tenant who;
		uint64_t since_ns;
	} work[HARD_MAX]; /* of the closers */
	struct opened_fd *opened; /* by descriptor; heap */
	size_t nr_opened, cap_opened;
	struct waiting_fd *waiting; /* heap */
	size_t nr_waiting, cap_waiting;
	struct quota waiting_quota;
	uint64_t handed_ns; /* when work was last handed out */
	bool is_lost; /* somebody killed the closers */
} state;

static void mark(struct shared *shared, int fd, bool is_target)
{
	uint64_t bit = UINT64_C(1) << (unsigned int)fd % 64;

	if ((unsigned int)fd >= MAX_FDS)
		return;
	if (is_target)
		atomic_fetch_or(&shared->targets[fd / 64], bit);
	else
		atomic_fetch_and(&shared->targets[fd / 64], ~bit);
}

static bool is_target(struct shared *shared, unsigned int fd)
{
	return atomic_load(&shared->targets[fd / 64]) >> fd % 64 & 1;
}

/* Closes all descriptors but those of files of targets: that never waits. */
static void close_others(struct shared *shared)
{
	unsigned int first = 0;

	for (unsigned int fd = 0; fd < MAX_FDS; fd++) {
		if (!is_target(shared, fd))
			continue;
		if (fd > first)
			syscall(SYS_close_range, first, fd - 1, 0);
		first = fd + 1;
	}
	syscall(SYS_close_range, first, UINT_MAX, 0);
}

/* ---- the processes that close ---- */

/* @most  NULL: without a limit */
static void wait_while(_Atomic uint32_t *word, uint32_t value,
		       const struct timespec *most)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, most, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Of all closers: they share the memory of the first one. */
static struct shared *closing;

static _Noreturn int close_for_ever(void *arg)
{
	struct closer *c = arg;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;) {
		uint32_t nr = atomic_load(&c->nr);

		if (nr == END)
			syscall(SYS_exit, 0);
		if (nr == IDLE) {
			wait_while(&c->nr, IDLE, NULL);
			continue;
		}
		for (uint32_t i = 0; i < nr && i < AT_ONCE; i++) {
			/* First: while it is being closed, its number may be used again. */
			mark(closing, c->fds[i], false);
			syscall(SYS_close, c->fds[i]);
		}
		atomic_store(&c->nr, IDLE);
	}
}

static _Noreturn void end_closers(struct shared *shared, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		atomic_store(&shared->closers[i].nr, END);
		wake(&shared->closers[i].nr);
	}
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	_exit(0);
}

static int start_closer(struct closer *c, char *stack_end)
{
	/* They get no signals. */
	return clone(close_for_ever, stack_end, CLONE_VM | CLONE_FILES | CLONE_FS, c);
}

/*
 * Closers share its memory, and so need none of their own.
 *
 * The parent may be killed while a closer is stuck. What is open in the table then stays open:
 * perf events, and the sockets at whose end other processes end. A parent-death signal would
 * not do: the kernel sends it with the rights of the one who dies, and a collector that has
 * become another user may not signal a process of root.
 */
static _Noreturn void start_closers(struct shared *shared, pid_t parent)
{
	static _Alignas(64) char stacks[HARD_MAX][STACK_BYTES];
	const struct timespec pause = {.tv_nsec = 100000000};
	const struct timespec while_it_lives = {.tv_sec = PARENT_S};
	uint32_t nr = 0;

	closing = shared;
	prctl(PR_SET_NAME, "lineburn-closer", 0, 0, 0);
	if (capabilities_keep(0, false) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(1);
	for (;;) {
		uint32_t wanted = atomic_load(&shared->nr_closers);

		if (wanted == END)
			end_closers(shared, nr);
		if (getppid() != parent) {
			close_others(shared);
			_exit(0);
		}
		if (nr == wanted || nr == HARD_MAX)
			wait_while(&shared->nr_closers, wanted, &while_it_lives);
		else if (start_closer(&shared->closers[nr], stacks[nr] + STACK_BYTES) >=
			 0)
			nr++;
		else
			nanosleep(&pause, NULL);
	}
}

/* ---- this process ---- */

int target_fd_begin(struct error *err)
{
	pid_t parent = getpid();
	sigset_t all, before;
	long pid;

	state.shared = mmap(NULL, sizeof(*state.shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (state.shared == MAP_FAILED) {
		state.shared = NULL;
		return error_set(err, -errno, "cannot share memory: %m");
	}
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	/* Like fork(), but with one table of descriptors for both. */
	pid = syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, NULL);
	if (!pid)
		start_closers(state.shared, parent);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		int rc = error_set(err, -errno, "cannot start another process: %m");

		munmap(take_ptr(state.shared), sizeof(*state.shared));
		return rc;
	}
	state.pid = (pid_t)pid;
	state.waiting_quota = (struct quota){.max = MAX_WAITING};
	return 0;
}

static bool is_at_work(size_t i)
{
	return atomic_load(&state.shared->closers[i].nr) != IDLE;
}

/* @since_ns  those that began before it */
static size_t nr_at_work(struct tenant who, uint64_t since_ns)
{
	size_t nr = 0;

	for (size_t i = 0; i < state.nr_closers; i++)
		nr += tenant_is_same(state.work[i].who, who) &&
		      state.work[i].since_ns < since_ns && is_at_work(i);
	return nr;
}

static bool may_have_closer(struct tenant who, size_t closer)
{
	size_t nr = nr_at_work(who, UINT64_MAX);

	return closer < MAX_CLOSERS ? nr < TARGET_FD_STUCK_MAX : !nr;
}

/* Returns one that is idle, or a new one. HARD_MAX: there is none. */
static size_t find_closer(void)
{
	size_t i = 0;

	while (i < state.nr_closers && is_at_work(i))
		i++;
	if (i == state.nr_closers && i < HARD_MAX) {
		atomic_store(&state.shared->nr_closers, ++state.nr_closers);
		wake(&state.shared->nr_closers);
	}
	return i;
}

/* Gives @closer some descriptors of one tenant, the one who has waited longest and may. */
static bool hand_to(size_t closer)
{
	struct closer *c = &state.shared->closers[closer];
	struct tenant who = TENANT_UNKNOWN;
	size_t nr_kept = 0;
	uint32_t nr = 0;

	for (size_t i = 0; i < state.nr_waiting; i++) {
		const struct waiting_fd *w = &state.waiting[i];
		bool is_taken = nr ? nr < AT_ONCE && tenant_is_same(w->who, who)
				   : may_have_closer(w->who, closer);

		if (!is_taken) {
			state.waiting[nr_kept++] = *w;
			continue;
		}
		who = w->who;
		quota_give(&state.waiting_quota, who, 1);
		c->fds[nr++] = w->fd;
	}
	state.nr_waiting = nr_kept;
	if (!nr)
		return false;
	state.work[closer].who = who;
	state.work[closer].since_ns = clock_now_ns();
	atomic_store(&c->nr, nr);
	wake(&c->nr);
	return true;
}

/*
 * Somebody has killed the closers. What waits may be what they waited for, so it stays
 * open, and no more files are opened.
 */
static void do_without(void)
{
	log_warning(
		"the process that closes files of targets was killed, so no more files "
		"are opened: new programs have no names; record again");
	state.is_lost = true;
	state.nr_waiting = state.nr_closers = 0;
}

static void hand_out(void)
{
	bool is_handed = true;

	state.handed_ns = clock_now_ns();
	if (state.is_lost)
		return;
	if (waitpid(state.pid, NULL, WNOHANG | __WALL) == state.pid) {
		do_without();
		return;
	}
	while (state.nr_waiting && is_handed) {
		size_t closer = find_closer();

		is_handed = closer < HARD_MAX && hand_to(closer);
	}
}

void target_fd_opened(int fd, struct tenant who)
{
	size_t nr = (size_t)fd + 1;

	/* Out of memory: a tenant who is not known pays. */
	if (!state.shared ||
	    vec_grow(&state.opened, &state.cap_opened, nr, sizeof(*state.opened), 0))
		return;
	while (state.nr_opened < nr)
		state.opened[state.nr_opened++] = (struct opened_fd){0};
	state.opened[fd] = (struct opened_fd){who, true};
	mark(state.shared, fd, true);
}

void target_fd_forget(int fd)
{
	if (!state.shared || (size_t)fd >= state.nr_opened)
		return;
	state.opened[fd].is_known = false;
	mark(state.shared, fd, false);
}

size_t target_fd_nr_waiting(void)
{
	return state.nr_waiting > AT_ONCE ? state.nr_waiting - AT_ONCE : 0;
}

bool target_fd_has_room(struct tenant who)
{
	uint64_t now_ns;

	if (state.is_lost)
		return false;
	if (!state.nr_closers)
		return true;
	now_ns = clock_now_ns();
	if (state.nr_waiting && now_ns - state.handed_ns >= BUSY_NS)
		hand_out();
	return !quota_is_over(&state.waiting_quota, who) &&
	       nr_at_work(who, now_ns - STUCK_NS) < TARGET_FD_STUCK_MAX;
}

void target_fd_close(int fd)
{
	struct tenant who = TENANT_UNKNOWN;
	uint64_t since_ns;

	if (fd < 0)
		return;
	if ((size_t)fd < state.nr_opened && state.opened[fd].is_known) {
		who = state.opened[fd].who;
		state.opened[fd].is_known = false;
	}
	if (!state.shared) {
		close(fd);
		return;
	}
	/* Out of memory: it stays open. */
	if (state.is_lost || vec_grow(&state.waiting, &state.cap_waiting,
				      state.nr_waiting + 1, sizeof(*state.waiting), 0))
		return;
	state.waiting[state.nr_waiting++] = (struct waiting_fd){fd, who};
	quota_add(&state.waiting_quota, who, 1);
	since_ns = clock_now_ns() - state.handed_ns;
	if (since_ns >= (state.nr_waiting >= AT_ONCE ? BUSY_NS : HAND_OUT_NS))
		hand_out();
}

void target_fd_closep(const int *fd)
{
	target_fd_close(*fd);
}

/* Waits for a while. Return: whether nothing is left to close. */
static bool finish(void)
{
	uint64_t end_ns = clock_now_ns() + END_NS;
	const struct timespec pause = {.tv_nsec = 1000000};
	size_t nr_busy;

	do {
		hand_out();
		if (state.is_lost)
			return true;
		nr_busy = 0;
		for (size_t i = 0; i < state.nr_closers; i++)
			nr_busy += is_at_work(i);
		if (!nr_busy && !state.nr_waiting)
			return true;
		nanosleep(&pause, NULL);
	} while (clock_now_ns() < end_ns);
	return false;
}

void target_fd_end(void)
{
	if (!state.shared)
		return;
	if (!finish()) {
		log_debug("files of targets are not closed yet: their file system does "
			  "not answer");
		return;
	}
	if (!state.is_lost) {
		atomic_store(&state.shared->nr_closers, END);
		wake(&state.shared->nr_closers);
		while (waitpid(state.pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	munmap(state.shared, sizeof(*state.shared));
	free(state.opened);
	free(state.waiting);
	quota_deinit(&state.waiting_quota);
	memset(&state, 0, sizeof(state));
}

void target_fd_leave(void)
{
	if (!state.shared)
		return;
	fflush(NULL);
	close_others(state.shared);
}
