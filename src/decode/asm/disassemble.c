// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A JIT registers its object before the addresses in it are known, so the operand of
 * "call f" is 0 in the copy: a call of the next instruction. Compilers generate neither
 * such calls nor 8-byte immediates of 0, so these operands are shown as unknown:
 *
 *	e8 00 00 00 00			call ?
 *	48 b8 00 00 00 00 00 00 00 00	movabs rax, ?
 *	c5 fb 10 05 00 00 00 00		vmovsd xmm0, qword ptr [rip + ?]
 */
#include "decode/asm/disassemble.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/elf/binary.h"
#include "decode/requests.h"

struct disassembler {
	csh handle;
	cs_insn *insn; /* scratch */
	uint16_t machine;
	bool unrelocated;
	char text[DISASSEMBLED_TEXT_BYTES]; /* of the last instruction */
};

static int open_handle(uint16_t machine, csh *ret)
{
	cs_err err;

	switch (machine) {
	case EM_X86_64:
		err = cs_open(CS_ARCH_X86, CS_MODE_64, ret);
		break;
	case EM_386:
		err = cs_open(CS_ARCH_X86, CS_MODE_32, ret);
		break;
	case EM_AARCH64:
		err = cs_open(CS_ARCH_ARM64, CS_MODE_ARM, ret);
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (err == CS_ERR_MEM)
		return -ENOMEM;
	return err ? -EOPNOTSUPP : 0;
}

int disassembler_new(uint16_t machine, bool unrelocated, struct disassembler **ret)
{
	_cleanup_(disassembler_freep) struct disassembler *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->machine = machine;
	d->unrelocated = unrelocated;
	err = open_handle(machine, &d->handle);
	if (err)
		return err;
	if (cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON))
		return -ENOMEM;
	d->insn = cs_malloc(d->handle);
	if (!d->insn)
		return -ENOMEM;
	*ret = take_ptr(d);
	return 0;
}

void disassembler_free(struct disassembler *d)
{
	if (!d)
		return;
	if (d->insn)
		cs_free(d->insn, 1);
	if (d->handle)
		cs_close(&d->handle);
	free(d);
}

static bool is_x86(const struct disassembler *d)
{
	return d->machine != EM_AARCH64;
}

static void set_data(struct disassembler *d, const uint8_t *bytes, size_t len,
		     struct instruction *ret)
{
	uint32_t word;

	if (is_x86(d) || len < sizeof(word)) {
		ret->size_bytes = 1;
		snprintf(d->text, sizeof(d->text), ".byte 0x%02x", bytes[0]);
		return;
	}
	/* AArch64 instructions are little-endian even if its data are big-endian. */
	word = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
	ret->size_bytes = sizeof(word);
	snprintf(d->text, sizeof(d->text), ".word 0x%08x", word);
}

/* Gets the target of a direct jump or call: its last operand, an immediate. */
static bool last_immediate(const struct disassembler *d, uint64_t *ret)
{
	const cs_detail *detail = d->insn->detail;

	if (is_x86(d)) {
		const cs_x86 *x86 = &detail->x86;

		if (x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM)
			return false;
		*ret = (uint64_t)x86->operands[0].imm;
	} else {
		const cs_arm64 *arm = &detail->arm64;
		uint8_t nr = arm->op_count;

		if (!nr || nr > ARRAY_SIZE(arm->operands) ||
		    arm->operands[nr - 1].type != ARM64_OP_IMM)
			return false;
		*ret = (uint64_t)arm->operands[nr - 1].imm;
	}
	return true;
}

static enum instruction_flow flow_of(const struct disassembler *d)
{
	/* Capstone 4 counts bl as a jump. */
	if (!is_x86(d) && (d->insn->id == ARM64_INS_BL || d->insn->id == ARM64_INS_BLR))
		return INSTRUCTION_CALL;
	if (cs_insn_group(d->handle, d->insn, CS_GRP_CALL))
		return INSTRUCTION_CALL;
	return cs_insn_group(d->handle, d->insn, CS_GRP_JUMP) ? INSTRUCTION_JUMP
							      : INSTRUCTION_ON;
}

/* Replaces @what at the end of the text by "?". */
static void hide_end(struct disassembler *d, const char *what)
{
	size_t len = strlen(d->text), tail = strlen(what);

	if (len > tail && !strcmp(d->text + len - tail, what))
		strcpy(d->text + len - tail, "?");
}

static void hide_rip_operand(struct disassembler *d)
{
	char *at = strstr(d->text, "[rip]");
	char rest[DISASSEMBLED_TEXT_BYTES];

	if (!at)
		return;
	strcpy(rest, at + strlen("[rip]"));
	snprintf(at, sizeof(d->text) - (size_t)(at - d->text), "[rip + ?]%s", rest);
}

static bool is_unlinked_page(const struct disassembler *d, uint64_t address)
{
	const cs_arm64 *arm = &d->insn->detail->arm64;

	return d->insn->id == ARM64_INS_ADRP && arm->op_count == 2 &&
	       arm->operands[1].type == ARM64_OP_IMM &&
	       (uint64_t)arm->operands[1].imm == (address & ~0xfffULL);
}

/*
 * Is the operand of a jump or call 0, as before linking? It is relative to the next
 * instruction on x86, to this one on AArch64. Short jumps and one-instruction loops
 * stay within the function, so no linker fills them in.
 */
static bool goes_nowhere(const struct disassembler *d, uint64_t address,
			 const struct instruction *ret)
{
	if (!ret->has_target)
		return false;
	if (is_x86(d))
		return ret->target == address + ret->size_bytes && ret->size_bytes >= 5;
	return ret->target == address &&
	       (ret->flow == INSTRUCTION_CALL || !strcmp(d->insn->mnemonic, "b"));
}

/* Shows operands that no linker has filled in as "?". */
static void hide_unlinked(struct disassembler *d, uint64_t address,
			  struct instruction *ret)
{
	if (goes_nowhere(d, address, ret)) {
		ret->has_target = false;
		ret->target = 0;
		snprintf(d->text, sizeof(d->text), "%s ?", d->insn->mnemonic);
	} else if (!is_x86(d) && is_unlinked_page(d, address)) {
		snprintf(d->text, sizeof(d->text), "adrp %s, ?",
			 cs_reg_name(d->handle, d->insn->detail->arm64.operands[0].reg));
	} else if (is_x86(d)) {
		if (d->insn->id == X86_INS_MOVABS)
			hide_end(d, "0");
		hide_rip_operand(d);
	}
}

void disassembler_next(struct disassembler *d, const uint8_t *bytes, size_t len,
		       uint64_t address, struct instruction *ret)
{
	const uint8_t *code = bytes;
	size_t left = len;
	uint64_t next = address;

	*ret = (struct instruction){.address = address, .text = d->text};
	if (!cs_disasm_iter(d->handle, &code, &left, &next, d->insn) || !d->insn->size ||
	    d->insn->size > len) {
		set_data(d, bytes, len, ret);
		return;
	}
	ret->size_bytes = d->insn->size;
	snprintf(d->text, sizeof(d->text), "%s%s%s", d->insn->mnemonic,
		 *d->insn->op_str ? " " : "", d->insn->op_str);
	ret->flow = flow_of(d);
	ret->has_target = ret->flow != INSTRUCTION_ON && last_immediate(d, &ret->target);
	if (d->unrelocated)
		hide_unlinked(d, address, ret);
}

/* ---- Serves DECODER_DISASSEMBLE ---- */

struct request {
	uint16_t machine;
	uint64_t address, size_bytes;
	const uint8_t *build_id;
	size_t build_id_len;
	const uint8_t *code;
	size_t code_len; /* 0: in the file */
};

static int read_request(struct wire_reader *r, size_t nr_fds, struct request *ret)
{
	ret->machine = (uint16_t)wire_get_u32(r);
	ret->address = wire_get_u64(r);
	ret->size_bytes = wire_get_u64(r);
	ret->build_id = wire_get_bytes(r, &ret->build_id_len);
	ret->code = wire_get_bytes(r, &ret->code_len);
	if (r->failed || nr_fds != (ret->code_len ? 0 : 1))
		return -EBADMSG;
	return ret->code_len && ret->code_len != ret->size_bytes ? -EBADMSG : 0;
}

/* Takes code and machine from the file. Return: enum instructions_status, or -ENOMEM. */
static int find_code(struct request *q, const struct binary *b)
{
	if (q->build_id_len && (q->build_id_len != b->build_id_len ||
				memcmp(q->build_id, b->build_id, q->build_id_len)))
		return INSTRUCTIONS_FILE_REPLACED;
	q->machine = b->machine;
	q->code = binary_bytes_at(b, q->address, q->size_bytes);
	return q->code ? INSTRUCTIONS_OK : INSTRUCTIONS_NOT_THERE;
}

static void put_rows(struct disassembler *d, const struct request *q,
		     struct wire_writer *reply)
{
	struct instruction one;

	for (size_t at = 0; at < q->size_bytes; at += one.size_bytes) {
		disassembler_next(d, q->code + at, q->size_bytes - at, q->address + at,
				  &one);
		wire_put_u8(reply, (uint8_t)one.size_bytes);
		wire_put_u8(reply, (uint8_t)one.flow);
		wire_put_u8(reply, one.has_target);
		wire_put_u64(reply, one.target);
		wire_put_str(reply, one.text);
	}
}

static int put_status(enum instructions_status status, struct wire_writer *reply)
{
	wire_put_u32(reply, status);
	wire_put_bytes(reply, NULL, 0);
	return 0;
}

int instructions_serve(struct worker_call *call, struct wire_reader *request,
		       const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(binary_freep) struct binary *binary = NULL;
	_cleanup_(disassembler_freep) struct disassembler *d = NULL;
	_cleanup_free_ uint8_t *copy = NULL;
	struct request q;
	bool from_file;
	int err = read_request(request, nr_fds, &q);

	(void)call;
	if (err)
		return err;
	if (!q.size_bytes || q.size_bytes > INSTRUCTIONS_MAX_BYTES)
		return put_status(INSTRUCTIONS_TOO_LARGE, reply);
	from_file = !q.code_len;
	if (from_file) {
		err = binary_open(fds[0], &binary);
		if (err)
			return err == -ENOMEM ? err
					      : put_status(INSTRUCTIONS_BAD_FILE, reply);
		err = find_code(&q, binary);
		if (err)
			return put_status((enum instructions_status)err, reply);
		/* The file may change, and capstone may read a byte twice. */
		copy = malloc(q.size_bytes);
		if (!copy)
			return -ENOMEM;
		q.code = memcpy(copy, q.code, q.size_bytes);
	}
	err = disassembler_new(q.machine, !from_file, &d);
	if (err == -EOPNOTSUPP)
		return put_status(INSTRUCTIONS_UNKNOWN_MACHINE, reply);
	if (err)
		return err;
	wire_put_u32(reply, INSTRUCTIONS_OK);
	wire_put_bytes(reply, q.code, q.size_bytes);
	put_rows(d, &q, reply);
	return 0;
}
