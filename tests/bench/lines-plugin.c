// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A plugin of QEMU's (docs/devel/tcg-plugins.rst, version 1 of its interface) that lists the
 * cache lines that each event of a guest's perf touches: from the first instruction of a
 * function until one of its caller. What the functions below it do is counted with it.
 *
 * Arguments: start=ADDRESS of the function; from=, to=ADDRESS, the caller's text; out=FILE.
 * FILE has for each event "event INSTRUCTIONS", and then for each line that it touched "c" (code) or "d"
 * (data), the line's address, and that of the instruction that touched it first.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SHIFT   6
#define MAX_LINES    8192 /* of an event; a power of two, twice what is expected */
#define KERNEL_BIT   63 /* of addresses of code */
#define EXPORT       __attribute__((visibility("default")))
#define NO_REGISTERS 0 /* enum qemu_plugin_cb_flags */
#define READS_WRITES 3 /* enum qemu_plugin_mem_rw */

/* The part of the interface that is used here. */
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*translated_fn)(uint64_t id, struct qemu_plugin_tb *block);
typedef void (*executed_fn)(unsigned int cpu, void *user);
typedef void (*accessed_fn)(unsigned int cpu, uint32_t how, uint64_t address, void *user);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translated_fn fn);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block,
						 size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, executed_fn fn,
					    int flags, void *user);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, accessed_fn fn,
				      int flags, int how, void *user);
unsigned int qemu_plugin_mem_size_shift(uint32_t how);

EXPORT int qemu_plugin_version = 1;

static uint64_t start, from, to;
static FILE *out;

/* The event that is going on. Guests run in one thread, so there is only one. */
static bool is_inside;
static unsigned int cpu_inside;
static uint64_t nr_events, nr_instructions;
static struct line {
	uint64_t line, by;
	uint64_t event; /* the entry is empty if it is another's */
	char kind;
} table[MAX_LINES];
static struct line *in_order[MAX_LINES];
static size_t nr_lines;

static void touch(uint64_t line, uint64_t by, char kind)
{
	uint64_t at = (line * 2 + (kind == 'c')) * 0x9e3779b97f4a7c15 >> 32;

	while (nr_lines < MAX_LINES / 2) {
		struct line *entry = &table[at++ % MAX_LINES];

		if (entry->event != nr_events) {
			*entry = (struct line){line, by, nr_events, kind};
			in_order[nr_lines++] = entry;
			return;
		}
		if (entry->line == line && entry->kind == kind)
			return;
	}
}

static void print_event(void)
{
	fprintf(out, "event %" PRIu64 "\n", nr_instructions);
	for (size_t i = 0; i < nr_lines; i++)
		fprintf(out, "%c %" PRIx64 " %" PRIx64 "\n", in_order[i]->kind,
			in_order[i]->line << LINE_SHIFT, in_order[i]->by);
	fflush(out);
}

static void on_start(unsigned int cpu, void *user)
{
	(void)user;
	is_inside = true;
	cpu_inside = cpu;
	nr_events++;
	nr_instructions = 0;
	nr_lines = 0;
}

static void on_executed(unsigned int cpu, void *user)
{
	uint64_t address = (uint64_t)(uintptr_t)user;

	if (!is_inside || cpu != cpu_inside)
		return;
	if (address >= from && address < to) {
		is_inside = false;
		print_event();
		return;
	}
	nr_instructions++;
	touch(address >> LINE_SHIFT, address, 'c');
}

static void on_accessed(unsigned int cpu, uint32_t how, uint64_t address, void *user)
{
	uint64_t last = address + (1ULL << qemu_plugin_mem_size_shift(how)) - 1;

	if (!is_inside || cpu != cpu_inside)
		return;
	touch(address >> LINE_SHIFT, (uint64_t)(uintptr_t)user, 'd');
	touch(last >> LINE_SHIFT, (uint64_t)(uintptr_t)user, 'd');
}

static void on_translated(uint64_t id, struct qemu_plugin_tb *block)
{
	(void)id;
	if (!(qemu_plugin_tb_vaddr(block) >> KERNEL_BIT))
		return;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
		uint64_t address = qemu_plugin_insn_vaddr(insn);
		void *user = (void *)(uintptr_t)address;

		if (address == start)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_start,
							       NO_REGISTERS, NULL);
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_executed, NO_REGISTERS,
						       user);
		qemu_plugin_register_vcpu_mem_cb(insn, on_accessed, NO_REGISTERS,
						 READS_WRITES, user);
	}
}

/* Returns the text behind @name in an argument NAME=TEXT; NULL: another argument. */
static const char *value_of(const char *argument, const char *name)
{
	size_t length = strlen(name);

	return strncmp(argument, name, length) || argument[length] != '='
		       ? NULL
		       : argument + length + 1;
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	const char *text;

	(void)info;
	for (int i = 0; i < argc; i++) {
		if ((text = value_of(argv[i], "start")))
			start = strtoull(text, NULL, 16);
		else if ((text = value_of(argv[i], "from")))
			from = strtoull(text, NULL, 16);
		else if ((text = value_of(argv[i], "to")))
			to = strtoull(text, NULL, 16);
		else if ((text = value_of(argv[i], "out")))
			out = fopen(text, "w");
	}
	if (!start || !to || !out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
	return 0;
}
