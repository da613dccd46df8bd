// SPDX-License-Identifier: GPL-2.0
/*
 * The page: written in the timekeeper's notifier, checked against the kernel's clock by a work item.
 */
#include <linux/clocksource.h>
#include <linux/mm.h>
#include <linux/notifier.h>
#include <linux/pvclock_gtod.h>
#include <linux/sched/clock.h>
#include <linux/spinlock.h>
#include <linux/timekeeper_internal.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include <asm/cpufeature.h>
#include <asm/msr.h>
#include <asm/tsc.h>

#include "tailor_clock.h"

static struct tailor_clock_page *page;
static DEFINE_RAW_SPINLOCK(page_lock);
static unsigned int check_interval_ms;
static bool refuted; /* the self-check found the lines wrong; cleared when it finds them right again */

static void check_now(struct work_struct *work);
static DECLARE_DELAYED_WORK(check_work, check_now);

static void write_begin(void)
{
	WRITE_ONCE(page->seq, page->seq + 1);
	smp_wmb();
}

static void write_end(void)
{
	smp_wmb();
	WRITE_ONCE(page->seq, page->seq + 1);
}

static void copy_line(struct tailor_clock_line *line, const struct tk_read_base *tkr)
{
	WRITE_ONCE(line->cycle_last, tkr->cycle_last);
	WRITE_ONCE(line->base_ns, ktime_to_ns(tkr->base));
	WRITE_ONCE(line->remainder, tkr->xtime_nsec);
	WRITE_ONCE(line->mult, tkr->mult);
	WRITE_ONCE(line->shift, tkr->shift);
}

static u32 flags_of(const struct timekeeper *tk)
{
	u32 flags = 0;

	if (tk->tkr_mono.clock->vdso_clock_mode == VDSO_CLOCKMODE_TSC && !refuted)
		flags |= TAILOR_CLOCK_VALID | TAILOR_CLOCK_PERF;
	if (check_tsc_unstable())
		flags |= TAILOR_CLOCK_TSC_UNSTABLE;
	if (boot_cpu_has(X86_FEATURE_CONSTANT_TSC) && boot_cpu_has(X86_FEATURE_NONSTOP_TSC))
		flags |= TAILOR_CLOCK_INVARIANT;
	return flags;
}

static void pair_with_perf(void)
{
	u64 before = rdtsc_ordered();
	u64 perf = local_clock();
	u64 after = rdtsc_ordered();

	WRITE_ONCE(page->perf_tsc, before);
	WRITE_ONCE(page->perf_ns, perf);
	WRITE_ONCE(page->perf_ticks, after - before);
}

static bool line_changed(const struct timekeeper *tk, u32 flags)
{
	return ((page->flags ^ flags) & TAILOR_CLOCK_VALID) || page->raw.mult != tk->tkr_raw.mult ||
	       page->raw.shift != tk->tkr_raw.shift;
}

/* Called by the timekeeper with interrupts off, inside its write section: at each tick and at each change. */
static int timekeeper_updated(struct notifier_block *nb, unsigned long was_set, void *priv)
{
	const struct timekeeper *tk = priv;
	unsigned long irq;
	u32 flags;

	raw_spin_lock_irqsave(&page_lock, irq);
	flags = flags_of(tk);
	write_begin();
	if (line_changed(tk, flags))
		page->changes++;
	WRITE_ONCE(page->flags, flags);
	copy_line(&page->raw, &tk->tkr_raw);
	copy_line(&page->mono, &tk->tkr_mono);
	pair_with_perf();
	page->tsc_khz = tsc_khz;
	page->updates++;
	strscpy(page->clocksource, tk->tkr_mono.clock->name, sizeof(page->clocksource));
	write_end();
	raw_spin_unlock_irqrestore(&page_lock, irq);
	return NOTIFY_OK;
}

static struct notifier_block timekeeper_block = { .notifier_call = timekeeper_updated };

void page_copy(struct tailor_clock_page *out)
{
	unsigned long irq;

	raw_spin_lock_irqsave(&page_lock, irq);
	*out = *page;
	raw_spin_unlock_irqrestore(&page_lock, irq);
}

void *page_memory(void)
{
	return page;
}

/*
 * Compares the page with one snapshot of the kernel's clock. The page may be updated in between; both then lie
 * on the same line of MONOTONIC_RAW unless the clocksource changed, and that check is left to the next round.
 */
static bool check_once(u64 *off)
{
	struct tailor_clock_page before, after;
	struct tailor_clock_snapshot snapshot;
	u64 ns;

	page_copy(&before);
	snapshot_take(&snapshot);
	page_copy(&after);
	if (before.changes != after.changes || !snapshot.tsc)
		return false;
	ns = line_ns(&after.raw, snapshot.tsc);
	*off = ns > snapshot.raw ? ns - snapshot.raw : snapshot.raw - ns;
	return true;
}

static void check_now(struct work_struct *work)
{
	unsigned long irq;
	u64 off;

	if (check_once(&off)) {
		raw_spin_lock_irqsave(&page_lock, irq);
		refuted = off > TAILOR_CLOCK_TOLERANCE_NS;
		write_begin();
		WRITE_ONCE(page->uncertainty_ns, off + 1);
		if (refuted) {
			page->failures++;
			WRITE_ONCE(page->flags, page->flags & ~(TAILOR_CLOCK_VALID | TAILOR_CLOCK_PERF));
		}
		write_end();
		raw_spin_unlock_irqrestore(&page_lock, irq);
	}
	if (check_interval_ms)
		schedule_delayed_work(&check_work, msecs_to_jiffies(check_interval_ms));
}

int page_start(unsigned int check_ms)
{
	int error;

	BUILD_BUG_ON(sizeof(struct tailor_clock_page) > TAILOR_CLOCK_PAGE_BYTES);
	BUILD_BUG_ON(TAILOR_CLOCK_PAGE_BYTES != PAGE_SIZE);
	page = vmalloc_user(PAGE_SIZE);
	if (!page)
		return -ENOMEM;
	page->magic = TAILOR_CLOCK_MAGIC;
	page->version = TAILOR_CLOCK_VERSION;
	page->size = sizeof(*page);
	page->uncertainty_ns = TAILOR_CLOCK_TOLERANCE_NS; /* until the first check */
	error = pvclock_gtod_register_notifier(&timekeeper_block);
	if (error) {
		vfree(page);
		return error;
	}
	check_interval_ms = check_ms;
	if (check_interval_ms)
		schedule_delayed_work(&check_work, 0);
	return 0;
}

void page_stop(void)
{
	pvclock_gtod_unregister_notifier(&timekeeper_block);
	check_interval_ms = 0;
	cancel_delayed_work_sync(&check_work);
	vfree(page);
}
