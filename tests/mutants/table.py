#!/usr/bin/env python3
"""The mistakes that tests/mutants/run.sh makes.

usage: table.py names [SUITE...] | suite NAME
       table.py verify | apply NAME | revert NAME   in the tree of the current folder
verify: checks that each text is there exactly once
"""

import os
import sys

# name, description, file, suite that catches it, text that is in the file exactly once, its
# replacement; more pairs of text and replacement if the mistake is in several places
MUTANTS = [
    # ---- lines and names ----
    ("line-too-far", "special opcodes of a line table give the next line",
     "src/decode/dwarf/line.c", "unit decode/dwarf/line decode/dwarf/dwarf",
     "s.line += (uint32_t)(t->line_base + opcode % t->line_range);",
     "s.line += (uint32_t)(t->line_base + 1 + opcode % t->line_range);"),
    ("call-line-too-far", "a call that was inlined is on the next line",
     "src/decode/dwarf/dwarf.c", "unit decode/dwarf/reference",
     "return (struct frame_place){s->parent, s->call_file, s->call_line};",
     "return (struct frame_place){s->parent, s->call_file, s->call_line + 1};"),
    ("form-of-three-bytes-unknown", "values of three bytes, which only large programs have, are not read",
     "src/decode/dwarf/unit.c", "unit decode/dwarf/formats",
     "\tcase DW_FORM_addrx3:\n\t\treturn 3;", "\tcase DW_FORM_addrx3:\n\t\treturn ABBREV_VARIABLE;"),
    ("later-dwarf-read-as-5", "units of DWARF 6 are read as if they were of DWARF 5",
     "src/decode/dwarf/unit.c", "unit decode/dwarf/formats",
     "} else if (u->widths.version == 5) {", "} else if (u->widths.version >= 5) {"),
    ("large-package-cut", "units beyond 4 GiB of a .dwp are not found",
     "src/decode/dwarf/unit.c", "unit decode/dwarf/file",
     "at.info < info_bytes; at.info += 1ULL << 32", "at.info < info_bytes; at.info = info_bytes"),
    ("package-reserved-bytes", "a .dwp of DWARF 5 is not read if the reserved bytes of its index are not 0",
     "src/decode/dwarf/unit.c", "unit decode/dwarf/formats",
     "if ((version & UINT16_MAX) == 5)", "if (version == 5)"),
    ("only-first-section-of-dwo", "functions of a .dwo with type units of DWARF 5 have no names",
     "src/decode/dwarf/unit.c", "unit decode/dwarf/file",
     "} while (debug_spend(dwo, 16) && debug_file_next_info(dwo));", "} while (0);"),
    ("unknown-unit-is-no-debug-info", "code in a unit of an unknown version counts as built without -g",
     "src/decode/dwarf/dwarf.c", "unit decode/elf/elf",
     "\t\t\ts->has_bad_units = true;\n", ""),
    ("bad-units-not-counted", "-v does not tell that units were not read",
     "src/decode/elf/elf.c", "unit decode/elf/elf",
     "job->nr_bad_units = stats.nr_bad_units;", "job->nr_bad_units = 0;"),
    ("unknown-is-a-file", "PHP's line 1 of \"unknown\" is a source line",
     "src/decode/jit/function_lines.c", "unit decode/jit/gdbjit",
     "return !strcmp(file, \"unknown\");", "return !strcmp(file, \"-\");"),
    ("return-address-is-a-line", "a caller's line is that of its return address, not of the call",
     "src/symbolize/symbolizer.c", "unit symbolize/symbolizer",
     "uint32_t symbolizer_want(struct symbolizer *s, const struct process *proc, uint64_t ip,\n"
     "\t\t\t enum frame_kind kind, uint64_t first_ns, uint64_t last_ns)\n{",
     "uint32_t symbolizer_want(struct symbolizer *s, const struct process *proc, uint64_t ip,\n"
     "\t\t\t enum frame_kind kind, uint64_t first_ns, uint64_t last_ns)\n{\n"
     "\tip += kind == FRAME_RETURN;"),
    ("python-3.9-line-too-far", "each pair of lnotab adds one line too many",
     "src/decode/python/lines.c", "unit decode/python/lines",
     "\tret->end = l->end += l->table[l->pos];\n\tl->line += (int8_t)l->table[l->pos + 1];",
     "\tret->end = l->end += l->table[l->pos];\n\tl->line += (int8_t)l->table[l->pos + 1] + 1;"),
    ("cfa-register-by-one", "the CFA is based on the next register",
     "src/decode/cfi/cfi.c", "unit decode/cfi/rows decode/cfi/cfi",
     "cfa.reg = op - DW_OP_breg0;", "cfa.reg = op - DW_OP_breg0 + 1;"),
    ("map-of-the-past-forgotten", "an address that another file had before is taken for the present file's",
     "src/process/maps.c", "unit process/maps",
     "\t\tif (owner && !same_owner(owner, old))\n\t\t\treturn MAPS_AMBIGUOUS;", "\t\t;"),
    ("old-table-forgotten", "callers that the unwind table of replaced code led to are kept",
     "src/process/maps.c", "unit process/maps",
     "m->took_over |= old.told_ns && !same_owner(&old, m);", ";"),
    ("freed-code-too-short", "callers found by a table of freed code are kept if the stack was seen before, too",
     "src/process/replaced_code.c", "unit process/replaced_code",
     "first_ns < r->until_ns", "last_ns < r->until_ns"),
    ("freed-code-not-noted", "at the end of a recording, callers found by a table of freed code are kept",
     "src/unwind/feeder.c", "root exact",
     "\t\t\tnote_gone(w, p, &w->images[id], NULL);", "\t\t\t;"),
    ("frame-left-forgotten", "callers of a function of Python 3.10 are wrong while it returns",
     "bpf/interp.h", "unit collect/unwind",
     "is_left && interp->anchor >= w->stack.sp", "false"),
    ("derived-not-marked", "callers that rules made from machine code led to count as read from a table",
     "src/decode/cfi/functions.c", "unit decode/cfi/functions",
     "\trule.fp |= LB_FP_DERIVED;\n", ""),
    ("c-runtime-charged", "a line of the C library is charged although its caller has a line",
     "src/analyze/attribution.c", "unit analyze/attribution",
     "(code->charges_last ? LINE_IF_LAST : 0)", "0"),
    ("undescribed-code-is-its-callers", "code of a JIT that nothing describes is charged to the line that calls it",
     "src/analyze/attribution.c", "unit analyze/attribution",
     "if (f->charged || f->undescribed != PROFILE_NONE)\n\t\treturn false;", "if (f->charged)\n\t\treturn false;"),
    ("idle-account-is-exact", "ticks are missed although the error of the idle account explains them",
     "src/record/account.c", "unit record/account",
     "ret->due > ret->ran + ret->due_error ?", "ret->due > ret->ran ?"),
    # ---- sums ----
    ("count-not-added", "further samples of a known stack are not counted",
     "src/record/stack_table.c", "unit record/stack_table",
     "\t\trow->count += sample->count;\n", ""),
    ("exec-not-told-apart", "samples before and after an exec share a row",
     "src/record/stack_table.c", "unit record/stack_table",
     "row->tgid == k->sample->tgid && row->exec_id == k->sample->exec_id &&",
     "row->tgid == k->sample->tgid &&",
     "(uint64_t)sample->tgid << 32 | sample->exec_id);", "(uint64_t)sample->tgid << 32);"),
    ("image-of-another-exec", "the lookup of a program image ignores the exec id",
     "src/process/image.c", "unit process/table",
     "return p->tgid == id->tgid && p->exec_id == id->exec_id &&", "return p->tgid == id->tgid &&",
     "(uint64_t)id->tgid << 32 | id->exec_id);", "(uint64_t)id->tgid << 32);"),
    ("hash-without-kernel-stack", "stacks that differ only in their kernel part share a body",
     "src/record/stack_table.c", "unit record/stack_table",
     "return hash_u64(hash, s->kern_hash);", "return hash;"),
    ("recursion-counted-twice", "a file's total counts a sample once for each of its lines on the stack",
     "src/analyze/attribution.c", "unit analyze/attribution",
     "\tif (tally_add_total(&w->lines.items[site->line], sample, weight))\n"
     "\t\ttally_add_total(&w->files.items[site->file], sample, weight);",
     "\ttally_add_total(&w->lines.items[site->line], sample, weight);\n"
     "\tw->files.items[site->file].total.samples += weight.samples;"),
    ("service-without-script", "all programs of one interpreter have one build id for their Python code",
     "src/record/service_id.c", "unit record/service_id",
     "\t\tadd(ctx, path_clean(path, clean, sizeof(clean)));", "\t\tadd(ctx, path_clean(\"\", clean, sizeof(clean)));"),
    ("export-keeps-callees", "an export keeps the frames inside of the charged line",
     "src/analyze/line_stacks.c", "unit analyze/line_stacks",
     "uint32_t leaf = charge->frame == PROFILE_NONE ? 0 : charge->frame;", "uint32_t leaf = 0;"),
    ("export-keeps-uncharged-lines", "an export keeps lines for which annotate counts nothing",
     "src/analyze/line_stacks.c", "unit analyze/line_stacks",
     "\t\t\tline.line = 0;", "\t\t\tline.line += 0;"),
    ("export-over-the-limit", "an export has more stacks than servers take",
     "src/export/pprof.c", "unit export/pprof",
     "*ret_size = bytes > samples ? bytes : samples;", "*ret_size = samples > 1e9 ? samples : bytes;"),
    ("hidden-frames-stay", "--hide leaves inlined frames in their stacks",
     "src/analyze/frame_filter.c", "unit analyze/frame_filter",
     "if (!(bits & 1U << FRAME_HIDE))", "if (bits || !bits)"),
    ("ignore-is-focus", "--ignore keeps what it should leave out",
     "src/analyze/frame_filter.c", "unit analyze/frame_filter",
     "&& !(all & 1U << FRAME_IGNORE);", "&& !(all & 1U << FRAME_HIDE);"),
    ("libraries-are-own", "files of libraries count as the user's own",
     "src/analyze/attribution.c", "unit analyze/attribution",
     ".is_library = !(item->tag & FILE_MINE),", ".is_library = false,"),
    ("folded-stacks-lost", "of folded stacks that differ in lines only, one counts",
     "src/export/folded.c", "unit export/formats",
     "samples += f.lines[i].samples;", "samples = f.lines[i].samples;"),
    ("inlined-frames-reversed", "an export has inlined frames outside of their callers",
     "src/export/stacks.c", "unit export/formats",
     "for (uint32_t i = l->nr_lines; i-- > 0 && !r;) {",
     "for (uint32_t i = 0; i < l->nr_lines && !r; i++) {"),
    ("filter-inverted", "a filter that should exclude includes",
     "src/analyze/filter.c", "unit analyze/filter",
     "item->tag |= m->filter.exclude ? SUBJECT_EXCLUDED : SUBJECT_INCLUDED;",
     "item->tag |= m->filter.exclude ? SUBJECT_INCLUDED : SUBJECT_EXCLUDED;"),
    ("one-window-too-many", "--keep N keeps N + 1 files",
     "src/record/window_files.c", "unit record/window_files",
     "while (stay < nr && (!keep || stay < keep)) {", "while (stay < nr && (!keep || stay <= keep)) {"),
    # ---- untrusted input ----
    ("wire-not-bounded", "the length of a text in a message is not checked",
     "src/base/wire.c", "unit base/wire",
     "if (r->failed || len > r->len - r->pos) {", "if (r->failed) {"),
    ("jitdump-record-not-bounded", "a jitdump record may be longer than its file",
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
    ("mapping-ids-not-in-order", "the program is the first mapping, but the ids are not renumbered",
     "src/profile/id_table.h", "unit profile/pprof",
     "UINT64_C(1) + (first != UINT32_MAX && index < first);", "UINT64_C(1);"),
    ("csv-quotes-not-doubled", "a quote in a name ends the CSV field",
     "src/render/csv.c", "unit render/formats",
     "\t\tif (*c == '\"')\n\t\t\tfputc('\"', out);\n", ""),
    ("links-lead-out", "a path in a container may lead out of its root",
     "src/process/file.c", "unit process/file",
     ".resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,", ".resolve = RESOLVE_NO_MAGICLINKS,"),
    ("decoder-may-map-uncounted", "a decoder may map memory that its limit does not count",
     "src/worker/sandbox.c", "unit worker/sandbox",
     "\tIS(MAP_SHARED | MAP_ANONYMOUS, 1, 0),\n\tALLOW,\n\tREFUSE,\n",
     "\tIS(MAP_SHARED | MAP_ANONYMOUS, 1, 0),\n\tALLOW,\n\tALLOW,\n"),
    ("worker-never-worn-out", "a decoder is never replaced",
     "src/worker/worker.c", "unit worker/worker",
     "return w->nr_child_calls >= MAX_CALLS_PER_CHILD ||\n\t       child_cpu_ns",
     "return child_cpu_ns"),
    ("no-cpu-is-a-hang", "a child that got no CPU time until its deadline is taken to hang",
     "src/worker/worker.c", "unit worker/worker",
     "\tif (missed_ns < call->limit_ns / MISSED_PART)\n", "\tif (missed_ns > INT64_MIN)\n"),
    ("option-without-limit", "--max-frames accepts any number",
     "src/cli/options.c", "cli usage",
     "MEMBER(sampling.max_frames), .min = 1,\n\t .max = LB_MAX_FRAMES},", "MEMBER(sampling.max_frames), .min = 1,\n\t .max = UINT32_MAX},"),
    ("busy-pages-not-marked", "unwind tables of busy code are evicted, because the kernel's cache hides its use",
     "src/unwind/tables.c", "unit unwind/tables",
     "\tif (is_any_spared)\n\t\t++*t->maps.pages_generation;\n", "\t(void)is_any_spared;\n"),
    # ---- BPF programs, and what they need from user space: with root ----
    ("tables-late", "unwind tables are written to the kernel 300 ms late",
     "src/unwind/feeder.c", "stats unwind",
     "\tw->is_behind |= unwind_files_serve(w->files, deadline_ns);\n",
     "\tnanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);\n"
     "\tw->is_behind |= unwind_files_serve(w->files, deadline_ns);\n"),
    ("samples-dropped", "3 % of the samples are lost and not counted as lost",
     "bpf/sampler.bpf.c", "unit collect/sampler",
     "\tctr->n[LB_CTR_SAMPLED]++;\n",
     "\tif (bpf_get_prandom_u32() % 33 == 0)\n\t\treturn 0;\n\tctr->n[LB_CTR_SAMPLED]++;\n"),
    ("loss-not-counted", "samples that a full map refuses are not counted",
     "bpf/sampler.bpf.c", "unit collect/sampler",
     "\t\tctr->n[LB_CTR_LOST_COUNTS_FULL]++;\n", "\t\t;\n"),
    ("count-in-kernel-not-added", "the first sample of a stack is not counted",
     "bpf/sampler.bpf.c", "unit collect/sampler",
     "\t    add(map, key, now, period))\n\t\tctr->n[LB_CTR_COUNTED]++;\n",
     "\t    add(map, key, now, period))\n\t\t;\n"),
    ("rows-by-half", "a row counts as one sample, whatever its count",
     "src/collect/sampler.c", "unit collect/sampler",
     "\ts->totals.rows_counted += count->count;\n", "\ts->totals.rows_counted += 1;\n"),
    ("slot-not-waited-for", "a slot is emptied while BPF programs may still write to it",
     "src/collect/sampler.c", "unit collect/sampler",
     "\tif (bpf_map_update_elem(bpf_map__fd(s->skel->maps.counts), &old,\n"
     "\t\t\t\t&s->slots[old].counts_fd, BPF_ANY))\n\t\treturn -errno;\n", ""),
    ("lru-map-too-small", "free entries that each CPU keeps for itself make LRU maps evict early",
     "src/collect/map_sizes.c", "unit collect/map_sizes",
     "return wanted + nr_possible_cpus * MAP_SIZES_LRU_FREE_PER_CPU;",
     "return wanted + nr_possible_cpus;"),
    ("room-without-bodies", "the time until a slot is full ignores the ring of stacks",
     "src/collect/map_sizes.c", "unit collect/map_sizes",
     "\tif (stacks > rows)\n", "\tif (stacks)\n"),
    ("first-samples-of-few", "the ring of first samples has one size on all machines",
     "src/collect/map_sizes.c", "unit collect/map_sizes",
     "(uint64_t)nr_cpus * FIRST_BYTES_PER_CPU,", "FIRST_BYTES_PER_CPU,"),
    ("sleeping-ring-admitted", "a ring buffer whose lock sleeps is used",
     "src/collect/kernel_quirks.c", "unit collect/kernel_quirks",
     "sleeps = !lock || !strcmp(btf__name_by_offset(btf, lock->name_off), \"spinlock\");",
     "sleeps = !lock;"),
    ("kernel-filter-inverted", "the chosen processes are not sampled, all others are",
     "bpf/filter.h", "unit collect/sampler",
     "\tis_chosen = lb_judge();\n", "\tis_chosen = !lb_judge();\n"),
    ("exec-not-in-the-key", "samples before and after an exec have the same key",
     "bpf/sampler.bpf.c", "root exact",
     "key->exec_id = w->image.exec_id = LB_TASK(task, self_exec_id);",
     "key->exec_id = w->image.exec_id = 1;"),
    ("rule-of-another-page", "a cached unwind rule is used for other code, which came to its page later",
     "bpf/tables.h", "unit collect/unwind",
     "(__u64)w->pages_generation << 33 | (__u64)nr << 16 | low;", "(__u64)nr << 16 | low;"),
    ("no-rule-cached", "no rule is found in the cache, so each frame is searched",
     "bpf/tables.h", "unit collect/unwind",
     "if ((at_hand->tag ^ *ret) == hash)", "if ((at_hand->tag ^ *ret) == hash + 1)"),
    ("owner-not-in-the-key", "a program that changes its user keeps the user of its first sample",
     "bpf/sampler.bpf.c", "unit collect/sampler",
     "tag = lb_mix(w->image_hash, user);", "tag = lb_mix(w->image_hash, 0);"),
    ("generation-not-in-the-key", "JIT code is named after code that came to its address later",
     "bpf/sampler.bpf.c", "unit collect/jit_probe",
     "\treturn gen ? *gen : 0;\n", "\treturn gen ? 1 : 0;\n"),
    ("hash-without-a-frame", "stacks of different frames have the same hash",
     "bpf/walk.h", "root unwind known-answers",
     "\tw->body.hash = lb_mix(w->body.hash, ip);\n", "\tw->body.hash = lb_mix(w->body.hash, 0);\n"),
    ("changed-file-is-known", "tables of a file serve after its content has changed",
     "bpf/mappings.h", "unit collect/unwind",
     "tables->mtime_ns != lb_mtime_ns(inode)", "0"),
    ("data-of-a-file-is-code", "data of a known file counts as code",
     "bpf/mappings.h", "unit collect/unwind",
     "!(BPF_CORE_READ(vma, vm_flags) & VM_EXEC)", "0"),
    ("awaited-interpreter-is-whole", "a stack through an interpreter whose frames are not found yet is complete",
     "bpf/sampler.bpf.c", "unit collect/unwind",
     "if (w->segment_flags & LB_SEGMENT_AWAITED && lb_is_whole(w->status))", "if (0)"),
    ("awaited-interpreter-not-marked", "text of an interpreter whose frames are not found yet is not marked",
     "src/unwind/feeder.c", "root exact",
     "l->items[j].flags |= LB_SEGMENT_AWAITED", "l->items[j].flags |= 0"),
    ("known-file-of-an-interpreter", "an interpreter's tables serve processes whose frames are not found yet",
     "src/unwind/files.c", "root exact",
     "if (o->first > UINT32_MAX || (!is_vdso && is_interpreter(f, m->file)))", "if (o->first > UINT32_MAX)"),
    ("vdso-unknown", "the vdso of a process has no table until the collector knows the process",
     "bpf/mappings.h", "root exact",
     "if (!bpf_core_field_exists(mm->context.vdso) ||", "if (1 ||"),
    ("leader-gone-at-exec", "a thread that another one replaces by exec ends the recording",
     "src/target/target.c", "root choice",
     "return stat.nr_threads == 1 ? THREAD_GONE : THREAD_ZOMBIE;", "return THREAD_GONE;"),
    ("code-of-known-functions-read", "the code of a function that begins before the pages is read in spite of its CFI",
     "src/decode/cfi/functions.c", "unit decode/cfi/functions",
     "cfi_rows_cover(rows, sym->st_value < first->vaddr ? first->vaddr", "cfi_rows_cover(rows, 0 ? 0"),
    ("code-is-read-ahead", "a page that nobody needs is disassembled while others wait",
     "src/decode/cfi/functions.c", "unit decode/cfi/serve",
     "if (p->is_needed)", "if (true)"),
    ("small-function-is-padding", "the code of a function of 16 bytes is not read",
     "src/decode/cfi/serve.c", "unit decode/cfi/serve",
     "#define MIN_FUNCTION_BYTES 16", "#define MIN_FUNCTION_BYTES 17"),
    ("half-a-page-left-out", "the reply does not say which pages it leaves out",
     "src/decode/cfi/serve.c", "unit decode/cfi/serve",
     "wire_put_u32(reply, nr);", "wire_put_u32(reply, nr = 0);\n\tif (!nr)\n\t\treturn;"),
    ("needed-page-left-out", "the collector believes that a page that it needs is left out",
     "src/unwind/ask.c", "unit unwind/ask",
     "if (!known || known->is_needed)", "if (!known)"),
    ("slab-after-its-update", "the collector waits for running BPF programs when it makes room for rows",
     "src/unwind/tables.c", "unit unwind/tables",
     "if (job_wait(u->job, 0))", "if (job_wait(u->job, -1))"),
    ("inode-forgotten-while-probed", "an inode whose process ends while it is being probed keeps its probe",
     "src/runtime/jit/inodes.c", "unit runtime/jit/inodes",
     "if (inode->is_kept || inode->is_attaching)", "if (inode->is_kept)"),
    ("two-probed-at-once", "a second inode counts as not probed while the first one is being probed",
     "src/runtime/jit/inodes.c", "unit runtime/jit/inodes",
     "return (struct jit_inode){.is_pending = true};", "return (struct jit_inode){0};"),
    ("page-without-its-code", "a page that nobody needs is answered without the rows of its code",
     "src/decode/cfi/functions.c", "unit decode/cfi/serve",
     "(--p)->is_left_out = true;", "--p;"),
    ("signals-in-a-circle", "a signal frame may lead to a lower stack any number of times",
     "bpf/native.h", "root lies",
     "if (w->stack.sp <= cfa && w->nr_stacks_left++)", "if (0)"),
    ("frames-in-a-circle", "a frame pointer may lead to a frame below its callee's",
     "bpf/native.h", "root lies",
     "if (fp < s->sp || fp & 7 ||", "if (fp & 7 ||"),
    ("frame-of-its-callee", "the unwind table may give a caller the CFA of its callee",
     "bpf/native.h", "root lies",
     "w->stack.sp + (w->stack.is_live ? LB_LEAF_MIN_BYTES : 8)", "w->stack.sp"),
    ("any-word-is-a-return-address", "a frame pointer may lead to a return address that is not in code",
     "bpf/native.h", "root lies",
     "if (!w->is_blind && !lb_search_segment(return_ip - 1)) {", "if (0) {"),
    ("function-is-a-return-address", "a pointer to a function counts as the begin of a coroutine's stack",
     "src/record/profile_builder.c", "root lies",
     "\t(*nr)--;\n\tmemmove(&ids[at],", "\treturn LB_STACK_COMPLETE;\n\tmemmove(&ids[at],"),
    ("python-circle-followed", "a list of Python frames that leads in a circle is followed to the limit",
     "bpf/interp.h", "root lies",
     "if (at == interp->followed || ", "if ("),
    ("python-of-another-stack", "Python frames of another thread's stack are callers of the outermost frame",
     "bpf/interp.h", "root lies",
     "if (w->is_at_begin && w->interp.anchor)", "if (0)"),
    ("python-missing-is-complete", "a stack is complete although some of its Python frames are missing",
     "bpf/sampler.bpf.c", "root lies",
     "if ((w->interp.is_cut && lb_is_whole(w->status)) ||", "if (0 && lb_is_whole(w->status) &&"),
    # ---- losses ----
    ("loss-not-told", "a loss counter of the unwinder is missing in the profile",
     "src/record/account.c", "replay recorder",
     "\t\t.unwind_segments_refused = unwind.nr_segments_refused,\n", ""),
    ("losses-told-again", "the losses of a window are counted again in the next",
     "src/record/account.c", "replay recorder",
     "\treturn now > told ? now - told : 0;\n", "\treturn now;\n"),
    ("names-lost-not-told", "names that did not fit are not counted as lost",
     "src/record/account.c", "replay recorder",
     "\t\t.names_dropped = n->names_dropped + strpool_nr_dropped(n->names) +\n"
     "\t\t\t\t strpool_nr_dropped(n->pool),\n", ""),
    ("files-lost-not-told", "files that were not opened are not counted as lost",
     "src/record/account.c", "replay recorder",
     "\t\t.files_dropped = processes.nr_files_dropped,\n", ""),
    ("estimate-below-zero", "the estimate of missed ticks wraps around below zero",
     "src/record/account.c", "unit record/account",
     "\treturn now > told ? now - told : 0;\n", "\treturn now - told;\n"),
    ("segments-refused-not-counted", "segments that the unwinder has no room for are not counted",
     "src/unwind/feeder.c", "root exact",
     "\t\tw->totals.nr_segments_refused++;\n", "\t\t;\n"),
    ("codes-lost-not-told", "code objects above the maximum are not counted as lost",
     "src/process/table.c", "replay recorder",
     "\t\tret->nr_interp_codes_lost += img->proc.interp_codes.nr_lost;\n", ""),
    # ---- python/lineburn ----
    ("recording-of-itself", "a recording that its target started samples itself",
     "src/process/table.c", "unit process/table",
     "\tproc_tree_detach(&tree, (uint32_t)getpid());\n", ""),
    ("ready-never-closed", "the descriptor of --ready-fd stays open",
     "src/record/recorder.c", "replay recorder",
     "descriptor %d: %m\", fd);\n\tclose(fd);\n", "descriptor %d: %m\", fd);\n"),
    ("cell-line-too-low", "lines of a %%lineburn cell count from below the magic",
     "python/lineburn/magic.py", "python package",
     "text = \"\\n\" + text", "text = text"),
    ("each-test-alone", "a session of many tests reports changes by chance",
     "python/lineburn/pytest_plugin.py", "python pytest",
     "_ALARMS / len(tests)", "_ALARMS"),
    ("marks-that-turn-text", "source text in a notebook may have marks that change its order",
     "python/lineburn/_listing.py", "python package",
     "text = _visible(text).expandtabs(4)", "text = text.expandtabs(4)"),
    ("rows-left-out-silently", "an answer for agents does not say that it lacks rows",
     "python/lineburn/mcp.py", "python mcp",
     "rows[:limit] + [\"\", \"LEFT OUT", "rows[:limit] + [\"\", \"AND SO ON"),
    # ---- the judge of tests/bench/truth.sh ----
    ("judge-accepts-any-bpf", "the judge takes a BPF program of another tracepoint for lineburn's",
     "tests/bench/truth.py", "tools truth",
     "r\"__traceiter_sched_process_\\1\\b\")", "r\"__traceiter_\")"),
    ("judge-accepts-comments", "the judge accepts a module's line that has no code",
     "tests/bench/truth_programs.py", "tools truth",
     "MODULE = r'^(# SPDX|", "MODULE = r'^(|# SPDX|"),
    ("judge-accepts-any-import", "the judge accepts C code of another module than the one that is imported",
     "tests/bench/truth.py", "tools truth",
     "_?{module[1].lstrip('_')}(module)?", "\\w+"),
]


def find(name):
    for mutant in MUTANTS:
        if mutant[0] == name:
            return mutant
    sys.exit("there is no mutant %s" % name)


def with_mistake(mutant):
    """The text of the file without and with the mistake."""
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
    """Restores the file with a new modification time, so that make rebuilds it."""
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
