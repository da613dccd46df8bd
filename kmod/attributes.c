// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/class/misc/tailor_clock/: the page's state as text, one value a file; and tsc_freq_khz.
 */
#include <linux/cpu.h>
#include <linux/device.h>

#include <asm/tsc.h>

#include "tailor_clock.h"

/* A file that shows one member of the page. */
#define PAGE_ATTRIBUTE(name, format, value)                                                             \
	static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf)        \
	{                                                                                               \
		struct tailor_clock_page page;                                                          \
                                                                                                        \
		page_copy(&page);                                                                       \
		return sysfs_emit(buf, format "\n", value);                                             \
	}                                                                                               \
	static DEVICE_ATTR_RO(name)

PAGE_ATTRIBUTE(valid, "%d", !!(page.flags & TAILOR_CLOCK_VALID));
PAGE_ATTRIBUTE(tsc_unstable, "%d", !!(page.flags & TAILOR_CLOCK_TSC_UNSTABLE));
PAGE_ATTRIBUTE(tsc_invariant, "%d", !!(page.flags & TAILOR_CLOCK_INVARIANT));
PAGE_ATTRIBUTE(layout_version, "%u", page.version);
PAGE_ATTRIBUTE(clocksource, "%s", page.clocksource);
PAGE_ATTRIBUTE(tsc_khz, "%llu", page.tsc_khz);
PAGE_ATTRIBUTE(uncertainty_ns, "%llu", page.uncertainty_ns);
PAGE_ATTRIBUTE(updates, "%llu", page.updates);
PAGE_ATTRIBUTE(changes, "%llu", page.changes);
PAGE_ATTRIBUTE(failures, "%llu", page.failures);

static struct attribute *tailor_clock_attrs[] = {
	&dev_attr_valid.attr,
	&dev_attr_tsc_unstable.attr,
	&dev_attr_tsc_invariant.attr,
	&dev_attr_layout_version.attr,
	&dev_attr_clocksource.attr,
	&dev_attr_tsc_khz.attr,
	&dev_attr_uncertainty_ns.attr,
	&dev_attr_updates.attr,
	&dev_attr_changes.attr,
	&dev_attr_failures.attr,
	NULL,
};
static const struct attribute_group tailor_clock_group = { .attrs = tailor_clock_attrs };
const struct attribute_group *tailor_clock_groups[] = { &tailor_clock_group, NULL };

/* What abseil's base/internal/sysinfo.cc and LLVM XRay read to learn the TSC's frequency. */
static ssize_t tsc_freq_khz_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", tsc_khz);
}
static DEVICE_ATTR_RO(tsc_freq_khz);

static bool tsc_freq_khz_ours;

int tsc_freq_khz_start(void)
{
	struct device *cpu0 = get_cpu_device(0);
	int error;

	if (!cpu0)
		return -ENODEV;
	error = device_create_file(cpu0, &dev_attr_tsc_freq_khz);
	if (error == -EEXIST) {
		pr_info("tsc_freq_khz exists already; left as it is\n");
		return 0;
	}
	tsc_freq_khz_ours = !error;
	return error;
}

void tsc_freq_khz_stop(void)
{
	if (tsc_freq_khz_ours)
		device_remove_file(get_cpu_device(0), &dev_attr_tsc_freq_khz);
	tsc_freq_khz_ours = false;
}
