// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/reader.h"

#include <errno.h>
#include <limits.h>
#include <sys/uio.h>

#include "base/clock.h"

#define SMALLEST_PAGE 4096u
#define PIECE_BYTES   (256u << 10) /* one system call reads at most this much */

/*
 * Returns how much to read: up to the next multiple of @step, a power of two. So a page
 * is never split.
 */
static size_t piece_of(uint64_t addr, size_t left, size_t step)
{
	size_t piece = step - (size_t)(addr & (step - 1));

	return piece < left ? piece : left;
}

ssize_t reader_read(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	size_t done = 0, step = PIECE_BYTES;

	if (len > SSIZE_MAX || addr > UINT64_MAX - len)
		return -EFAULT;
	while (done < len) {
		size_t want = piece_of(addr + done, len - done, step);
		struct iovec local = {(uint8_t *)buf + done, want};
		struct iovec remote = {(void *)(uintptr_t)(addr + done), want};
		ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		/*
		 * A piece may be read whole or not at all, although current kernels
		 * return its first pages: retry page by page.
		 */
		if (n < 0 && errno == EFAULT && step > SMALLEST_PAGE) {
			step = SMALLEST_PAGE;
			continue;
		}
		if (n < 0 && !done)
			return -errno;
		break;
	}
	return (ssize_t)done;
}

ssize_t reader_read_until(const struct reader_target *target, uint64_t addr, void *buf,
			  size_t len)
{
	return clock_now_ns() < target->end_ns ? reader_read(target->pid, addr, buf, len)
					       : -ETIME;
}
