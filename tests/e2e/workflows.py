"""weft's workflows against the same algorithms in Python, whose numbers are float64 too; and errors as a user sees them.

    workflows.py [--full]    with --full all four that come with weft, else k-means alone
"""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from tailor_env import BIN, check, skip

MASK = 2**64 - 1
# Nobody listens: the engine's answers are asked for, and no profile.
ALONE = {"TAILOR_DISABLE": "1"}


def weft(*arguments, cwd=None, env=None):
    """Exit code, standard output, error stream."""
    done = subprocess.run([str(BIN / "weft"), *map(str, arguments)], env={**os.environ, **ALONE, **(env or {})}, cwd=cwd,
                          capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def outcome(name, *arguments, **settings):
    """What a workflow gives: contexts by name, iterations."""
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    code, text, said = weft("workflow", name, "--json", *words, *arguments)
    check(code == 0, f"weft workflow {name} {said.strip()}")
    found = json.loads(text)
    return {each["name"]: each["values"] for each in found["contexts"]}, found["iterations"]


def random_number(n):
    """As the functions of the workflows make it."""
    z = (n + 1) * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    z ^= z >> 31
    return (z >> 11) * 2.0**-53


def close(found, wanted, what):
    """All values within 1e-9 of the wanted ones, relative."""
    check(len(found) == len(wanted), f"{what}: {len(found)} values")
    worst = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(found, wanted))
    check(worst <= 1e-9, f"{what}: the largest difference is {worst:.1e}")


def kmeans(rows, dimensions, clusters, rounds):
    def point(row):
        place = row % clusters
        return [10 * random_number(1_000_000_007 + place * dimensions + j) + random_number(row * dimensions + j)
                for j in range(dimensions)]

    points = [point(row) for row in range(rows)]
    centres = [point(c) for c in range(clusters)]
    for number in range(1, rounds + 1):
        sums, counts = [[0.0] * dimensions for _ in range(clusters)], [0] * clusters
        for p in points:
            nearest = min(range(clusters), key=lambda c: sum((a - b) ** 2 for a, b in zip(p, centres[c])))
            counts[nearest] += 1
            sums[nearest] = [a + b for a, b in zip(sums[nearest], p)]
        moved = [[s / n for s in row] if n else old for row, n, old in zip(sums, counts, centres)]
        shift = sum(abs(a - b) for new, old in zip(moved, centres) for a, b in zip(new, old))
        centres = moved
        if shift == 0:
            break
    return [value for centre in centres for value in centre], number


def pagerank(vertices, edges, rounds):
    graph = []
    for row in range(edges):
        number = random_number(2 * row)
        graph.append((int(random_number(2 * row + 1) * vertices), int(number * number * number * vertices)))
    degrees = [0] * vertices
    for source, _ in graph:
        degrees[source] += 1
    ranks = [1 / vertices] * vertices
    for _ in range(rounds):
        incoming = [0.0] * vertices
        for source, target in graph:
            incoming[target] += ranks[source] / degrees[source]
        loose = sum(rank for rank, degree in zip(ranks, degrees) if degree == 0)
        after = [(1 - 0.85) / vertices + 0.85 * (value + loose / vertices) for value in incoming]
        ranks = after
    return ranks


def logistic_regression(rows, dimensions, rounds):
    data = []
    for row in range(rows):
        x = [2 * random_number(row * (dimensions + 1) + j) - 1 for j in range(dimensions)]
        total = sum(value * (j + 1 if j % 2 == 0 else -j) for j, value in enumerate(x))
        total += 4 * random_number(row * (dimensions + 1) + dimensions) - 2
        data.append((x, 1.0 if total > 0 else 0.0))
    weights = [0.0] * dimensions
    for _ in range(rounds):
        gradient = [0.0] * dimensions
        for x, y in data:
            wrong = 1 / (1 + math.exp(-sum(a * b for a, b in zip(x, weights)))) - y
            gradient = [g + wrong * a for g, a in zip(gradient, x)]
        weights = [w - 0.5 * g / rows for w, g in zip(weights, gradient)]
    return weights


def naive_bayes(rows, dimensions, classes):
    counts = [0] * classes
    sums = [[0.0] * dimensions for _ in range(classes)]
    for row in range(rows):
        label = row % classes
        counts[label] += 1
        for j in range(dimensions):
            at = (row * dimensions + j) * 2
            sums[label][j] += random_number(at) + random_number(at + 1) + 0.25 * ((label + j) % classes)
    return ([math.log(count / rows) for count in counts],
            [value / count for row, count in zip(sums, counts) for value in row])


def check_kmeans():
    wanted, rounds = kmeans(2000, 3, 4, 20)
    for threads in (1, 3):
        contexts, iterations = outcome("kmeans", "--threads", threads, points_made=2000, dimensions=3, clusters=4)
        close(contexts["centres"], wanted, f"k-means on {threads} threads")
        check(threads > 1 or len(iterations) == rounds, f"{len(iterations)} iterations, as in Python")
        check(all("watched" in each for each in iterations), "the shift stands beside each iteration's cost")
    # The broken twin: other points give other centres.
    contexts, _ = outcome("kmeans", "--threads", 1, points_made=2001, dimensions=3, clusters=4)
    check(max(abs(a - b) for a, b in zip(contexts["centres"], wanted)) > 1e-9, "one point more makes a difference")


def check_others():
    ranks = pagerank(300, 5000, 20)
    for threads in (1, 3):
        contexts, iterations = outcome("pagerank", "--threads", threads, vertices=300, edges_made=5000)
        close(contexts["ranks"], ranks, f"ranks on {threads} threads")
        check(len(iterations) == 20 and iterations[-1]["watched"] < iterations[0]["watched"], "ranks converge")
    wanted = logistic_regression(2000, 5, 20)
    for threads in (1, 3):
        contexts, _ = outcome("logistic-regression", "--threads", threads, rows_made=2000, dimensions=5)
        close(contexts["weights"], wanted, f"logistic regression on {threads} threads")
    priors, means = naive_bayes(4000, 5, 4)
    for threads in (1, 3):
        contexts, _ = outcome("naive-bayes", "--threads", threads, rows_made=4000, dimensions=5)
        close(contexts["priors"], priors, f"priors of naive Bayes on {threads} threads")
        close(contexts["means"], means, f"its means on {threads} threads")
        check(contexts["hits"][0] > 4000 / 4, f"it finds {contexts['hits'][0]} of 4000 classes, more than by chance")


SCALE = 0.05
LINES = """select l_quantity, l_extendedprice, l_discount, l_tax, l_orderkey,
  case when l_shipdate <= date '1998-12-01' - interval '90' day then 1 else 0 end,
  case when l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01' then 1 else 0 end,
  case when l_commitdate < l_receiptdate then 1 else 0 end,
  case when l_returnflag = 'A' then 0 when l_returnflag = 'N' then 2 else 4 end + case when l_linestatus = 'F' then 0 else 1 end
  from lineitem"""
ORDERS = """select o_orderkey,
  case when o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-10-01' then 1 else 0 end,
  case when o_orderpriority = '1-URGENT' then 0 when o_orderpriority = '2-HIGH' then 1
       when o_orderpriority = '3-MEDIUM' then 2 when o_orderpriority = '4-NOT SPECIFIED' then 3 else 4 end
  from orders"""
LATE_LINES = """select o_orderpriority, count(*) from orders, lineitem
  where o_orderkey = l_orderkey and l_commitdate < l_receiptdate group by o_orderpriority order by o_orderpriority"""
TPCH = f"""workflow tpch
let keys = {int(6_000_000 * SCALE) + 64}
udf "tpch.cc"
input lines(quantity f64, price f64, discount f64, tax f64, order i64, early i32, wanted i32, late i32, kind i64) from "lines.csv"
input orders(key i64, quarter i32, priority i64) from "orders.csv"
context sums f64[6, 4]
context counts i64[6]
context revenue f64
context has_late i32[keys]
context by_priority i64[5]
context late_lines i64[5]
from lines
  filter is_set(early)
  reduce add_line(quantity, price, discount, tax) by kind into sums parallel combine add
  reduce count() by kind into counts parallel combine add_counts
end
from lines
  filter is_q6(wanted, discount, quantity)
  reduce add_revenue(price, discount) into revenue parallel combine add
end
from lines
  reduce either(late) by order into has_late parallel combine either
end
from orders
  filter is_q4(key, quarter, has_late)
  reduce count() by priority into by_priority parallel combine add_counts
end
from lines
  filter is_set(late)
  join orders on order = key
  reduce count() by priority into late_lines parallel combine add_counts
end
show sums, counts, revenue, by_priority, late_lines
"""
TPCH_FUNCTIONS = """
#include <cstdint>
extern "C" bool is_set(int32_t flag) { return flag != 0; }
extern "C" void add_line(double* sums, double quantity, double price, double discount, double tax) {
  sums[0] += quantity;
  sums[1] += price;
  sums[2] += price * (1 - discount);
  sums[3] += price * (1 - discount) * (1 + tax);
}
extern "C" int64_t count(int64_t n) { return n + 1; }
extern "C" int64_t add_counts(int64_t a, int64_t b) { return a + b; }
extern "C" double add(double a, double b) { return a + b; }
extern "C" bool is_q6(int32_t wanted, double discount, double quantity) {
  return wanted != 0 && discount >= 0.05 && discount <= 0.07 && quantity < 24;
}
extern "C" double add_revenue(double sum, double price, double discount) { return sum + price * discount; }
extern "C" int32_t either(int32_t a, int32_t b) { return a | b; }
extern "C" bool is_q4(int64_t key, int32_t quarter, const int32_t* has_late) { return quarter != 0 && has_late[key] != 0; }
"""


def rows_of(*arguments):
    """The rows of a query, as texts."""
    code, text, said = weft("--sf", SCALE, "--csv", *arguments)
    check(code == 0, f"weft {arguments[0]} {said.strip()}")
    return [[word.strip('"') for word in line.split(",")] for line in text.splitlines()[1:]]


def check_tpch(folder):
    for name, query in (("lines", LINES), ("orders", ORDERS)):
        (folder / f"{name}.csv").write_text("".join(",".join(row) + "\n" for row in rows_of("-c", query)))
    (folder / "tpch.cc").write_text(TPCH_FUNCTIONS)
    (folder / "tpch.wf").write_text(TPCH)
    contexts, _ = outcome(folder / "tpch.wf", "--threads", 2)
    kinds = {("A", "F"): 0, ("N", "F"): 2, ("N", "O"): 3, ("R", "F"): 4}
    for flag, status, *numbers in rows_of("--tpch", 1):
        kind = kinds[flag, status]
        close(contexts["sums"][4 * kind:4 * kind + 4], [float(number) for number in numbers[:4]], f"TPC-H 1, {flag} {status}")
        check(contexts["counts"][kind] == int(numbers[-1]), f"and its {numbers[-1]} lines")
    close(contexts["revenue"], [float(rows_of("--tpch", 6)[0][0])], "TPC-H 6")
    wanted = [int(row[-1]) for row in rows_of("--tpch", 4)]
    check(contexts["by_priority"] == wanted, f"TPC-H 4: {contexts['by_priority']}")
    wanted = [int(row[-1]) for row in rows_of("-c", LATE_LINES)]
    check(contexts["late_lines"] == wanted, f"a join: {contexts['late_lines']}")


def check_errors(folder):
    code, _, said = weft("workflow", "nothing-of-that-name")
    check(code == 1 and "naive-bayes, pagerank" in said, f"an unknown name: {said.strip()}")
    (folder / "f.cc").write_text('extern "C" int puts(const char*);\n'
                                 'extern "C" double f(double x) {\n  puts("x");\n  return x;\n}\n'
                                 'extern "C" void make(long row, double* x) { *x = double(row); }\n'
                                 'extern "C" double add(double a, double b) { return a + b; }\n')
    (folder / "w.wf").write_text('workflow w\nudf "f.cc"\ninput t(x f64) rows 10 by make()\ncontext total f64\n'
                                 "from t\nmap f(x) -> y f64\nreduce add(y) into total\nend\n")
    code, _, said = weft("workflow", folder / "w.wf")
    check(code == 1 and "w.wf:6:5: f in f.cc:3 calls puts" in said, f"what may not be called: {said.splitlines()[0]}")
    code, _, said = weft("workflow", folder / "w.wf", "--set", "total=3")
    check(code == 1 and "no constant total" in said, f"a setting of nothing: {said.strip()}")
    code, _, said = weft("workflow", "kmeans", "--clang", "/nonexistent/clang")
    check(code == 1 and "kmeans.wf:7:1: /nonexistent/clang is no program" in said, f"no clang: {said.strip()}")
    code, text, said = weft("workflow", "compile", "kmeans", "--to", folder / "kept")
    check(code == 0 and text.strip().endswith("kept/kmeans.wf"), f"a workflow is kept {said.strip()}")
    code, text, said = weft("workflow", folder / "kept/kmeans.wf", "--set", "points_made=1000", "--json", env={"PATH": ""})
    check(code == 0 and json.loads(text)["name"] == "kmeans", f"and runs without clang {said.strip()}")
    code, text, said = weft("explain", "--workflow", "kmeans")
    check(code == 0 and "loop lloyd" in text and "nearest" in text, f"explain shows it {said.strip()}")
    check("cycles a tuple, alone in a loop: " in text and "bytes loaded and" in text and "host: " in text,
          "explain predicts cycles and bytes of functions")
    code, text, said = weft("explain", "--workflow", "kmeans", "--levels", "--json", "--opt", 2)
    check(code == 0, f"all levels of it {said.strip()}")
    levels = json.loads(text)
    functions = {task["id"] for task in levels["tasks"] if task["kind"] == "udf"}
    check({task["name"] for task in levels["tasks"]} >= {"nearest", "add_point", "move_centres"}, "functions are tasks")
    lines = {line["line"]: set(line["tasks"]) for line in levels["ir"]}
    code_of_functions = [each for each in levels["code"]["instructions"] if any(lines[line] & functions for line in each["ir"])]
    check(len(code_of_functions) > 100, f"{len(code_of_functions)} machine instructions belong to users' functions")
    unowned = sum(len(each["bytes"]) for each in levels["code"]["instructions"] if not each["ir"] and each["link"] != "prologue")
    check(unowned <= 0.005 * sum(len(each["bytes"]) for each in levels["code"]["instructions"]),
          f"{unowned // 2} bytes of code have no owner")


if shutil.which("clang++-19") is None and not pathlib.Path("/usr/lib/llvm-19/bin/clang++").exists():
    skip("no clang 19 is installed")
check_kmeans()
with tempfile.TemporaryDirectory() as name:
    check_errors(pathlib.Path(name))
    if "--full" in sys.argv:
        check_others()
        check_tpch(pathlib.Path(name))
