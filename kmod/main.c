// SPDX-License-Identifier: GPL-2.0
/*
 * tailor_clock: the kernel's own conversion from the TSC to its clocks, for user space, in one mapped page.
 */
#include <linux/module.h>

#include "tailor_clock.h"

static bool tsc_freq_khz;
module_param(tsc_freq_khz, bool, 0444);
MODULE_PARM_DESC(tsc_freq_khz,
		 "Also offer /sys/devices/system/cpu/cpu0/tsc_freq_khz, which abseil and XRay read (default: N)");

static unsigned int check_ms = 1000;
module_param(check_ms, uint, 0444);
MODULE_PARM_DESC(check_ms, "Milliseconds between two comparisons of the page with the kernel's clock; 0: never (default: 1000)");

static int __init tailor_clock_init(void)
{
	int error = page_start(check_ms);

	if (error)
		return error;
	error = device_start();
	if (error)
		goto stop_page;
	if (tsc_freq_khz) {
		error = tsc_freq_khz_start();
		if (error)
			goto stop_device;
	}
	return 0;

stop_device:
	device_stop();
stop_page:
	page_stop();
	return error;
}

static void __exit tailor_clock_exit(void)
{
	tsc_freq_khz_stop();
	device_stop();
	page_stop();
}

module_init(tailor_clock_init);
module_exit(tailor_clock_exit);

MODULE_DESCRIPTION("TSC to kernel time for user space: the clock page of the Tailor profiler");
MODULE_AUTHOR("The Tailor authors");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("GPL");
