"""An export read by the other side's own program, schema or classes: `go tool pprof`, speedscope's schema, the Firefox Profiler's
command line, Perfetto's messages. The argument names one of them. Where that is not installed, the test is skipped and says so.

The profile is replayed from a journal, so that neither a kernel nor an engine takes part."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import published_messages
from exports import exported, replayed
from tailor_env import ROOT, check, run, skip

PACKAGES = ROOT / "viewer/web/node_modules"


def judge_pprof(path, report):
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if not go:
        skip("go is not installed")
    env = {"PPROF_TMPDIR": str(path.parent)}
    try:
        # Newer versions of Go build the tool when it is first asked for.
        subprocess.run([go, "tool", "pprof", "-h"], capture_output=True, timeout=600)
    except subprocess.TimeoutExpired:
        skip("go has not built pprof in ten minutes")
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
    schema = PACKAGES / "speedscope/dist/release/file-format-schema.json"
    try:
        import jsonschema_rs
    except ImportError:
        skip("jsonschema-rs is not installed")
    if not schema.exists():
        skip("speedscope's package is not installed")
    judge = jsonschema_rs.validator_for(json.loads(schema.read_text()))
    check(judge.is_valid(read), f"speedscope: as its schema says {[error.message for error in judge.iter_errors(read)][:3]}")
    del read["shared"]["frames"][0]["name"]
    check(not judge.is_valid(read), "speedscope: a frame without a name is noticed")


def judge_firefox(path, report):
    read = json.loads(path.read_text())
    weight = sum(sum(thread["samples"]["weight"]) for thread in read["threads"])
    check(abs(weight * 1e6 - report["all"]["weight"]) < 1, "firefox: all weights")
    reader = PACKAGES / "@firefox-devtools/profiler-cli/dist/profiler-cli.js"
    node = shutil.which("node", path=str(pathlib.Path(sys.executable).parent)) or shutil.which("node")
    if not reader.exists() or not node:
        skip("the Firefox Profiler's command line, or node, is not installed")
    env = {"HOME": str(path.parent)}
    try:
        load_into_firefox(node, reader, path, env)
        judge_firefox_functions(node, reader, len(read["threads"]), report, env)
    finally:
        run(node, reader, "stop", "--all", env=env, expect=None)


def load_into_firefox(node, reader, path, env):
    """The reader starts a server of its own, and gives up where that takes half a second."""
    for _ in range(20):
        loaded = subprocess.run([node, reader, "load", path], env={**os.environ, **env}, capture_output=True, text=True, timeout=60)
        said = loaded.stdout + loaded.stderr
        if loaded.returncode == 0 or "did not become ready" not in said:
            check(loaded.returncode == 0, f"firefox: its own reader loads it {loaded.stderr[-300:]}")
            return
        if left := re.search(r"kill (\d+)", said):
            os.kill(int(left[1]), signal.SIGTERM)
    skip("the Firefox Profiler's command line does not start in time on this host")


def judge_firefox_functions(node, reader, threads, report, env):
    """What the reader finds in each frame."""
    own, total = 0, {}
    for thread in range(threads):
        functions = json.loads(run(node, reader, "thread", "functions", "--json", "--limit", "0", "--include-idle", "--thread",
                                   f"t-{thread}", env=env))["functions"]
        own += sum(each["selfSamples"] for each in functions)
        for each in functions:
            total[each["name"]] = total.get(each["name"], 0) + each["totalSamples"]
    whole = report["all"]["weight"] / 1e6
    check(abs(own - whole) <= 1e-3 * whole, f"firefox: its reader finds {own:.3f} of {whole:.3f} ms")
    operators = {row["name"]: row["weight"] / 1e6 for plan in report["plans"] for row in plan["operators"] if row["weight"] > 0}
    # A frame with the names of all its owners has what several share.
    shared = report["all"].get("shared_weight", 0) / 1e6
    wrong = {name: (total.get(name), weight) for name, weight in operators.items()
             if abs(total.get(name, 0) - weight) > shared + 1e-3 * whole}
    check(operators and not wrong, f"firefox: and the time of each of {len(operators)} operators {wrong}")


def judge_perfetto(path, report):
    message = published_messages.perfetto_trace()
    if message is None:
        skip("perfetto's messages are not installed")
    trace = message.FromString(path.read_bytes())
    samples = [packet.perf_sample for packet in trace.packet if packet.HasField("perf_sample")]
    check(len(samples) == report["samples"], "perfetto: all samples")
    check(sum(sample.timebase_count for sample in samples) == round(report["all"]["weight"]), "perfetto: and their time")
    interned = next(packet.interned_data for packet in trace.packet if packet.HasField("interned_data"))
    frames = {frame.iid: frame for frame in interned.frames}
    names = {text.iid: text.str for text in interned.function_names}
    stacks = {stack.iid: stack.frame_ids for stack in interned.callstacks}
    check(all(names[frames[frame].function_name_id] for sample in samples for frame in stacks[sample.callstack_iid]),
          "perfetto: every sample's stack leads to names")
    depth, counters, values = {}, {}, {}
    for packet in trace.packet:
        if packet.HasField("track_descriptor") and packet.track_descriptor.HasField("counter"):
            counters[packet.track_descriptor.uuid] = packet.track_descriptor
        if packet.HasField("track_event") and packet.track_event.type == packet.track_event.TYPE_COUNTER:
            values.setdefault(packet.track_event.track_uuid, []).append((packet.timestamp, packet.track_event.double_counter_value))
        elif packet.HasField("track_event"):
            event = packet.track_event
            depth[event.track_uuid] = depth.get(event.track_uuid, 0) + (1 if event.type == event.TYPE_SLICE_BEGIN else -1)
            check(depth[event.track_uuid] >= 0, "a slice ends before it begins") if depth[event.track_uuid] < 0 else None
    check(depth and not any(depth.values()), "perfetto: slices begin and end")
    judge_counters(counters, values, report)


def judge_counters(counters, values, report):
    """The area of the counters is the CPU time, of everything and of each operator."""
    check(counters.keys() == values.keys() and all(each.counter.unit_name == "CPUs" for each in counters.values()),
          f"perfetto: {len(counters)} counters have values")
    areas = {}
    for track, points in values.items():
        area = sum(value * (after - time) for (time, value), (after, _) in zip(points, points[1:]))
        areas[counters[track].name] = areas.get(counters[track].name, 0) + area
    whole = report["all"]["weight"]
    busy = areas.pop("CPUs busy")
    check(abs(busy - whole) <= 1e-3 * whole, f"perfetto: CPUs busy are {busy:.0f} of {whole:.0f} ns")
    check(abs(sum(areas.values()) - busy) <= 1e-3 * whole, "perfetto: the counters of owners add up to it")
    own = {row["name"]: row["weight"] for plan in report["plans"] for row in plan["operators"] if row["weight"] > 0}
    shared = report["all"].get("shared_weight", 0)  # has a counter of its own
    wrong = {name: (areas.get(f"CPUs: {name}"), weight) for name, weight in own.items()
             if abs(areas.get(f"CPUs: {name}", 0) - weight) > 1e-3 * whole + shared}
    check(own and not wrong, f"perfetto: the counters of {len(own)} operators are their time {wrong}")


READERS = {"pprof": judge_pprof, "speedscope": judge_speedscope, "firefox": judge_firefox, "perfetto": judge_perfetto}


def main():
    form = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        profile, report = replayed(folder)
        READERS[form](exported(profile, form, folder), report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
