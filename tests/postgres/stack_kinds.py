"""Nodes by call stacks, and their kinds by rules (deploy/rules/postgres.toml), beside the memory slot, on the same samples.

The extension keeps the slot, and every sample brings its stack and the addresses of the plan's nodes. The node whose function is
innermost on the stack must be the one that the slot names, and what the rules make of the stack must be its kind: at most 0.1 % may
differ. The twins must fail: one has the addresses of neighbours for nodes, one exchanges the names of two kinds. Without wrappers
stacks alone tell the nodes, and rules must find the same kinds.
"""
import contextlib
import json
import os
import pathlib
import re
import tempfile

from pg_server import Server, TWINS, measuring
from tailor_env import ROOT, Daemon, at_least, check, run, sampling_denied, skip, until_enough

RULES = ROOT / "deploy/rules/postgres.toml"
TOOL = pathlib.Path(os.environ["TAILOR_BUILD"]) / "targets/stack_kinds"
ANY_SCAN = "Scan: conditions and output"
MOST_WRONG = 0.001
WRAPPED = {"tailor.most_overhead": "100", "tailor.rows_every": "0"}

SETUP = """
create table t (a int primary key, b int, c text);
create table u (a int primary key, b int, c text);
create table few (a int, b int);
create table p (a int, b int) partition by range (a);
create table p1 partition of p for values from (0) to (50000);
create table p2 partition of p for values from (50000) to (100000);
insert into t select i, i % 97, md5(i::text) from generate_series(1, 100000) i;
insert into u select i, i % 89, md5(i::text) from generate_series(1, 100000) i;
insert into few select i, i from generate_series(1, 20) i;
insert into p select i, i % 10 from generate_series(0, 99999) i;
create index t_b on t (b);
create index p_a on p (a);
vacuum analyze;
"""


def only(*kept):
    """Of the ways to join, or to scan, these alone."""
    off = {"hashjoin", "mergejoin", "nestloop"} if set(kept) & {"hashjoin", "mergejoin", "nestloop"} else \
        {"seqscan", "indexscan", "indexonlyscan", "bitmapscan"}
    return "".join(f"set local enable_{name} = off; " for name in sorted(off - set(kept)))


STATEMENTS = [
    "select count(*) from t where b * 2 % 7 > 3 and c like '%9%'",
    only("indexscan") + "select sum(length(c)) from (select c from t order by a offset 0) x",
    only("indexonlyscan") + "select count(a) from t where a > 5",
    only("bitmapscan") + "select count(c) from t where b between 10 and 60 and length(c) > 3",
    "select count(*) from t tablesample system (90) where b > 5",
    "select c from t order by c desc, b offset 99999",
    "set local enable_incremental_sort = on; set local work_mem = '1MB'; " + only("indexscan") + "select * from t order by b, c offset 99999",
    only("hashjoin") + "select count(*) from t join u using (a) where t.b + u.b > 10",
    only("hashjoin") + "set local work_mem = '256kB'; select count(*) from t left join u using (a) where t.b + coalesce(u.b, 0) > 10",
    only("mergejoin") + "select count(*) from t join u using (a) where t.b + u.b > 10",
    only("nestloop") + "select count(*) from t join u on u.a = t.a where t.b < 40",
    only("nestloop") + "set local enable_memoize = off; select count(*) from few, t where few.a <> t.b",
    "select b, count(*), sum(a) from t group by b",
    "set local enable_hashagg = off; select c, count(*) from t group by c offset 99999",
    "set local enable_hashagg = off; select distinct c from t offset 99999",
    "select sum(a) over (partition by b order by a) from t offset 99999",
    "select a from t intersect select b from u",
    "select count(*) from (select a, b from t union all select a, b from u) x where a + b > 7",
    "select a from p order by a offset 99999",
    "with m as materialized (select a, b from t) select count(*) from m x where x.a % 3 = 1",
    "select count(*) from (select a, b from t offset 0) s where s.a * s.b % 5 = 1",
    "with recursive r(n) as (select 1 union all select n + 1 from r where n < 60000) select sum(n) from r",
    "select count(*) from (select generate_series(1, 100000)) x",
    "select count(*) from generate_series(1, 100000) g where g % 3 = 1",
    "select count(*) from t where exists (select from few where few.a = t.b)",
    "select sum((select max(f.b) from few f where f.a < t.b)) from t where a < 20000",
    "update t set b = b + 1 where a % 5 = 0",
    "select count(*) from (select a from t order by a for update) x",
]


# A parent may call functions of a child besides its method: to begin again, to remember a place. By the slot that is the
# parent's time, by the stack the child's. These statements have none of that.
NEVER_AGAIN = [statement for statement in STATEMENTS
               if not re.search("nestloop|mergejoin|recursive|exists|max\\(f|intersect", statement)]


def kind_of(operator):
    """The rule that a node should have, by EXPLAIN's name for it."""
    name = re.sub(r"^(Parallel |Partial |Finalize |Async )+", "", re.split(r" on | using | \(", operator)[0])
    if name.split()[0] in ("Insert", "Update", "Delete", "Merge") and not name.endswith(("Join", "Append")):
        return "Insert, Update, Delete, Merge"
    for pattern, kind in ((r"Nested Loop.*", "Nested Loop"), (r"Merge( \w+)* Join", "Merge Join"), (r"Hash( \w+)* Join", "Hash Join"),
                          (r"\w*Aggregate", "Aggregate"), (r"(Hash)?SetOp.*", "SetOp"), (r"Foreign .*", "Foreign Scan")):
        if re.fullmatch(pattern, name):
            return kind
    return name


def agrees(operator, rule):
    kind = kind_of(operator)
    # The slot has no bitmap nodes below a Bitmap Heap Scan (docs/postgresql.md).
    in_bitmap = rule.startswith("Bitmap") and kind == "Bitmap Heap Scan"
    return rule == kind or in_bitmap or (rule == ANY_SCAN and kind.endswith("Scan"))


CONFIG = """sampler = "bpf"
stacks = "always"

[[processes.sample]]
executable = "postgres"
"""


@contextlib.contextmanager
def sampled(work, settings, preload="tailor_pg,tailor_pg_probe", statements=tuple(STATEMENTS), **options):
    """A daemon that has sampled a session with stacks, and the session's process."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
        config.write(CONFIG)
        config.flush()
        with Daemon(frequency=3989, options=["--config", config.name]) as daemon, \
                Server(agent=measuring(daemon).socket, settings=settings, preload=preload, functions="", **options) as server:
            server.sql(SETUP)
            # A backend that does not register is found within five seconds, and on a busy host later.
            script = ["set max_parallel_workers_per_gather = 0; select 'backend ' || pg_backend_pid();",
                      "" if preload else "select pg_sleep(15);"]
            for _ in range(work):
                script += [f"begin; {statement}; rollback;" for statement in statements]
            said = server.sql("\n".join(script))
            daemon.stop()
            yield daemon, re.search(r"^backend (\d+)$", said, re.M)[1]


def nodes_of(daemon):
    """(samples whose node the stack alone tells, those where the slot says the same, and where it says another one)"""
    said = re.search(r"operators on call stacks: (\d+) samples by them alone, (\d+) as their tags say, (\d+) otherwise", daemon.said())
    check(said, "tailord says how often stacks show nodes")
    return tuple(map(int, said.groups()))


# Commands that make the tables have a node, too, and phases by the rules.
COMMAND = re.compile(r"(VACUUM|ANALYZE|CREATE INDEX|ALTER TABLE|COPY)\b")


def kinds_in(daemon, rules):
    """([{operator, rule, samples}] of nodes of plans, samples at instructions of the wrappers)"""
    rows = json.loads(run(TOOL, daemon.store, rules))
    nodes = [row for row in rows if row["operator"] and not COMMAND.match(row["operator"])]
    return nodes, sum(row["samples"] for row in rows if not row["operator"])


def measure(rules, work):
    """For each file of rules: [{operator, rule, samples}]; and how much work it was."""
    with sampled(work, WRAPPED) as (daemon, _):
        return [kinds_in(daemon, each)[0] for each in rules], work


class Nodes:
    """What stacks and slot say of the same samples. While the wrappers' own instructions run, the slot changes and the stack does
    not: so many may differ, too."""

    def __init__(self, work, **options):
        with sampled(work, WRAPPED, statements=NEVER_AGAIN, **options) as (daemon, _):
            self.alone, self.same, self.other = nodes_of(daemon)
            rows, self.wrappers = kinds_in(daemon, RULES)
        self.samples = sum(row["samples"] for row in rows)

    def right(self):
        differ = max(0, self.other - self.wrappers)
        return at_least(self.same, self.same + differ, 1 - MOST_WRONG)

    def text(self):
        return f"{self.other} of {self.same + self.other} have another node by the stack than by the slot, {self.wrappers} are in wrappers"


def nodes_by_stack(work):
    nodes = Nodes(work)
    check(at_least(nodes.same + nodes.other, nodes.samples, 0.9), f"stacks show a node in {nodes.same + nodes.other} of {nodes.samples} samples")
    check(nodes.right(), nodes.text())
    check(nodes.alone > 0, f"in {nodes.alone} samples the slot names none, or the node above a bitmap's")
    twin = Nodes(1, library=TWINS / "wrong_objects")
    check(twin.same + twin.other > 0 and not twin.right(), f"the twin wrong_objects fails: {twin.text()}")


def by_stacks_alone(work):
    """Nothing is wrapped: stacks tell nodes, and rules the same kinds."""
    with sampled(work, {"tailor.most_overhead": "0", "tailor.rows_every": "0"}, statements=NEVER_AGAIN) as (daemon, backend):
        judged = Judged(kinds_in(daemon, RULES)[0])
        components = daemon.report("--pid", backend)["component_rows"]
    judged.show()
    outside = sum(row["samples"] for row in components if row["name"].startswith("executor run"))
    check(at_least(judged.samples, judged.samples + outside, 0.9),
          f"without wrappers, stacks give a node to {judged.samples} samples; {outside:.0f} are in the executor outside of nodes")
    check(judged.right(), f"{judged.differ} of {judged.decided} of them have another kind by the rules")


def without_extension(work):
    """No sample has a node, and the rules find kinds."""
    how = "without the extension"
    with sampled(work, {}, "") as (daemon, backend):
        rows, _ = kinds_in(daemon, RULES)
        report = daemon.report("--pid", backend, "--rules", RULES)
    check(not rows, f"{how}, no sample has a node: {rows[:3]}")
    run_phase = sum(row["samples"] for row in report["phase_rows"] if row["name"].startswith("executor run"))
    found, none = report["in_operators"]["samples"], report["unexplained"]["samples"]
    check(at_least(found, found + run_phase + none, 0.9), f"{how}, rules give a kind to {found:.0f} samples; {run_phase:.0f} are in "
          f"the executor outside of nodes, {none:.0f} fit no rule")
    check(len(report["operator_rows"]) >= 20, f"they are of {len(report['operator_rows'])} kinds")


class Judged:
    """What the rules make of the samples that the slot gives to a node."""

    def __init__(self, rows):
        text = RULES.read_text()
        kinds = set(re.findall(r'\[\[operator\]\]\nname = "(.*)"', text))
        self.samples = sum(row["samples"] for row in rows)
        decided = [row for row in rows if row["rule"] in kinds]
        self.decided = sum(row["samples"] for row in decided)
        self.named = sum(row["samples"] for row in decided if row["rule"] != ANY_SCAN)
        self.wrong = [row for row in decided if not agrees(row["operator"], row["rule"])]
        self.differ = sum(row["samples"] for row in self.wrong)
        self.kinds = {row["rule"] for row in decided}

    def show(self):
        for row in sorted(self.wrong, key=lambda row: -row["samples"])[:10]:
            print(f"   {row['samples']} samples: {row['operator']} by the extension, {row['rule']} by the rules")

    def right(self):
        return at_least(self.decided - self.differ, self.decided, 1 - MOST_WRONG)


def exchanged(folder):
    """The rules, with the names of two kinds exchanged."""
    text = RULES.read_text()
    for old, new in (('"Sort"', '"?"'), ('"Aggregate"', '"Sort"'), ('"?"', '"Aggregate"')):
        text = text.replace(f"name = {old}", f"name = {new}")
    path = pathlib.Path(folder) / "exchanged.toml"
    path.write_text(text)
    return path


def main():
    if reason := sampling_denied():
        skip(reason)
    with tempfile.TemporaryDirectory() as folder:
        rules = [RULES, exchanged(folder)]
        (rows, twin), work = until_enough(5000, lambda measured: sum(row["samples"] for row in measured[0][0]),
                                          lambda work: measure(rules, work))
    judged = Judged(rows)
    judged.show()
    print(f"   kinds seen: {', '.join(sorted(judged.kinds))}")
    check(at_least(judged.decided, judged.samples, 0.9), f"rules give a kind to {judged.decided / judged.samples:.1%} of {judged.samples} samples, "
          f"{judged.named / judged.samples:.1%} without {ANY_SCAN!r}")
    check(len(judged.kinds) >= 20, f"{len(judged.kinds)} kinds were compared")
    check(judged.right(), f"{judged.differ} of {judged.decided} samples have another kind by the stack than by the slot "
          f"({judged.differ / judged.decided:.3%})")
    check(not Judged(twin).right(), "kinds exchanged are noticed")
    nodes_by_stack(work)
    by_stacks_alone(work)
    without_extension(work)


if __name__ == "__main__":
    main()
