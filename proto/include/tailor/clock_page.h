/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * /dev/tailor_clock: the page of the tailor_clock kernel module, through which user space turns raw TSC values
 * into the kernel's own time without a system call.
 *
 * The module copies the timekeeper's parameters into one page on every update of the timekeeper (each tick, and
 * each step or change of rate), guarded by a sequence count. While TAILOR_CLOCK_VALID is set, the conversion is
 * the one that clock_gettime itself does: exact to `uncertainty_ns`, also for clocks whose rate NTP steers.
 *
 *   struct tailor_clock_page* page = tailor_clock_map(TAILOR_CLOCK_DEVICE, &error);
 *   if (page && tailor_clock_tsc_to_ns(page, TAILOR_CLOCK_RAW, tsc, &ns)) ...
 *
 * A TSC value from before the last update lies on the line of now: exact for MONOTONIC_RAW as long as the
 * clocksource has not changed, off by what NTP did since for MONOTONIC.
 *
 * The device is mapped read-only and shared, one page, offset 0; everything else is EINVAL or EPERM. Its
 * ioctls: TAILOR_CLOCK_SNAPSHOT.
 *
 * Sequence count as in Linux, Documentation/locking/seqlock.rst; parameters as in
 * include/linux/timekeeper_internal.h, struct tk_read_base.
 */
#ifndef TAILOR_CLOCK_PAGE_H
#define TAILOR_CLOCK_PAGE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define TAILOR_CLOCK_DEVICE "/dev/tailor_clock"
#define TAILOR_CLOCK_MAGIC 0x4B434F4C434C4154ULL /* "TALCLOCK" */
#define TAILOR_CLOCK_VERSION 1u
#define TAILOR_CLOCK_PAGE_BYTES 4096

/* Flags of the page. */
#define TAILOR_CLOCK_VALID 1u        /* the clocksource is the TSC: conversions hold */
#define TAILOR_CLOCK_PERF 2u         /* the perf pairing holds */
#define TAILOR_CLOCK_TSC_UNSTABLE 4u /* the kernel has given up on the TSC: CPUs may disagree about it */
#define TAILOR_CLOCK_INVARIANT 8u    /* the CPU says that its TSC has a constant rate and never stops */

/* time = base_ns + (((tsc - cycle_last) * mult + remainder) >> shift) */
struct tailor_clock_line {
	__u64 cycle_last;
	__u64 base_ns;
	__u64 remainder;
	__u32 mult;
	__u32 shift;
};

/* The first four members never change; the others are to be read as tailor_clock_read does. */
struct tailor_clock_page {
	__u64 magic;
	__u32 version; /* of this layout; a reader refuses one it does not know */
	__u32 size;    /* sizeof(struct tailor_clock_page) */
	__u8 reserved0[48];

	__u32 seq; /* odd while the module writes */
	__u32 flags;
	struct tailor_clock_line raw;  /* CLOCK_MONOTONIC_RAW */
	__u64 uncertainty_ns;          /* of both lines, from the module's comparisons with the kernel's clock */
	__u8 reserved1[16];
	struct tailor_clock_line mono; /* CLOCK_MONOTONIC */

	/* The perf clock (local_clock(), what perf events without use_clockid carry) was perf_ns at some TSC value
	 * in [perf_tsc, perf_tsc + perf_ticks], at the last update. */
	__u64 perf_tsc;
	__u64 perf_ns;
	__u64 perf_ticks;

	__u64 tsc_khz;  /* the kernel's present idea of the TSC's frequency */
	__u64 updates;  /* writes of the page */
	__u64 changes;  /* how often VALID was set or cleared, or a rate of MONOTONIC_RAW changed */
	__u64 failures; /* self-checks that found a line off by more than TAILOR_CLOCK_TOLERANCE_NS */
	char clocksource[32];
};

/* Beyond this a line is not published as valid. */
#define TAILOR_CLOCK_TOLERANCE_NS 100

/* One moment on every clock. All times in ns. */
struct tailor_clock_snapshot {
	__u32 size;  /* in: sizeof(struct tailor_clock_snapshot) */
	__u32 flags; /* in: 0; out: the page's flags, VALID only if `tsc` was read together with real and raw */
	__u64 tsc_before;
	__u64 tsc; /* what the kernel's clock read: 0 if its clocksource is not the TSC */
	__u64 tsc_after;
	__u64 real;
	__u64 raw;
	__u64 mono; /* on the page's line at `tsc`; 0 unless VALID */
	__u64 perf; /* between tsc_after and tsc_perf */
	__u64 tsc_perf;
};

/*
 * Fills the snapshot. EINVAL: size or flags are not what this module knows; EFAULT: bad pointer; any other
 * request is ENOTTY.
 */
#define TAILOR_CLOCK_SNAPSHOT _IOWR('T', 0xC1, struct tailor_clock_snapshot)

#ifndef __KERNEL__

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__cplusplus)
#define TAILOR_CLOCK_ASSERT(e) static_assert(e, #e)
#else
#define TAILOR_CLOCK_ASSERT(e) _Static_assert(e, #e)
#endif
TAILOR_CLOCK_ASSERT(sizeof(struct tailor_clock_line) == 32);
TAILOR_CLOCK_ASSERT(offsetof(struct tailor_clock_page, seq) == 64);
TAILOR_CLOCK_ASSERT(offsetof(struct tailor_clock_page, mono) == 128);
TAILOR_CLOCK_ASSERT(sizeof(struct tailor_clock_page) == 248);

enum tailor_clock_id { TAILOR_CLOCK_RAW = 0, TAILOR_CLOCK_MONO = 1 };

/* A writer is done within a microsecond unless its CPU was taken away; a reader gives up after this many tries
 * (some milliseconds) rather than hang. */
#define TAILOR_CLOCK_TRIES 100000

/*
 * Maps the page. NULL on failure, with a positive errno in *error: that of open or mmap (ENOENT: the module is
 * not loaded; EACCES: not in the group `tailor`), EPROTO if what was mapped is not a page of this version.
 * The mapping stays until munmap(page, TAILOR_CLOCK_PAGE_BYTES) and keeps the module loaded. Any thread.
 */
static inline const struct tailor_clock_page *tailor_clock_map(const char *path, int *error)
{
#ifdef O_CLOEXEC
	int fd = open(path, O_RDONLY | O_CLOEXEC);
#else /* strict C11: no child can keep it for longer than this function takes */
	int fd = open(path, O_RDONLY);
#endif
	void *at;
	const struct tailor_clock_page *page;

	if (fd < 0) {
		*error = errno;
		return NULL;
	}
	at = mmap(NULL, TAILOR_CLOCK_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	*error = errno;
	close(fd);
	if (at == MAP_FAILED)
		return NULL;
	page = (const struct tailor_clock_page *)at;
	if (page->magic != TAILOR_CLOCK_MAGIC || page->version != TAILOR_CLOCK_VERSION ||
	    page->size < sizeof(*page)) {
		munmap(at, TAILOR_CLOCK_PAGE_BYTES);
		*error = EPROTO;
		return NULL;
	}
	*error = 0;
	return page;
}

/*
 * The count to hand to tailor_clock_read_retry, after what was read in between. Odd: given up. Any thread.
 */
static inline __u32 tailor_clock_read_begin(const struct tailor_clock_page *page)
{
	__u32 seq;
	int tries = TAILOR_CLOCK_TRIES;

	while (((seq = __atomic_load_n(&page->seq, __ATOMIC_ACQUIRE)) & 1) && --tries)
		__builtin_ia32_pause();
	return seq;
}

/* 1 if the page was written since `seq` was taken: the values that were read may be torn. Any thread. */
static inline int tailor_clock_read_retry(const struct tailor_clock_page *page, __u32 seq)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&page->seq, __ATOMIC_RELAXED) != seq;
}

/* A volatile read: the compiler may neither repeat nor split it. */
#define TAILOR_CLOCK_LOAD(x) (*(const volatile __typeof__(x) *)&(x))

__extension__ typedef __int128 tailor_clock_wide;

/* The time of `tsc` on a line that was read whole. Pure. */
static inline __u64 tailor_clock_line_ns(const struct tailor_clock_line *line, __u64 tsc)
{
	tailor_clock_wide scaled = (tailor_clock_wide)(__s64)(tsc - line->cycle_last) * (__s64)line->mult;

	return line->base_ns + (__u64)((scaled + (tailor_clock_wide)line->remainder) >> (line->shift & 63));
}

/*
 * Copies the line of clock `id`. 1: the copy is whole and valid. 0: the page does not vouch for the TSC at
 * present, or no whole copy could be had; *line is then unspecified. Any thread; no system call.
 */
static inline int tailor_clock_read(const struct tailor_clock_page *page, enum tailor_clock_id id,
				    struct tailor_clock_line *line)
{
	const struct tailor_clock_line *from = id == TAILOR_CLOCK_RAW ? &page->raw : &page->mono;
	int tries = TAILOR_CLOCK_TRIES;
	__u32 seq, flags;

	do {
		seq = tailor_clock_read_begin(page);
		if ((seq & 1) || !tries--)
			return 0;
		flags = TAILOR_CLOCK_LOAD(page->flags);
		line->cycle_last = TAILOR_CLOCK_LOAD(from->cycle_last);
		line->base_ns = TAILOR_CLOCK_LOAD(from->base_ns);
		line->remainder = TAILOR_CLOCK_LOAD(from->remainder);
		line->mult = TAILOR_CLOCK_LOAD(from->mult);
		line->shift = TAILOR_CLOCK_LOAD(from->shift);
	} while (tailor_clock_read_retry(page, seq));
	return (flags & TAILOR_CLOCK_VALID) != 0;
}

/*
 * *ns = time of `tsc` on clock `id`, and 1; or 0 as tailor_clock_read, and *ns untouched. Under 5 ns. Any thread.
 */
static inline int tailor_clock_tsc_to_ns(const struct tailor_clock_page *page, enum tailor_clock_id id, __u64 tsc,
					 __u64 *ns)
{
	struct tailor_clock_line line;

	if (!tailor_clock_read(page, id, &line))
		return 0;
	*ns = tailor_clock_line_ns(&line, tsc);
	return 1;
}

#endif /* __KERNEL__ */
#endif
