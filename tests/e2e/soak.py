"""Engines, agents and readers come and go for a while: what tailord keeps of memory, threads and descriptors does not grow."""
import sys

from soak_churn import ALLOWED, growth, is_flat, soak
from tailor_env import check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
looks, after, done, failed, cpu = soak(SECONDS, SECONDS / 60)
check(not failed, f"nothing failed ({'; '.join(failed) or done})")
for number, (what, unit) in enumerate((("memory", " MB"), ("threads", ""), ("descriptors", ""))):
    column = [look[number] for look in looks]
    print(f"{what}: {min(column):.0f} to {max(column):.0f}{unit}, {growth(column):+.1f} in the last third, {after[number]:.0f} afterwards")
check(is_flat(looks), f"they are flat, within {ALLOWED}")
# The twins: two of them leaked with every look.
for number in range(3):
    leaking = [tuple(value + (2 * at if i == number else 0) for i, value in enumerate(look)) for at, look in enumerate(looks)]
    check(not is_flat(leaking), f"a leak of two {('megabytes', 'threads', 'descriptors')[number]} with every look is noticed")
