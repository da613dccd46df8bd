"""Exports keep every sample: the totals and the operators of other tools' readers are those of the report.

The profile is replayed from a journal, so that neither a kernel nor an engine takes part. Each format is read by the other
side's own program or schema where that is installed; what is not is named as not tried."""
import csv
import importlib.util
import io
import json
import lzma
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from tailor_env import BIN, check, run

JOURNAL = pathlib.Path(__file__).resolve().parent / "journals/tpch-3.journal.xz"
SCHEMA = os.environ.get("SPEEDSCOPE_SCHEMA")
PROFILER_CLI = os.environ.get("FIREFOX_PROFILER_CLI")


def exported(profile, form, folder, *options):
    path = folder / f"profile.{form}"
    run(BIN / "tailor", "export", profile, "--format", form, "-o", path, *options)
    return path


def operators_of(report):
    """Operator -> samples, of those with one owner, and names that several operators share added."""
    out = {}
    for plan in report["plans"]:
        for row in plan["operators"]:
            out[row["name"]] = out.get(row["name"], 0) + row["samples"]
    return out


def judge_csv(path, report):
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    check(len(rows) == report["samples"], f"csv: a row for each of {report['samples']} samples")
    weight = sum(int(row["weight"]) for row in rows)
    check(weight == round(report["all"]["weight"]), f"csv: {weight} ns, as the report says")
    found = {}
    for row in rows:
        owners = [name for name in row["operator"].split(" + ") if name]
        for name in owners:
            found[name] = found.get(name, 0) + 1 / len(owners)
    wanted = {name: samples for name, samples in operators_of(report).items() if samples > 0}
    # What several own is split by parts in the report, evenly here.
    shared = report["all"].get("shared_weight", 0) / report["all"]["weight"] * report["samples"]
    worst = max(abs(found.get(name, 0) - samples) for name, samples in wanted.items())
    check(worst <= shared + 1e-6, f"csv: operators have their samples (within the {shared:.1f} that are shared)")
    moved = dict(zip(wanted, list(found.values())[1:] + list(found.values())[:1]))
    check(max(abs(moved.get(name, 0) - samples) for name, samples in wanted.items()) > shared, "exchanged ones are noticed")


def judge_folded(path, report):
    lines = path.read_text().splitlines()
    total = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
    check(total == round(report["all"]["weight"]), f"folded: {len(lines)} stacks have all {total} ns")
    check(sum(int(line.rsplit(" ", 1)[1]) for line in lines[1:]) != total, "folded: a stack that is left out is noticed")


def judge_pprof(path, report):
    go = shutil.which("go") or (pathlib.Path("/usr/local/go/bin/go").exists() and "/usr/local/go/bin/go")
    if not go:
        print("not tried: pprof, go is not installed")
        return
    env = {"PPROF_TMPDIR": str(path.parent)}
    try:
        # Newer versions of Go build the tool when it is first asked for.
        subprocess.run([go, "tool", "pprof", "-h"], capture_output=True, timeout=100)
    except subprocess.TimeoutExpired:
        print("not tried: pprof, go has not built it in time")
        return
    raw = run(go, "tool", "pprof", "-raw", path, env=env)
    samples = raw[raw.index("Samples:"):raw.index("Locations")].splitlines()
    kinds = samples[1].split()
    check(kinds == ["samples/count", "cpu/nanoseconds[dflt]"] or len(kinds) == 2, f"pprof: {kinds}")
    values = [re.match(r"^\s*(\d+)\s+(\d+):", line) for line in samples[2:]]
    values = [(int(match[1]), int(match[2])) for match in values if match]
    check(sum(count for count, _ in values) == report["samples"], f"pprof: {report['samples']} samples")
    check(sum(weight for _, weight in values) == round(report["all"]["weight"]), "pprof: and all their time")
    top = run(go, "tool", "pprof", "-sample_index=0", "-tags", path, env=env)
    check("operator: Total" in top, "pprof: operators are labels too")


def judge_speedscope(path, report):
    read = json.loads(path.read_text())
    weight = sum(sum(profile["weights"]) for profile in read["profiles"])
    check(weight == round(report["all"]["weight"]), "speedscope: all weights")
    if not SCHEMA or importlib.util.find_spec("jsonschema") is None:
        print("not tried: speedscope's schema (SPEEDSCOPE_SCHEMA, jsonschema)")
        return
    import jsonschema
    jsonschema.validate(read, json.loads(pathlib.Path(SCHEMA).read_text()))
    print("ok: speedscope: as its schema says")


def judge_firefox(path, report):
    read = json.loads(path.read_text())
    weight = sum(sum(thread["samples"]["weight"]) for thread in read["threads"])
    check(abs(weight * 1e6 - report["all"]["weight"]) < 1, "firefox: all weights")
    if not PROFILER_CLI:
        print("not tried: the Firefox Profiler's own reader (FIREFOX_PROFILER_CLI)")
        return
    env = {"HOME": str(path.parent)}
    # It starts a server of its own, and gives up where that takes half a second.
    for _ in range(5):
        loaded = subprocess.run([PROFILER_CLI, "load", path], env={**os.environ, **env}, capture_output=True, text=True, timeout=60)
        said = loaded.stdout + loaded.stderr
        slow = loaded.returncode != 0 and "did not become ready" in said
        if not slow:
            break
        if left := re.search(r"kill (\d+)", said):
            os.kill(int(left[1]), signal.SIGTERM)
    run(PROFILER_CLI, "stop", "--all", env=env, expect=None)
    if slow:
        print("not tried: the Firefox Profiler's own reader does not start in time on this host")
        return
    check(loaded.returncode == 0, f"firefox: its own reader loads it {loaded.stderr[-300:]}")


def judge_perfetto(path, report):
    if importlib.util.find_spec("perfetto") is None:
        print("not tried: perfetto's classes are not installed")
        return
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    samples = [packet.perf_sample for packet in trace.packet if packet.HasField("perf_sample")]
    check(len(samples) == report["samples"], "perfetto: all samples")
    check(sum(sample.timebase_count for sample in samples) == round(report["all"]["weight"]), "perfetto: and their time")
    interned = next(packet.interned_data for packet in trace.packet if packet.HasField("interned_data"))
    frames = {frame.iid: frame for frame in interned.frames}
    names = {text.iid: text.str for text in interned.function_names}
    stacks = {stack.iid: stack.frame_ids for stack in interned.callstacks}
    check(all(names[frames[frame].function_name_id] for sample in samples for frame in stacks[sample.callstack_iid]),
          "perfetto: every sample's stack leads to names")
    depth = {}
    for packet in trace.packet:
        if packet.HasField("track_event"):
            event = packet.track_event
            depth[event.track_uuid] = depth.get(event.track_uuid, 0) + (1 if event.type == 1 else -1)
            check(depth[event.track_uuid] >= 0, "a slice ends before it begins") if depth[event.track_uuid] < 0 else None
    check(depth and not any(depth.values()), "perfetto: slices begin and end")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        raw, profile = folder / "journal", folder / "profile.tailor"
        raw.write_bytes(lzma.decompress(JOURNAL.read_bytes()))
        run(BIN / "tailor", "replay", raw, "-o", profile)
        report = json.loads(run(BIN / "tailor", "report", profile, "--json"))
        for form, judge in (("csv", judge_csv), ("folded", judge_folded), ("pprof", judge_pprof), ("speedscope", judge_speedscope),
                            ("firefox", judge_firefox), ("perfetto", judge_perfetto)):
            judge(exported(profile, form, folder), report)
        lines = exported(profile, "folded", folder, "--levels", "operator,function").read_text().splitlines()
        names = set(operators_of(report))
        check(any(line.split(";")[0].rsplit(" ", 1)[0] in names for line in lines), "levels come in the order that was asked for")
        failed = subprocess.run([BIN / "tailor", "export", profile, "--format", "folded", "--levels", "nothing"], capture_output=True,
                                text=True)
        check(failed.returncode == 2 and "there is no level" in failed.stderr, "an unknown level is an error that lists those there are")
    return 0


if __name__ == "__main__":
    sys.exit(main())
