// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For pages.c: jit_load() puts the code of a linked file at its addresses and registers the file
 * through GDB's JIT interface. Code that it loaded before is unregistered first, unless the path ends
 * in ".more", and the new code may take its addresses.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jit-interface.h"

#define PAGE_BYTES 4096UL

static char *read_file(const char *path, size_t *ret_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;

	if (fd < 0 || fstat(fd, &st))
		exit(9);
	*ret_bytes = (size_t)st.st_size;
	bytes = malloc(*ret_bytes);
	if (!bytes || read(fd, bytes, *ret_bytes) != st.st_size)
		exit(9);
	close(fd);
	return bytes;
}

static void put_code(const char *bytes, const Elf64_Phdr *part)
{
	uint64_t start = part->p_vaddr & -PAGE_BYTES;
	uint64_t end = part->p_vaddr + part->p_memsz;
	char *code = (char *)(uintptr_t)part->p_vaddr;

	/* NOREPLACE fails for pages that are there: then they are used again. */
	mmap((void *)(uintptr_t)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	for (uint64_t i = 0; i < part->p_filesz; i++)
		code[i] = bytes[part->p_offset + i];
	__builtin___clear_cache(code, code + part->p_filesz);
}

void *jit_load(const char *path);
void *jit_load(const char *path)
{
	static struct entry *entry;
	const Elf64_Ehdr *header;
	const Elf64_Phdr *parts;
	size_t nr_bytes;
	char *bytes = read_file(path, &nr_bytes);

	if (entry && !strstr(path, ".more"))
		unlink_entry(entry);
	header = (const Elf64_Ehdr *)bytes;
	parts = (const Elf64_Phdr *)(bytes + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++)
		if (parts[i].p_type == PT_LOAD && parts[i].p_flags & PF_X)
			put_code(bytes, &parts[i]);
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		exit(9);
	entry->symfile = bytes;
	entry->symfile_bytes = nr_bytes;
	link_entry(entry);
	return (void *)(uintptr_t)header->e_entry;
}
