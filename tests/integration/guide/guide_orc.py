"""The guide's engine with its own LLVM pipeline: built from the page's own text on an installation, run and profiled."""
from engines import NAMES, built, computes, hashed, recorded, report_of, samples_of, shows_the_plan, with_tags
from tailor_env import check, sampling_denied, skip

# Formulas of the condition and of what is added up. The dear one moves from one operator to the other.
DEAR_FILTER = ("hash(hash(hash(n))) % 1000", "n")
DEAR_SUM = ("n % 1000", "hash(hash(hash(n)))")

build, loader = built("orc", ["orc_engine.cc"])
engine = build / "orc_engine"
computes(engine, ["n % 1000", "hash(n)"], sum(hashed(n) for n in range(1 << 20) if n % 1000) % 2**64, loader)
if reason := sampling_denied():
    skip(reason)


def is_dearest(report, name):
    of = samples_of(report)
    return of[name] > 0.6 * sum(of.values())


for formulas, dear in ((DEAR_FILTER, "Filter"), (DEAR_SUM, "Sum")):
    report = report_of(engine, formulas, loader)
    check(shows_the_plan(report, NAMES), "the report has the operators of the plan, and they have the samples")
    check(is_dearest(report, dear), f"{dear} calls the shared function, and most of the time is its")
    check(with_tags(report) == {dear}, f"the tag says for whom the shared function works: {with_tags(report)}")
    other = "Sum" if dear == "Filter" else "Filter"
    check(not is_dearest(report, other), f"the broken twin: {other} is not the dearest here")
off = recorded(engine, DEAR_SUM, {**loader, "TAILOR_DISABLE": "1"})(1)
check(not shows_the_plan(off, NAMES), "the broken twin: with the agent off there is no such plan")
