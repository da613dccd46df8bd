// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/tailor_clock: maps the page read-only and answers TAILOR_CLOCK_SNAPSHOT.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "tailor_clock.h"

static int map_page(struct file *file, struct vm_area_struct *vma)
{
	if (vma->vm_pgoff != 0 || vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	/* Also what mprotect could make writable later: private mappings, descriptors opened for writing. */
	if (vma->vm_flags & (VM_WRITE | VM_MAYWRITE | VM_EXEC))
		return -EPERM;
	return remap_vmalloc_range(vma, page_memory(), 0);
}

static long answer_snapshot(struct tailor_clock_snapshot __user *user)
{
	struct tailor_clock_snapshot snapshot;

	if (copy_from_user(&snapshot, user, sizeof(snapshot.size) + sizeof(snapshot.flags)))
		return -EFAULT;
	if (snapshot.size != sizeof(snapshot) || snapshot.flags != 0)
		return -EINVAL;
	snapshot_take(&snapshot);
	return copy_to_user(user, &snapshot, sizeof(snapshot)) ? -EFAULT : 0;
}

static long control(struct file *file, unsigned int request, unsigned long argument)
{
	if (request != TAILOR_CLOCK_SNAPSHOT)
		return -ENOTTY;
	return answer_snapshot((struct tailor_clock_snapshot __user *)argument);
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.mmap = map_page,
	.unlocked_ioctl = control,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tailor_clock",
	.fops = &operations,
	.groups = tailor_clock_groups,
	.mode = 0440,
};

int device_start(void)
{
	return misc_register(&device);
}

void device_stop(void)
{
	misc_deregister(&device);
}
