/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command of "lineburn run": held until it is sampled, run as its user. */
#ifndef LB_LAUNCH_LAUNCH_H
#define LB_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

/* Who the command runs as: the user who called sudo, else ourselves. */
struct launch_user {
	bool is_other; /* the command runs as somebody else than we do */
	uid_t uid;
	gid_t gid;
	char name[64]; /* "" unless is_other */
};

/** From SUDO_UID and SUDO_GID when we are root, else our own ids. */
void launch_user_find(struct launch_user *ret);

struct launch;

/**
 * Forks the command, which waits until launch_go(). Its standard streams, signal
 * mask, ignored signals and limits are ours at this moment, so this comes before
 * anything that changes them. As another user it gets that user's groups and the
 * environment that sudo was called with, and is that user while it waits, too.
 *
 * @argv         NULL-terminated, borrowed until launch_go()
 * @python_hook  whether Pythons shall give Numba's code lines (python_hook.h)
 */
int launch_new(char **argv, const struct launch_user *user, bool python_hook,
	       struct launch **ret, struct error *err);
/** Kills a command that was never let go; else leaves it alone. */
void launch_free(struct launch *l);
DEFINE_CLEANUP(struct launch, launch_free);

pid_t launch_pid(const struct launch *l);

/** Waits, 100 ms at most, until the command's file is mapped by the process that waits. */
void launch_wait_mapped(const struct launch *l);

/**
 * Lets the command start and waits until it was executed.
 * Return: 0; or -errno with a sentence and the exit code of env(1), 126 or 127,
 * when it could not be.
 */
int launch_go(struct launch *l, struct error *err);

/** From then on a failure of ours is EXIT_OWN_FAILURE. */
bool launch_was_executed(const struct launch *l);

/** Is it over? Reaps it without waiting. */
bool launch_has_ended(struct launch *l);

/** Sends the signal to the command, if it runs. */
void launch_signal(const struct launch *l, int sig);

/** Exit status of the command; 128 + signal when one killed it. */
int launch_exit_status(const struct launch *l);

/** Dies by the same signal as the command, if one killed it; else returns. */
void launch_die_alike(const struct launch *l);

/* ---- the file that a command executes ---- */

/**
 * Opens the file that execvp(3) would execute for @name with the PATH of this process;
 * of a script (execve(2), "Interpreter scripts") its interpreter, also one that env(1)
 * looks for. What it says holds until somebody replaces the file. Nothing but a regular
 * file is opened.
 *
 * Return: a descriptor for reading, or -errno: -ENOENT there is no such command, -EACCES
 * it cannot be executed or not read, -ELOOP interpreters that are scripts themselves, too
 * many of them.
 */
int command_file_open(const char *name);

#endif
