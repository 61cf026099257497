// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A JIT that registers its code as GDB's manual says ("JIT Compilation Interface"),
 * as fast as it can, or a program that registers invalid objects.
 *
 * usage: gdbjit OBJECTS SECONDS [HOW]
 * Registers OBJECTS objects with one function each (spin_0, spin_1, ...), then runs the
 * middle one. HOW: what is invalid after that, or what else happens meanwhile:
 *   cycle     the list is circular
 *   huge      an entry with a size of 2^60 bytes
 *   unmapped  an object at an unmapped address, and a last entry at one
 *   text      an object that is not an ELF file
 *   broken    ELF magic, then noise
 *   churn     valid: 80,000 more are registered and unregistered; the last one runs
 *   late      valid: after a second one more is registered, and runs
 *   swap      valid: spin_OBJECTS is registered, which never runs, and another object,
 *             which goes after a second; a second later spin_OBJECTS+1 gets the first
 *             one's entry, bytes and address, and runs
 *   nap       valid: sleeps most of the time
 *   forks     valid: forks 150 children first; each runs the function for a moment
 *   moving    a thread removes entries and adds them again nearly all the time
 */
#include <elf.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit-code.h"
#include "jit-interface.h"

#define CHURN 80000 /* more than lineburn keeps of one process */
#define FORKS 150

struct object {
	Elf64_Ehdr header;
	Elf64_Shdr sections[4]; /* none, .text, .symtab, .strtab */
	Elf64_Sym symbols[2];
	uint8_t text[32];
	char names[64];
};

#define SECTION_NAMES "\0.text\0.symtab\0.strtab\0"

static struct entry *register_bytes(const void *symfile, uint64_t bytes)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		exit(1);
	e->symfile = symfile;
	e->symfile_bytes = bytes;
	link_entry(e);
	return e;
}

static void set_name(struct object *o, unsigned int number)
{
	snprintf(o->names + sizeof(SECTION_NAMES "spin_") - 1, 16, "%u", number);
}

/* A function at @code. As in LLVM's objects sh_addr is set; symbols are relative. */
static struct object *object_new(const uint8_t *code, unsigned int number)
{
	struct object *o = calloc(1, sizeof(*o));

	if (!o)
		exit(1);
	memcpy(o->text, countdown, sizeof(countdown));
	memcpy(o->names, SECTION_NAMES "spin_", sizeof(SECTION_NAMES "spin_"));
	set_name(o, number);
	memcpy(o->header.e_ident, ELFMAG "\2\1\1", 7);
	o->header.e_type = ET_REL;
#if defined(__x86_64__)
	o->header.e_machine = EM_X86_64;
#else
	o->header.e_machine = EM_AARCH64;
#endif
	o->header.e_version = 1;
	o->header.e_ehsize = sizeof(o->header);
	o->header.e_shoff = offsetof(struct object, sections);
	o->header.e_shentsize = sizeof(Elf64_Shdr);
	o->header.e_shnum = 4;
	o->header.e_shstrndx = 3;
	o->sections[1] = (Elf64_Shdr){.sh_name = 1,
				      .sh_type = SHT_PROGBITS,
				      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				      .sh_addr = (uintptr_t)code,
				      .sh_offset = offsetof(struct object, text),
				      .sh_size = sizeof(countdown),
				      .sh_addralign = 16};
	o->sections[2] = (Elf64_Shdr){.sh_name = 7,
				      .sh_type = SHT_SYMTAB,
				      .sh_offset = offsetof(struct object, symbols),
				      .sh_size = sizeof(o->symbols),
				      .sh_link = 3,
				      .sh_info = 1,
				      .sh_addralign = 8,
				      .sh_entsize = sizeof(Elf64_Sym)};
	o->sections[3] = (Elf64_Shdr){.sh_name = 15,
				      .sh_type = SHT_STRTAB,
				      .sh_offset = offsetof(struct object, names),
				      .sh_size = sizeof(o->names),
				      .sh_addralign = 1};
	o->symbols[1] = (Elf64_Sym){.st_name = sizeof(SECTION_NAMES) - 1,
				    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				    .st_shndx = 1,
				    .st_size = sizeof(countdown)};
	return o;
}

static void *move(void *arg)
{
	struct entry *e = arg;

	/* A list that never rests may never be read whole. */
	for (;; usleep(1000))
		for (int i = 0; i < 10000; i++) {
			unlink_entry(e);
			link_entry(e);
		}
	return NULL;
}

static void forge(const char *how)
{
	static uint8_t noise[4096] = ELFMAG;
	uint32_t x = 1;

	struct entry *last = __jit_debug_descriptor.first;

	while (last->next)
		last = last->next;
	if (!strcmp(how, "cycle")) {
		last->next = __jit_debug_descriptor.first;
	} else if (!strcmp(how, "huge")) {
		register_bytes(noise, 1ull << 60);
	} else if (!strcmp(how, "unmapped")) {
		register_bytes((void *)0x1000, 4096);
		last->next = (void *)0x2000;
	} else if (!strcmp(how, "text")) {
		register_bytes("not an ELF file, but a string of its runtime", 44);
	} else if (!strcmp(how, "broken")) {
		for (size_t i = 4; i < sizeof(noise); i++)
			noise[i] = (uint8_t)((x = x * 1103515245 + 12345) >> 16);
		register_bytes(noise, sizeof(noise));
	} else if (!strcmp(how, "moving")) {
		pthread_t thread;

		pthread_create(&thread, NULL, move, __jit_debug_descriptor.first);
	}
}

/* Each object reuses the memory of the one before, after a pause like a compiler's. */
static void churn(uint8_t *code)
{
	struct object *o = object_new(code, 0);
	struct entry *e = NULL;

	for (unsigned int i = 1; i <= CHURN; i++) {
		if (e)
			unlink_entry(e);
		free(e);
		set_name(o, i);
		e = register_bytes(o, sizeof(*o));
	}
}

static void run_swapped(unsigned int nr, const uint8_t *code, double seconds)
{
	uint8_t *page = jit_page();
	struct object *o;
	struct entry *e, *gone;

	if (!page)
		exit(1);
	jit_write(page);
	o = object_new(page, nr);
	e = register_bytes(o, sizeof(*o));
	gone = register_bytes(object_new(page + 2048, 0), sizeof(*o));
	jit_run(code, 1.2);
	unlink_entry(gone);
	jit_run(code, 1.2);
	unlink_entry(e);
	set_name(o, nr + 1);
	link_entry(e);
	jit_run(page, seconds);
}

static void run_late(unsigned int nr, const uint8_t *code, double seconds)
{
	uint8_t *page = jit_page();

	if (!page)
		exit(1);
	jit_run(code, 1);
	jit_write(page);
	register_bytes(object_new(page, nr), sizeof(struct object));
	jit_run(page, seconds);
}

static void fork_children(const uint8_t *code)
{
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (!pid) {
			jit_run(code, 0.002);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 2 ? (unsigned int)atoi(argv[1]) : 0;
	size_t bytes = (size_t)nr * 64;
	uint8_t *code;

	if (!nr)
		return 2;
	code = mmap(NULL, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return 1;
	for (unsigned int i = 0; i < nr; i++) {
		memcpy(code + (size_t)i * 64, countdown, sizeof(countdown));
		register_bytes(object_new(code + (size_t)i * 64, i),
			       sizeof(struct object));
	}
	__builtin___clear_cache((char *)code, (char *)code + bytes);
	if (argc > 3 && !strcmp(argv[3], "churn")) {
		jit_run(code, 0.3); /* it is known to be a JIT by then */
		churn(code + (size_t)(nr / 2) * 64);
	} else if (argc > 3 && !strcmp(argv[3], "forks")) {
		jit_run(code, 0.5);
		fork_children(code + (size_t)(nr / 2) * 64);
	} else if (argc > 3 && !strcmp(argv[3], "late")) {
		run_late(nr, code + (size_t)(nr / 2) * 64, strtod(argv[2], NULL));
		return 0;
	} else if (argc > 3 && !strcmp(argv[3], "swap")) {
		run_swapped(nr, code + (size_t)(nr / 2) * 64, strtod(argv[2], NULL));
		return 0;
	} else if (argc > 3 && !strcmp(argv[3], "nap")) {
		/* Leaves CPU time for other processes. */
		for (double left = strtod(argv[2], NULL); left > 0; left -= 0.01) {
			jit_run(code + (size_t)(nr / 2) * 64, 0.01);
			usleep(40000);
		}
		return 0;
	} else if (argc > 3) {
		forge(argv[3]);
	}
	jit_run(code + (size_t)(nr / 2) * 64, strtod(argv[2], NULL));
	return 0;
}
