/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Escapes names, which are untrusted, for each kind of output. */
#ifndef LB_BASE_ESCAPE_H
#define LB_BASE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/**
 * Does the text at @at give a command to GitHub Actions, if that reads our output
 * (GITHUB_ACTIONS is set)? Its runner looks for "##[" anywhere in a line, and for "::" behind
 * the blanks at its begin. Escaping one character breaks the command.
 *
 * @begin  of the text, if it may be the first one of a line that is not blank; else NULL
 */
bool escape_is_command(const char *begin, const char *at);

/**
 * Prints @s so that it cannot move the cursor, change colours or end a line: control
 * characters (C0, DEL, C1, also as UTF-8), U+2028/2029 and the bidirectional overrides
 * become \xNN or \u{NNNN}, invalid UTF-8 becomes \xNN. Tabs are kept. Commands of GitHub
 * Actions are broken.
 * Return: display columns printed, one per code point (a tab counts 1).
 */
size_t escape_terminal(FILE *out, const char *s);

/**
 * The same into @buf (always terminated, no partial escapes), for a text that begins no line:
 * "::" stays. Returns @buf.
 */
char *escape_terminal_buf(char *buf, size_t size, const char *s);

/**
 * Copies @s into @buf as valid UTF-8, each bad byte as U+FFFD, for JSON and protobuf,
 * which allow only UTF-8. Always terminated. Returns @buf.
 */
char *escape_utf8_buf(char *buf, size_t size, const char *s);

/**
 * Appends to the text in @buf, truncated if it does not fit. Return: false if
 * truncated.
 */
__attribute__((format(printf, 3, 4))) bool text_append(char *buf, size_t size,
						       const char *fmt, ...);

#endif
