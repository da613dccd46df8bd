/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the kernels this module builds on. Kbuild looks into the kernel's headers for what is
 * there, since distributions carry interfaces from one version to another.
 */
#ifndef TAILOR_CLOCK_COMPAT_H
#define TAILOR_CLOCK_COMPAT_H

#include <linux/ktime.h>
#include <linux/timekeeping.h>

/* One moment: the value of the clocksource's counter and the clocks derived from it. */
struct kernel_moment {
	u64 cycles;
	u64 real;
	u64 raw;
};

/* Interrupts off or on; not inside the timekeeper's write section. */
static inline void kernel_moment_read(struct kernel_moment *out)
{
	struct system_time_snapshot s;

#ifdef TAILOR_HAVE_SNAPSHOT_ID
	ktime_get_snapshot_id(CLOCK_REALTIME, &s);
	out->real = ktime_to_ns(s.systime);
	out->raw = ktime_to_ns(s.monoraw);
#else
	ktime_get_snapshot(&s);
	out->real = ktime_to_ns(s.real);
	out->raw = ktime_to_ns(s.raw);
#endif
	out->cycles = s.cycles;
}

#endif
