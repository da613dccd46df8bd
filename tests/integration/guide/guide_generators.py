"""The guide's three code generators: built from the page's own text on an installation, run and profiled."""
from engines import built, computes, hashed, recorded, report_of, shows_the_plan, with_tags
from tailor_env import check, sampling_denied, skip

NAMES = ["Filter", "Scan numbers", "Sum"]
ENGINES = ["llvm_engine", "text_engine", "emitted_engine"]

build, loader = built("generators", ["engine.h", "main.cc", *(f"{name}.cc" for name in ENGINES)])
expected = sum(hashed(n) for n in range(1 << 20) if n % 3) % 2**64
for name in ENGINES:
    computes(build / name, [], expected, loader)
if reason := sampling_denied():
    skip(reason)
for name in ENGINES:
    report = report_of(build / name, [], loader)
    check(shows_the_plan(report, NAMES), f"{name}: the report has the operators of the plan, and they have the samples")
    check(with_tags(report) == {"Sum"}, f"{name}: the tag says that the shared function works for Sum: {with_tags(report)}")
    off = recorded(build / name, [], {**loader, "TAILOR_DISABLE": "1"})(1)
    check(not shows_the_plan(off, NAMES), f"the broken twin: with the agent off {name} has no such plan")
