// SPDX-License-Identifier: GPL-2.0
/*
 * One moment on every clock: what TAILOR_CLOCK_SNAPSHOT returns and what the page is checked against.
 */
#include <linux/irqflags.h>
#include <linux/sched/clock.h>
#include <linux/string.h>

#include <asm/msr.h>
#include <asm/tsc.h>

#include "compat.h"
#include "tailor_clock.h"

#define TRIES 8

struct bracket {
	struct kernel_moment kernel;
	u64 before, after, perf, end;
};

static void read_bracket(struct bracket *b)
{
	unsigned long irq;

	local_irq_save(irq);
	b->before = rdtsc_ordered();
	kernel_moment_read(&b->kernel);
	b->after = rdtsc_ordered();
	b->perf = local_clock();
	b->end = rdtsc_ordered();
	local_irq_restore(irq);
}

/* 300 s around cycle_last fit into 63 bits, as the timekeeper itself demands of mult and shift. */
u64 line_ns(const struct tailor_clock_line *line, u64 tsc)
{
	s64 scaled = (s64)((tsc - line->cycle_last) * line->mult + line->remainder);

	return line->base_ns + (scaled >> line->shift);
}

void snapshot_take(struct tailor_clock_snapshot *out)
{
	struct tailor_clock_page page;
	struct bracket best, b;
	bool is_tsc;
	int i;

	read_bracket(&best);
	for (i = 1; i < TRIES; i++) {
		read_bracket(&b);
		if (b.end - b.before < best.end - best.before)
			best = b;
	}
	page_copy(&page);
	is_tsc = best.before <= best.kernel.cycles && best.kernel.cycles <= best.after;

	memset(out, 0, sizeof(*out));
	out->size = sizeof(*out);
	out->flags = page.flags;
	if (!is_tsc)
		out->flags &= ~(TAILOR_CLOCK_VALID | TAILOR_CLOCK_PERF);
	out->tsc_before = best.before;
	out->tsc = is_tsc ? best.kernel.cycles : 0;
	out->tsc_after = best.after;
	out->real = best.kernel.real;
	out->raw = best.kernel.raw;
	if (out->flags & TAILOR_CLOCK_VALID)
		out->mono = line_ns(&page.mono, out->tsc);
	out->perf = best.perf;
	out->tsc_perf = best.end;
}
