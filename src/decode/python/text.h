/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names as CPython keeps them (PEP 393: 1, 2 or 4 bytes a char), as C strings. */
#ifndef LB_DECODE_PYTHON_TEXT_H
#define LB_DECODE_PYTHON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The bytes of a file name that is no UTF-8 are surrogates in a str (PEP 383); here they
 * are what they were, so the result need not be UTF-8. What is no character becomes
 * U+FFFD: other surrogates, NUL, and what is above U+10FFFF.
 *
 * @len     in bytes
 * @width   bytes a char: 1 (Latin-1), 2 or 4, little-endian; any other gives ""
 * @is_cut  there was more of it: "..." is appended
 * Return: heap; NULL when out of memory.
 */
char *python_text_utf8(const void *bytes, size_t len, unsigned int width, bool is_cut);

#endif
