/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of tailor_clock.ko share.
 *
 * Life: page_start() publishes the page and hooks it to the timekeeper; the device and the attributes then
 * show it; page_stop() unhooks it after the device is gone. The page has one writer at a time: the
 * timekeeper's notifier and the self-check take `page_lock`, and nothing reads a clock under it (the notifier
 * runs inside the timekeeper's write section, so a clock read there would wait for itself).
 */
#ifndef TAILOR_CLOCK_INTERNAL_H
#define TAILOR_CLOCK_INTERNAL_H

#include <linux/types.h>
#include <linux/sysfs.h>

#include <tailor/clock_page.h>

/* page.c */
int page_start(unsigned int check_ms);
void page_stop(void);
void *page_memory(void);
/* A whole copy of the page; fails only if the page is torn for a second, which is a bug. */
void page_copy(struct tailor_clock_page *out);

/* snapshot.c */
void snapshot_take(struct tailor_clock_snapshot *out);
/* The time of `tsc` on `line`. */
u64 line_ns(const struct tailor_clock_line *line, u64 tsc);

/* device.c */
int device_start(void);
void device_stop(void);

/* attributes.c */
extern const struct attribute_group *tailor_clock_groups[];
int tsc_freq_khz_start(void);
void tsc_freq_khz_stop(void);

#endif
