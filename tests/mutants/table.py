#!/usr/bin/env python3
"""The mistakes of tests/mutants/run.sh.

usage: table.py names [SUITE...] | suite NAME
       table.py verify | apply NAME | revert NAME   of the tree in the current folder
verify: is each text there exactly once?
"""

import os
import sys

# name, what it is, file, suite that catches it, text that is there exactly once, text instead of
# it; where one place is not enough, further texts and what is there instead
MUTANTS = [
    # ---- lines and names ----
    ("line-too-far", "special opcodes of a line table come to the line below",
     "src/decode/dwarf/line.c", "unit decode/dwarf/line decode/dwarf/dwarf",
     "s.line += (uint32_t)(t->line_base + opcode % t->line_range);",
     "s.line += (uint32_t)(t->line_base + 1 + opcode % t->line_range);"),
    ("return-address-is-a-line", "a caller's line is that of the instruction it returns to",
     "src/symbolize/symbolizer.c", "unit symbolize/symbolizer",
     "uint32_t symbolizer_want(struct symbolizer *s, const struct process *proc, uint64_t ip,\n"
     "\t\t\t enum frame_kind kind, uint64_t first_ns, uint64_t last_ns)\n{",
     "uint32_t symbolizer_want(struct symbolizer *s, const struct process *proc, uint64_t ip,\n"
     "\t\t\t enum frame_kind kind, uint64_t first_ns, uint64_t last_ns)\n{\n"
     "\tip += kind == FRAME_RETURN;"),
    ("python-3.9-line-too-far", "a pair of lnotab is one line more",
     "src/decode/python/lines.c", "unit decode/python/lines",
     "\tret->end = l->end += l->table[l->pos];\n\tl->line += (int8_t)l->table[l->pos + 1];",
     "\tret->end = l->end += l->table[l->pos];\n\tl->line += (int8_t)l->table[l->pos + 1] + 1;"),
    ("cfa-register-by-one", "the CFA is based on the register beside",
     "src/decode/cfi/cfi.c", "unit decode/cfi/rows decode/cfi/cfi",
     "cfa.reg = op - DW_OP_breg0;", "cfa.reg = op - DW_OP_breg0 + 1;"),
    ("map-of-the-past-forgotten", "an address that another file had before is the present file's",
     "src/process/maps.c", "unit process/maps",
     "\t\tif (owner && !same_owner(owner, old))\n\t\t\treturn MAPS_AMBIGUOUS;", "\t\t;"),
    # ---- sums ----
    ("count-not-added", "a stack that was there already is not counted",
     "src/record/stack_table.c", "unit record/stack_table",
     "\t\trow->count += sample->count;\n", ""),
    ("exec-not-told-apart", "what a process ran before and after an exec is one row",
     "src/record/stack_table.c", "unit record/stack_table",
     "row->tgid == k->sample->tgid && row->exec_id == k->sample->exec_id &&",
     "row->tgid == k->sample->tgid &&",
     "(uint64_t)sample->tgid << 32 | sample->exec_id);", "(uint64_t)sample->tgid << 32);"),
    ("image-of-another-exec", "a program image is found by process and start alone",
     "src/process/image.c", "unit process/table",
     "return p->tgid == id->tgid && p->exec_id == id->exec_id &&", "return p->tgid == id->tgid &&",
     "(uint64_t)id->tgid << 32 | id->exec_id);", "(uint64_t)id->tgid << 32);"),
    ("hash-without-kernel-stack", "stacks that differ in the kernel only have one body",
     "src/record/stack_table.c", "unit record/stack_table",
     "return hash_u64(hash, s->kern_hash);", "return hash;"),
    ("recursion-counted-twice", "a file's total counts each of its lines on a stack",
     "src/analyze/attribution.c", "unit analyze/attribution",
     "\tif (tally_add_total(&w->lines.items[site->line], sample, weight))\n"
     "\t\ttally_add_total(&w->files.items[site->file], sample, weight);",
     "\ttally_add_total(&w->lines.items[site->line], sample, weight);\n"
     "\tw->files.items[site->file].total.samples += weight.samples;"),
    ("filter-inverted", "a filter that excludes includes",
     "src/analyze/filter.c", "unit analyze/filter",
     "item->tag |= m->filter.exclude ? SUBJECT_EXCLUDED : SUBJECT_INCLUDED;",
     "item->tag |= m->filter.exclude ? SUBJECT_INCLUDED : SUBJECT_EXCLUDED;"),
    ("one-window-too-many", "--keep N keeps N + 1 files",
     "src/record/window_files.c", "unit record/window_files",
     "while (stay < nr && (!keep || stay < keep)) {", "while (stay < nr && (!keep || stay <= keep)) {"),
    # ---- what strangers wrote ----
    ("wire-not-bounded", "a message says how long a text is, and is believed",
     "src/base/wire.c", "unit base/wire",
     "if (r->failed || len > r->len - r->pos) {", "if (r->failed) {"),
    ("jitdump-record-not-bounded", "a record may be longer than its file",
     "src/decode/jit/jitdump.c", "fuzz jitdump",
     "if (ret->size < PREFIX_BYTES || ret->size > left)", "if (ret->size < PREFIX_BYTES)"),
    ("perfmap-number-not-bounded", "a number in a perf map may have any number of digits",
     "src/decode/jit/perfmap.c", "unit decode/jit/perfmap",
     "\t\tif (value >> 60)\n\t\t\treturn NULL;\n", ""),
    ("gzip-bomb-accepted", "a profile may unpack to any size",
     "src/profile/gzip.c", "unit profile/gzip",
     "\tif (len >= ratio_max)\n\t\treturn -E2BIG;\n", "\t(void)ratio_max;\n"),
    ("terminal-codes-not-escaped", "an escape sequence in a name reaches the terminal",
     "src/base/escape.c", "cli names-escaped",
     "return cp < 0x20 || (cp >= 0x7f", "return (cp < 0x20 && cp != 0x1b) || (cp >= 0x7f"),
    ("mapping-ids-not-in-order", "the program is the first mapping, but keeps its number",
     "src/profile/id_table.h", "unit profile/pprof",
     "UINT64_C(1) + (first != UINT32_MAX && index < first);", "UINT64_C(1);"),
    ("csv-quotes-not-doubled", "a quote in a name ends the field",
     "src/render/csv.c", "unit render/formats",
     "\t\tif (*c == '\"')\n\t\t\tfputc('\"', out);\n", ""),
    ("links-lead-out", "a path of a container may lead out of its root",
     "src/process/file.c", "unit process/file",
     ".resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,", ".resolve = RESOLVE_NO_MAGICLINKS,"),
    ("decoder-may-map-uncounted", "a decoder may map memory that its limit does not see",
     "src/worker/sandbox.c", "unit worker/sandbox",
     "\tIS(MAP_SHARED | MAP_ANONYMOUS, 1, 0),\n\tALLOW,\n\tREFUSE,\n",
     "\tIS(MAP_SHARED | MAP_ANONYMOUS, 1, 0),\n\tALLOW,\n\tALLOW,\n"),
    ("worker-never-worn-out", "a decoder is never replaced",
     "src/worker/worker.c", "unit worker/worker",
     "return w->nr_child_calls >= MAX_CALLS_PER_CHILD ||\n\t       child_cpu_ns",
     "return child_cpu_ns"),
    ("no-cpu-is-a-hang", "a child that had no CPU until its deadline is taken for one that hangs",
     "src/worker/worker.c", "unit worker/worker",
     "\tif (missed_ns < call->limit_ns / MISSED_PART)\n", "\tif (missed_ns > INT64_MIN)\n"),
    ("option-without-limit", "--max-frames takes any number",
     "src/cli/options.c", "cli usage",
     "MEMBER(sampling.max_frames), .min = 1,\n\t .max = LB_MAX_FRAMES},", "MEMBER(sampling.max_frames), .min = 1,\n\t .max = UINT32_MAX},"),
    # ---- in the kernel, and what answers it: with root ----
    ("tables-late", "tables for the kernel's walk come 300 ms late",
     "src/unwind/feeder.c", "stats unwind",
     "\tw->is_behind |= unwind_files_serve(w->files, deadline_ns);\n",
     "\tnanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);\n"
     "\tw->is_behind |= unwind_files_serve(w->files, deadline_ns);\n"),
    ("samples-dropped", "3 % of what is sampled is lost, and nobody is told",
     "bpf/sampler.bpf.c", "unit collect/sampler",
     "\tctr->n[LB_CTR_SAMPLED]++;\n",
     "\tif (bpf_get_prandom_u32() % 33 == 0)\n\t\treturn 0;\n\tctr->n[LB_CTR_SAMPLED]++;\n"),
    ("loss-not-counted", "what a full map has no room for is not counted",
     "bpf/sampler.bpf.c", "unit collect/sampler",
     "\t\tctr->n[LB_CTR_LOST_COUNTS_FULL]++;\n", "\t\t;\n"),
    ("count-in-kernel-not-added", "a first sample of a stack is not counted",
     "bpf/sampler.bpf.c", "unit collect/sampler",
     "\t    add(map, key, now, period))\n\t\tctr->n[LB_CTR_COUNTED]++;\n",
     "\t    add(map, key, now, period))\n\t\t;\n"),
    ("rows-by-half", "a row's count is what one of two CPUs had",
     "src/collect/sampler.c", "unit collect/sampler",
     "\ts->totals.rows_counted += count->count;\n", "\ts->totals.rows_counted += 1;\n"),
    ("slot-not-waited-for", "a slot is emptied while programs may be in it",
     "src/collect/sampler.c", "unit collect/sampler",
     "\tif (bpf_map_update_elem(bpf_map__fd(s->skel->maps.counts), &old,\n"
     "\t\t\t\t&s->slots[old].counts_fd, BPF_ANY))\n\t\treturn -errno;\n", ""),
    ("kernel-filter-inverted", "the processes that were chosen are those that are not sampled",
     "bpf/filter.h", "unit collect/sampler",
     "\tis_chosen = lb_judge();\n", "\tis_chosen = !lb_judge();\n"),
    ("exec-not-in-the-key", "samples before and after an exec are the same program's",
     "bpf/sampler.bpf.c", "root exact",
     "key->exec_id = w->image.exec_id = LB_TASK(task, self_exec_id);",
     "key->exec_id = w->image.exec_id = 1;"),
    ("generation-not-in-the-key", "JIT code is named by what came to its address later",
     "bpf/sampler.bpf.c", "unit collect/jit_probe",
     "\treturn gen ? *gen : 0;\n", "\treturn gen ? 1 : 0;\n"),
    ("hash-without-a-frame", "stacks of other frames have the same hash",
     "bpf/walk.h", "root unwind known-answers",
     "\tw->body.hash = lb_mix(w->body.hash, ip);\n", "\tw->body.hash = lb_mix(w->body.hash, 0);\n"),
    # ---- losses ----
    ("loss-not-told", "a counter of the unwinder does not reach the profile",
     "src/record/account.c", "replay recorder",
     "\t\t.unwind_segments_refused = unwind.nr_segments_refused,\n", ""),
    ("losses-told-again", "what one window has lost the next one has lost, too",
     "src/record/account.c", "replay recorder",
     "\treturn now > told ? now - told : 0;\n", "\treturn now;\n"),
    ("names-lost-not-told", "names that did not fit are lost in silence",
     "src/record/account.c", "replay recorder",
     "\t\t.names_dropped = n->names_dropped + strpool_nr_dropped(n->names) +\n"
     "\t\t\t\t strpool_nr_dropped(n->pool),\n", ""),
    ("files-lost-not-told", "files that were not opened are lost in silence",
     "src/record/account.c", "replay recorder",
     "\t\t.files_dropped = processes.nr_files_dropped,\n", ""),
    ("estimate-below-zero", "missed ticks, an estimate, go down to 2^64",
     "src/record/account.c", "unit record/account",
     "\treturn now > told ? now - told : 0;\n", "\treturn now - told;\n"),
    ("segments-refused-not-counted", "what the unwinder has no room for is lost in silence",
     "src/unwind/feeder.c", "root exact",
     "\t\tw->totals.nr_segments_refused++;\n", "\t\t;\n"),
    ("codes-lost-not-told", "code objects over the maximum are lost in silence",
     "src/process/table.c", "replay recorder",
     "\t\tret->nr_interp_codes_lost += img->proc.interp_codes.nr_lost;\n", ""),
]


def find(name):
    for mutant in MUTANTS:
        if mutant[0] == name:
            return mutant
    sys.exit("there is no mutant %s" % name)


def with_mistake(mutant):
    """The file as it is, and with the mistake."""
    path, texts = mutant[2], mutant[4:]
    with open(path, encoding="utf-8") as f:
        before = text = f.read()
    for old, new in zip(texts[::2], texts[1::2]):
        if text.count(old) != 1:
            sys.exit("%s: its text is in %s %d times, not once" % (mutant[0], path, text.count(old)))
        text = text.replace(old, new)
    return before, text


def apply(mutant):
    path = mutant[2]
    before, text = with_mistake(mutant)
    with open(path + ".before", "w", encoding="utf-8") as f:
        f.write(before)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def revert(mutant):
    """Writes the file anew, so that it is built anew."""
    path = mutant[2]
    if os.path.exists(path + ".before"):
        with open(path + ".before", encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.unlink(path + ".before")


def main():
    if len(sys.argv) >= 2 and sys.argv[1] == "names":
        for mutant in MUTANTS:
            if not sys.argv[2:] or mutant[3].split()[0] in sys.argv[2:]:
                print(mutant[0])
    elif sys.argv[1:] == ["verify"]:
        for mutant in MUTANTS:
            with_mistake(mutant)
    elif len(sys.argv) == 3 and sys.argv[1] == "suite":
        print(find(sys.argv[2])[3])
    elif len(sys.argv) == 3 and sys.argv[1] in ("apply", "revert"):
        {"apply": apply, "revert": revert}[sys.argv[1]](find(sys.argv[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
