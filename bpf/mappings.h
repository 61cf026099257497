/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the mapping at an address in the kernel's own tree of mappings, and its unwind
 * tables by the file. User space describes a process some milliseconds after its exec,
 * and a new mapping as late; until then this search takes the place of segments. It finds
 * tables only if another process used the same file before; the vdso has some always.
 *
 * The tree may change meanwhile, and is read without its lock. So what was found is
 * checked: it must be an executable mapping of this process that contains the address.
 *
 * A maple tree (Linux 6.1, include/linux/maple_tree.h): bit 1 of the root marks a node.
 * The type is in bits 3 to 6 of a node's pointer, and says whether the slots are nodes or
 * mappings. Pivots are the last addresses of the slots, in ascending order, and 0 after
 * the last one. Before 6.1 a red-black tree of mappings.
 */
#ifndef LB_BPF_MAPPINGS_H
#define LB_BPF_MAPPINGS_H

#include "tables.h"

/* Set by sampler.c between open and load. */
const volatile __u32 page_shift = 12; /* of the unit of vm_pgoff */

#define MAPLE_ROOT        2
#define MAPLE_KIND(entry) ((entry) >> 3 & 15)
/* 0 and 1: leaves, whose slots are mappings; all but 3 are a maple_range_64. */
#define MAPLE_ARANGE_64      3
#define MAPLE_ADDRESS(entry) ((entry) & ~0xffULL)
#define MAPLE_MAX_PIVOTS     15
#define VM_EXEC              4 /* include/linux/mm.h */
#define FMODE_BACKING        (1u << 25) /* include/linux/fs.h: a file of overlayfs (6.5) */

/* CO-RE finds these by name (filter.h). Variants are of other versions of Linux. */
struct maple_tree___lb {
	void *ma_root;
} __attribute__((preserve_access_index));

struct maple_range_64___lb {
	__u64 pivot[15];
	void *slot[16];
} __attribute__((preserve_access_index));

struct maple_arange_64___lb {
	__u64 pivot[9];
	void *slot[10];
} __attribute__((preserve_access_index));

struct rb_node___lb {
	struct rb_node___lb *rb_right, *rb_left;
} __attribute__((preserve_access_index));

struct rb_root___lb {
	struct rb_node___lb *rb_node;
} __attribute__((preserve_access_index));

struct mm_context___lb {
	void *vdso;
} __attribute__((preserve_access_index));

struct mm_struct___lb {
	struct maple_tree___lb mm_mt; /* 6.1 */
	struct rb_root___lb mm_rb; /* before */
	__u64 start_code;
	struct mm_context___lb context;
} __attribute__((preserve_access_index));

struct super_block___lb {
	__u32 s_dev;
} __attribute__((preserve_access_index));

struct timespec64___lb {
	__s64 tv_sec;
	long tv_nsec;
} __attribute__((preserve_access_index));

struct inode___lb {
	struct super_block___lb *i_sb;
	__u64 i_ino;
	__u64 i_size;
	struct timespec64___lb i_mtime;
} __attribute__((preserve_access_index));

struct inode___lb_6_7 {
	struct timespec64___lb __i_mtime;
} __attribute__((preserve_access_index));

struct inode___lb_6_11 {
	__s64 i_mtime_sec;
	__u32 i_mtime_nsec;
} __attribute__((preserve_access_index));

struct dentry___lb {
	struct inode___lb *d_inode;
} __attribute__((preserve_access_index));

struct path___lb {
	struct dentry___lb *dentry;
} __attribute__((preserve_access_index));

struct file___lb {
	__u32 f_mode;
	struct inode___lb *f_inode;
	struct path___lb f_path;
} __attribute__((preserve_access_index));

struct backing_file___lb {
	struct path___lb user_path;
} __attribute__((preserve_access_index));

struct vm_area_struct___lb {
	__u64 vm_start, vm_end;
	struct mm_struct___lb *vm_mm;
	__u64 vm_flags, vm_pgoff;
	struct file___lb *vm_file;
	struct rb_node___lb vm_rb; /* before 6.1 */
} __attribute__((preserve_access_index));

struct task_struct___mappings {
	struct mm_struct___lb *mm;
} __attribute__((preserve_access_index));

#define LB_HAS(type, field) bpf_core_field_exists(struct type, field)
#define LB_HAS_MAPLE_TREE()                                                   \
	(LB_HAS(mm_struct___lb, mm_mt) && LB_HAS(maple_tree___lb, ma_root) && \
	 LB_HAS(maple_range_64___lb, slot) && LB_HAS(maple_arange_64___lb, slot))
#define LB_HAS_RB_TREE() \
	(LB_HAS(mm_struct___lb, mm_rb) && LB_HAS(vm_area_struct___lb, vm_rb))

/*
 * Are the kernel's types as described here? A later kernel may have others; without this
 * question it would refuse the program.
 */
static __always_inline bool lb_can_search(void)
{
	return (LB_HAS_MAPLE_TREE() || LB_HAS_RB_TREE()) &&
	       LB_HAS(vm_area_struct___lb, vm_start) &&
	       LB_HAS(vm_area_struct___lb, vm_end) &&
	       LB_HAS(vm_area_struct___lb, vm_mm) &&
	       LB_HAS(vm_area_struct___lb, vm_flags) &&
	       LB_HAS(vm_area_struct___lb, vm_pgoff) &&
	       LB_HAS(vm_area_struct___lb, vm_file) && LB_HAS(file___lb, f_inode) &&
	       LB_HAS(file___lb, f_mode) && LB_HAS(file___lb, f_path) &&
	       LB_HAS(path___lb, dentry) && LB_HAS(dentry___lb, d_inode) &&
	       LB_HAS(inode___lb, i_ino) && LB_HAS(inode___lb, i_sb) &&
	       LB_HAS(inode___lb, i_size) && LB_HAS(super_block___lb, s_dev);
}

static __always_inline struct mm_struct___lb *lb_mm(void)
{
	struct task_struct___mappings *task =
		(struct task_struct___mappings *)lb_current_task();

	return LB_TASK(task, mm);
}

/*
 * Begins the search for the mapping at the address that was missed. Return: false: it was
 * searched for before, or the kernel's tree is not known.
 */
static __always_inline bool lb_search_begin(struct lb_walk *w)
{
	struct lb_mapping_search *s = &w->search;
	struct mm_struct___lb *mm;

	if (!lb_can_search() || w->missed == w->searched)
		return false;
	mm = lb_mm();
	if (!mm)
		return false;
	s->ip = w->searched = w->missed;
	if (LB_HAS_MAPLE_TREE()) {
		s->at = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);
		s->is_node = s->at & MAPLE_ROOT;
	} else {
		s->at = (__u64)BPF_CORE_READ(mm, mm_rb.rb_node);
	}
	w->mode = LB_WALK_SEARCH;
	return true;
}

/* Steps to the slot of a maple tree's node that has the address. */
static __always_inline void lb_maple_down(struct lb_mapping_search *s)
{
	__u64 first = bpf_core_field_offset(struct maple_range_64___lb, pivot) / 8;
	__u64 entry = s->at, below;

	s->at = 0;
	s->is_node = MAPLE_KIND(entry) >> 1; /* not a leaf */
	if (bpf_probe_read_kernel(s->node, sizeof(s->node), (void *)MAPLE_ADDRESS(entry)))
		return;
	s->slot = bpf_core_field_offset(struct maple_range_64___lb, slot) / 8;
	if (MAPLE_KIND(entry) == MAPLE_ARANGE_64)
		s->slot = bpf_core_field_offset(struct maple_arange_64___lb, slot) / 8;
	/*
	 * Skips the slots below the address; compares pages, in one path (tables.h). 0 - 1
	 * is above all, and so are addresses of nodes, which follow fewer pivots. The
	 * position is in memory, because the verifier would follow all its values.
	 */
	for (__u64 i = 0; i < MAPLE_MAX_PIVOTS; i++) {
		below = ((s->node[(first + i) % LB_TREE_NODE_WORDS] - 1) >> 12) -
			(s->ip >> 12);
		barrier_var(below); /* clang would make branches of it */
		s->slot += below >> 63;
	}
	s->at = s->node[s->slot % LB_TREE_NODE_WORDS];
}

/* Steps in the red-black tree. Return: the mapping at the address; NULL: go on. */
static __always_inline struct vm_area_struct___lb *lb_rb_down(struct lb_mapping_search *s)
{
	struct rb_node___lb *node = (void *)s->at;
	struct vm_area_struct___lb *vma =
		(void *)node - bpf_core_field_offset(struct vm_area_struct___lb, vm_rb);

	if (s->ip < BPF_CORE_READ(vma, vm_start))
		s->at = (__u64)BPF_CORE_READ(node, rb_left);
	else if (s->ip >= BPF_CORE_READ(vma, vm_end))
		s->at = (__u64)BPF_CORE_READ(node, rb_right);
	else
		return vma;
	return NULL;
}

static __always_inline __s64 lb_mtime_ns(struct inode___lb *inode)
{
	struct inode___lb_6_11 *newest = (void *)inode;
	struct inode___lb_6_7 *newer = (void *)inode;

	if (bpf_core_field_exists(newest->i_mtime_sec))
		return BPF_CORE_READ(newest, i_mtime_sec) * 1000000000 +
		       BPF_CORE_READ(newest, i_mtime_nsec);
	if (bpf_core_field_exists(newer->__i_mtime))
		return BPF_CORE_READ(newer, __i_mtime.tv_sec) * 1000000000 +
		       BPF_CORE_READ(newer, __i_mtime.tv_nsec);
	if (!bpf_core_field_exists(inode->i_mtime))
		return -1;
	return BPF_CORE_READ(inode, i_mtime.tv_sec) * 1000000000 +
	       BPF_CORE_READ(inode, i_mtime.tv_nsec);
}

/*
 * Finds the tables of a file, if it is still as it was when they were made. A separate
 * function, so that the verifier checks it once. Return: nonzero with search.tables set.
 */
__noinline int lb_find_tables(__u64 address)
{
	struct inode___lb *inode = (void *)address;
	struct lb_walk *w = lb_walk_here();
	struct lb_unwind_file *tables;

	if (!w || !lb_can_search())
		return 0;
	w->search.file.inode = BPF_CORE_READ(inode, i_ino);
	w->search.file.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	tables = bpf_map_lookup_elem(&unwind_files, &w->search.file);
	if (!tables || tables->size_bytes != BPF_CORE_READ(inode, i_size) ||
	    tables->mtime_ns != lb_mtime_ns(inode))
		return 0;
	w->search.tables = *tables;
	return 1;
}

/*
 * Same, for a mapped file. What is mapped of overlayfs is the file below it; user space
 * knows either, which depends on the version. The kernel keeps overlayfs' own path beside
 * the file since 6.5, and as the file's path before.
 */
static __always_inline bool lb_find_file(struct file___lb *file)
{
	struct backing_file___lb *backing = (void *)file;

	if (lb_find_tables((__u64)BPF_CORE_READ(file, f_inode)))
		return true;
	if (!bpf_core_field_exists(backing->user_path))
		return lb_find_tables((__u64)BPF_CORE_READ(file, f_path.dentry, d_inode));
	return BPF_CORE_READ(file, f_mode) & FMODE_BACKING &&
	       lb_find_tables((__u64)BPF_CORE_READ(backing, user_path.dentry, d_inode));
}

/* Same, for the vdso, which has no file. */
static __always_inline bool lb_find_vdso(struct lb_mapping_search *s, __u64 start,
					 __u64 end)
{
	struct mm_struct___lb *mm = lb_mm();
	struct lb_unwind_file *tables;

	if (!bpf_core_field_exists(mm->context.vdso) ||
	    start != (__u64)BPF_CORE_READ(mm, context.vdso))
		return false;
	s->file = (struct lb_unwind_file_key){0};
	tables = bpf_map_lookup_elem(&unwind_files, &s->file);
	if (!tables || tables->size_bytes != end - start)
		return false;
	s->tables = *tables;
	return true;
}

/* Sets the segment found, if @vma has tables. */
static __always_inline void lb_take_mapping(struct lb_walk *w,
					    struct vm_area_struct___lb *vma)
{
	struct lb_mapping_search *s = &w->search;
	__u64 start = BPF_CORE_READ(vma, vm_start), end = BPF_CORE_READ(vma, vm_end);
	__u64 off = BPF_CORE_READ(vma, vm_pgoff) << page_shift;
	struct file___lb *file = BPF_CORE_READ(vma, vm_file);

	if (s->ip < start || s->ip >= end ||
	    (__u64)BPF_CORE_READ(vma, vm_mm) != (__u64)lb_mm() ||
	    !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC) ||
	    !(file ? lb_find_file(file) : lb_find_vdso(s, start, end)))
		return;
	if (off >> 16 < s->tables.page ||
	    (off + (end - start) - 1) >> 16 >= (__u64)s->tables.page + s->tables.nr_pages)
		return;
	w->found.bias = start - off + ((__u64)s->tables.page << 16);
	w->found.first_page = s->tables.first_page;
	w->found.start = start;
	w->found.end = end;
}

/*
 * Does one step of the search; then the walk goes on at its frame. A separate function,
 * so that the verifier checks it once.
 */
__noinline int lb_search_step(void)
{
	struct lb_walk *w = lb_walk_here();
	struct vm_area_struct___lb *vma = NULL;
	struct lb_mapping_search *s;

	if (!w || !lb_can_search())
		return 1;
	s = &w->search;
	if (LB_HAS_MAPLE_TREE()) {
		if (s->is_node) {
			lb_maple_down(s);
			return 0;
		}
		vma = (void *)s->at;
	} else if (s->at) {
		vma = lb_rb_down(s);
		if (!vma)
			return 0;
	}
	if (vma)
		lb_take_mapping(w, vma);
	/* As in lb_walk_begin(), after the tables were chosen. */
	w->pages_generation = pages_generation;
	w->mode = LB_WALK_NATIVE;
	return 0;
}

#endif
