/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ELF files of this machine, for tests that compare readers on all of them. */
#ifndef LB_TESTS_ELF_FILES_H
#define LB_TESTS_ELF_FILES_H

/*
 * Calls @fn with the path of each ELF file of the system, of local software, of the
 * toolchains in the home directory, and of the test environments in build/venv.
 * Symbolic links are not followed.
 */
void elf_files_walk(void (*fn)(const char *path));

#endif
