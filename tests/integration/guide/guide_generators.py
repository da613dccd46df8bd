"""The guide's three code generators: built from the page's own text on an installation, run and profiled."""
from engines import GENERATORS, NAMES, built, computes, generators_sum, recorded, report_of, shows_the_plan, with_tags
from tailor_env import check, sampling_denied, skip

build, loader = built("generators", GENERATORS)
programs = [build / name.removesuffix(".cc") for name in GENERATORS if name.endswith("_engine.cc")]
expected = generators_sum()
for program in programs:
    computes(program, [], expected, loader)
if reason := sampling_denied():
    skip(reason)
for program in programs:
    report = report_of(program, [], loader)
    check(shows_the_plan(report, NAMES), f"{program.name}: the report has the operators of the plan, and they have the samples")
    check(with_tags(report) == {"Sum"}, f"{program.name}: the tag says that the shared function works for Sum: {with_tags(report)}")
    off = recorded(program, [], {**loader, "TAILOR_DISABLE": "1"})(1)
    check(not shows_the_plan(off, NAMES), f"the broken twin: with the agent off {program.name} has no such plan")
