"""Engines, agents and readers come and go for a while: what tailord keeps of memory, threads and descriptors does not grow."""
import sys

from soak_churn import growth, is_flat, soak
from tailor_env import check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
soaked = soak(SECONDS, SECONDS / 60)
check(not soaked.failed, f"nothing failed ({'; '.join(soaked.failed) or soaked.done})")
WHAT = (("memory", " MB"), ("threads", ""), ("descriptors", ""))
for (what, unit), before, after, column, more in zip(WHAT, soaked.before, soaked.after, zip(*soaked.looks), growth(soaked)):
    print(f"{what}: {before:.0f}{unit} at rest, {min(column):.0f} to {max(column):.0f} at work, {after:.0f} at rest again; {more:+.1f}")
check(is_flat(soaked), f"they are flat, within {soaked.allowed}")
# The twins. In the first one memory is again what it was a third of the time before, and before the work, and a leak comes to it: what
# the allocator gave back in this run cannot hide the leak. The others leaked two with every look.
third, last = len(soaked.looks) // 3, 2 * len(soaked.looks)
again = soaked.looks[:-third] + soaked.looks[-2 * third:-third]
step = 2 * soaked.allowed[0] / third
leaking = [soaked._replace(looks=[(look[0] + step * at, *look[1:]) for at, look in enumerate(again)],
                           after=(soaked.before[0] + step * len(again), *soaked.after[1:])),
           soaked._replace(after=(soaked.after[0], soaked.after[1] + last, soaked.after[2])),
           soaked._replace(after=(*soaked.after[:2], soaked.after[2] + last))]
for (what, _), each in zip(WHAT, leaking):
    check(not is_flat(each), f"a leak is noticed in {what}")
