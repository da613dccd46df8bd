"""Who gets the samples, over all queries that come with weft, at O2 and 1 kHz.

Of every on-CPU sample of every thread from registration to exit at least 99.5 % are in operators or in engine
components, which are declared intervals or ranges of code; operators have no samples outside of executions (1 % for
what a worker does before its first mark); the report adds up to all of the process; and, with --full,
every operator that used much CPU in an instrumented run (rdtsc around its sections) has samples. A pair of rdtsc costs more
than most sections, so the instrumented time of one that is entered often says little: 60 ms of the sampled run count.

With the options a user has who names none: samples without a tag bring a piece of stack. The broken twins: without tags
and stacks the first check fails, and the second one with an engine that works under tags outside of executions.

    all_samples.py            some seconds
    all_samples.py --full     every query for seconds
    all_samples.py --each     a recording per query, each from its exec to its exit, as a table
    all_samples.py --links    a recording per query and level of optimisation: what is known of the links of the
                              instructions that were hit, as a table; `./dev bench tests` keeps it in docs/benchmarks
    all_samples.py ... -- --stacks none    with other options of tailord and tailor record
"""
import json
import sys
import tempfile

from tailor_env import BIN, BUILD, Daemon, at_least, check, operators, run, sampling_denied, skip, until_enough

QUERIES = [f"tpch-{n}" for n in range(1, 23)] + ["figure-9", "figure-10a", "figure-10b", "sfja"]
OPTIONS = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
FULL = "--full" in sys.argv
SCALE, SAMPLED, INSTRUMENTED = ("0.1", 100, 10) if FULL else ("0.05", 15, 0)  # executions of each query
LEAST, MOST_STRAY = 0.995, 0.01
ENOUGH = 4000  # samples, so that chance leaves no room for a fault
if reason := sampling_denied():
    skip(reason)


def options(repeat, *more):
    return ["--sf", SCALE, "--threads", "2", "--quiet", "--repeat", repeat, *more,
            *(x for query in QUERIES for x in ("--query", query))]


def everything(daemon):
    """The report of all that the process of the last execution did."""
    pid = json.loads(daemon.tailor("list", "--limit", "1", "--json"))["executions"][0]["pid"]
    return daemon.report("--pid", pid)


def attributed(report):
    return (report["operators"]["weight"] + report["engine_components"]["weight"]) / report["weight"]


def stray(report):
    """The share of samples that operators have and no execution of their thread."""
    in_operators = sum(op["samples"] for op in operators(report))
    return (in_operators - report["windows"]["in_operators"]) / report["samples"]


def is_attributed(report):
    """Whether as much has an owner as shall have, beside chance."""
    return at_least(attributed(report) * report["samples"], report["samples"], LEAST)


def is_inside(report):
    """Whether as few samples are stray as may be, beside chance."""
    return at_least((1 - stray(report)) * report["samples"], report["samples"], 1 - MOST_STRAY)


def show(report):
    print(f"{report['samples']} samples: operators {report['operators']['share']:.2%}, engine components "
          f"{report['engine_components']['share']:.2%}, unattributed {report['unattributed']['share']:.2%}")
    for row in report["component_rows"]:
        print(f"  {row['share']:7.2%}  {row['name']}")
    for place in report["unattributed_places"][:12]:
        print(f"  {place['share']:7.2%}  {place['reason']} {'in the kernel, from ' if place['kernel'] else ''}{place['where']}")


def each_query():
    """A row per query, and the sum, whose share must hold."""
    sums = dict.fromkeys(("samples", "operators", "engine_components", "unattributed"), 0)
    left = {}
    print("| query | samples | operators | engine components | unattributed |\n| --- | --- | --- | --- | --- |")
    for query in QUERIES:
        with tempfile.NamedTemporaryFile(suffix=".tailor") as profile:
            run(BIN / "tailor", "record", "-F", 1000, *OPTIONS, "-o", profile.name, "--", BIN / "weft", "--sf",
                "0.1", "--threads", "2", "--quiet", "--repeat", EACH, "--query", query)
            report = json.loads(run(BIN / "tailor", "report", profile.name, "--json"))
        shares = [f"{report[part]['share']:.2%}" for part in ("operators", "engine_components", "unattributed")]
        print(f"| {query} | {report['samples']:.0f} | {' | '.join(shares)} |", flush=True)
        sums["samples"] += report["samples"]
        for part in list(sums)[1:]:
            sums[part] += report[part]["weight"]
        for place in report["unattributed_places"]:
            key = (place["reason"], place["kernel"], place["where"])
            left[key] = left.get(key, 0) + place["weight"]
    total = sums["operators"] + sums["engine_components"] + sums["unattributed"]
    shares = [f"{sums[part] / total:.2%}" for part in ("operators", "engine_components", "unattributed")]
    print(f"| all | {sums['samples']:.0f} | {' | '.join(shares)} |\n")
    for (reason, kernel, where), weight in sorted(left.items(), key=lambda item: -item[1])[:25]:
        print(f"  {weight / total:7.3%}  {reason} {'in the kernel, from ' if kernel else ''}{where}")
    check(sums["unattributed"] <= (1 - LEAST) * total, f"{1 - sums['unattributed'] / total:.2%} of the samples of all queries "
          "are in operators or engine components")


def links_of(query, level):
    """Samples of a query in generated code of one level, by what is known of their instructions' links."""
    with tempfile.NamedTemporaryFile(suffix=".tailor") as profile:
        run(BIN / "tailor", "record", "-F", 4000, "-o", profile.name, "--", BIN / "weft", "--sf", "0.1", "--threads", "2",
            "--quiet", "--opt", level, "--repeat", EACH, "--query", query)
        report = json.loads(run(BIN / "tailor", "report", profile.name, "--json"))
    by, links = report["by"], report["by_link"]
    check(sum(links.values()) == sum(by.get(rule, 0) for rule in ("code", "kernel_code", "callchain")),
          f"{query} at O{level}: the links are those of all {sum(links.values()):.0f} samples with an address in generated code")
    check(links["unmapped"] == 0, "none is without an owner or a word for set-up code")
    return links


def each_link():
    """A row per query with both levels."""
    def row(name, levels):
        cells = [str(round(sum(links.values()))) + "".join(f" | {100 * links[word] / max(sum(links.values()), 1):.1f}"
                                                          for word in LINKS) for links in levels]
        return f"| {name} | {' | '.join(cells)} |"

    rows, sums = [], [dict.fromkeys((*LINKS, "unmapped"), 0) for _ in LEVELS]
    for query in QUERIES:
        levels = [links_of(query, level) for level in LEVELS]
        rows.append(row(query, levels))
        for total, links in zip(sums, levels):
            for word in total:
                total[word] += links[word]
    print("\n".join([*rows, row("all", sums)]))


LEVELS, LINKS = (2, 3), ("exact", "inferred", "shared", "prologue")
EACH = 60  # executions of a query in its recording
if "--links" in sys.argv:
    each_link()
    sys.exit(0)
if "--each" in sys.argv:
    each_query()
    sys.exit(0)

# The data are made the first time that they are asked for, and that is no query's work.
run(BIN / "weft", "load-tpch", "--sf", SCALE)
with Daemon(frequency=1000, options=OPTIONS) as daemon:

    components = set()  # of all runs: some take a few samples of each, however much work it does

    def measured(work):
        daemon.weft(*options(work * SAMPLED))
        report = everything(daemon)
        components.update(row["name"] for row in report["component_rows"])
        return report

    report = until_enough(ENOUGH, lambda found: found["samples"], measured)
    show(report)
    parts = sum(report[part]["weight"] for part in ("operators", "engine_components", "unattributed"))
    check(abs(parts - report["weight"]) < 1e-6 * report["weight"], "the report adds up to all of the process")
    wanted = ("load", "parse", "optimise", "generate code", "compile", "schedule", "memory")
    for _ in range(4):
        if not components.issuperset(wanted):
            measured(1)
    for component in wanted:
        # Memory takes about two samples of the shorter run.
        check(component in components or (component == "memory" and not FULL), f"{component} is a component with samples")
    check(is_attributed(report), f"{attributed(report):.2%} of the samples are in operators or engine components")
    check(is_inside(report), f"{stray(report):.2%} of the samples are in operators but outside of executions")
    if FULL:
        sampled = {(plan["name"], op["id"]) for plan in report["plans"] for op in plan["operators"] if op["samples"] > 0}
        share = {plan["name"]: plan["weight"] for plan in report["plans"]}
        timed = json.loads(daemon.weft(*options(INSTRUMENTED, "--instrument", "--timing-json", "-")))
        total = {}
        for op in timed["operators"]:
            total[op["query"]] = total.get(op["query"], 0) + op["ns"]
        for op in timed["operators"]:
            # rdtsc itself makes the instrumented run many times slower: an operator's part of it, of the sampled time.
            ns = op["ns"] * share.get(op["query"], 0) / total[op["query"]]
            if ns >= 60e6:
                check((op["query"], op["id"]) in sampled, f"{op['query']}: operator {op['id']} ({op['name']}, {ns / 1e6:.0f} ms) has samples")
with Daemon(frequency=1000, options=["--stacks", "none"]) as daemon:
    daemon.weft(*options(2 * SAMPLED, "--tags", "none"))
    twin = everything(daemon)
    check(not is_attributed(twin), f"the broken twin: without tags and stacks it is {attributed(twin):.2%}")
with tempfile.NamedTemporaryFile(suffix=".tailor") as profile:
    run(BIN / "tailor", "record", "-o", profile.name, "--", BUILD / "targets/kernel_shares", 5, 50, "unmarked")
    twin = json.loads(run(BIN / "tailor", "report", profile.name, "--json"))
    check(not is_inside(twin), f"the broken twin: of an engine that marks no executions {stray(twin):.0%} are")
