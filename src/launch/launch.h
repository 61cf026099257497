/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command of "lineburn run": forked early, started when sampling begins, run as its
 * user.
 */
#ifndef LB_LAUNCH_LAUNCH_H
#define LB_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

/* The user to run the command as: the user who called sudo, else our own. */
struct launch_user {
	bool is_other; /* the command runs as another user than lineburn */
	uid_t uid;
	gid_t gid;
	char name[256]; /* "" unless is_other */
};

/** Reads SUDO_UID and SUDO_GID if we are root, else uses our own ids. */
void launch_user_find(struct launch_user *ret);
enum {
	LAUNCH_BECAME,
	LAUNCH_BECAME_WITHOUT_ENVIRONMENT, /* it was not found, or cannot be read */
};

/**
 * Gives this process, a child that will execute a program, the user's ids, groups and
 * environment from before sudo. Return: one of these or -errno.
 */
int launch_become(const struct launch_user *user);
/**
 * Splits the text of /proc/PID/environ, len bytes before a NUL. Return: heap, NULL at its
 * end, which points into @text; NULL: no memory.
 */
char **launch_split_environ(char *text, size_t len);

struct launch {
	pid_t pid;
	int go_fd; /* a byte starts the command; closing it ends the command */
	int failed_fd; /* receives errno if exec failed; closed by a successful exec */
	const char *command;
	bool started;
	bool ended;
	int wait_status;
	bool executed; /* if so, our own failures are EXIT_OWN_FAILURE */
};

/**
 * Forks the command, which waits until launch_go(). It inherits our current standard
 * streams, signal mask, ignored signals and limits, so call this before changing them.
 * If it runs as another user, it has that user's ids and groups, also while it waits,
 * and the environment from before sudo.
 *
 * @argv         NULL-terminated, borrowed until launch_go()
 * @python_hook  make Pythons give Numba's code line tables (python_hook.h)
 */
int launch_new(char **argv, const struct launch_user *user, bool python_hook,
	       struct launch **ret, struct error *err);
/**
 * Kills a command that was not started, and waits 0.5 s at most for its end; leaves a started
 * one running.
 */
void launch_free(struct launch *l);
DEFINE_CLEANUP(struct launch, launch_free);

/** Waits, at most 100 ms, until the waiting process has mapped the command's file. */
void launch_wait_mapped(const struct launch *l);

/**
 * Starts the command. It is executed later, or never: its file system may not answer.
 * Return: 0; -errno with a message: a signal has killed it.
 */
int launch_go(struct launch *l, struct error *err);

/**
 * Sets l->executed if the command has been executed since; does not wait for that. Return:
 * 0; or, if it could not be executed and launch_has_ended(), -errno with a message and the
 * exit code of env(1), 126 or 127.
 */
int launch_look(struct launch *l, struct error *err);

/** Kills a command that was not executed. Return: -ETIMEDOUT with a message. */
int launch_give_up(struct launch *l, struct error *err);

/** Has the command ended? Reaps it without waiting. */
bool launch_has_ended(struct launch *l);

/** Sends a signal to the command, if it runs. */
void launch_signal(const struct launch *l, int sig);

/** Returns the command's exit status; 128 + signal if one killed it. */
int launch_exit_status(const struct launch *l);

/** Dies by the signal that killed the command; returns if none did. */
void launch_die_by_same_signal(const struct launch *l);

/* ---- the file that a command executes ---- */

/**
 * Opens the file that execvp(3) would execute for @name with the PATH of this process.
 * For a script (execve(2), "Interpreter scripts") it opens the interpreter, even one
 * found by env(1). Opens only regular files. The file may be replaced before it is
 * executed.
 *
 * Return: a descriptor for reading, or -errno: -ENOENT no such command, -EACCES not
 * executable or not readable, -ELOOP too many interpreters that are scripts themselves.
 */
int command_file_open(const char *name);

#endif
