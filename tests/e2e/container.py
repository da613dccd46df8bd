"""A process in a pid namespace, with a file system and a control group of its own: it is recorded under the number we
know it by, its code is named by the map that only it sees under that name, and its cgroup is a label."""
import json
import os
import pathlib
import subprocess
import tempfile
import time

from tailor_env import BIN, BUILD, Daemon, about, check, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)


def own_group():
    """A new group of the unified hierarchy, and its path as a label."""
    for line in open("/proc/self/mountinfo"):
        fields = line.split()
        if fields[fields.index("-") + 1] != "cgroup2":
            continue
        inside = next(l.strip().split("::", 1)[1] for l in open("/proc/self/cgroup") if l.startswith("0::"))
        label = os.path.join(inside, f"tailor-e2e-{os.getpid()}")
        group = pathlib.Path(fields[4] + label)
        try:
            group.mkdir()
        except OSError as problem:
            skip(f"no control group can be made here: {problem}")
        return group, label
    skip("there is no unified hierarchy of control groups")


def child_of(pid):
    for _ in range(200):
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if children:
            return int(children[0])
        time.sleep(0.01)
    return 0


if subprocess.run(["unshare", "--pid", "--fork", "--mount", "--cgroup", "true"], capture_output=True).returncode != 0:
    skip("new namespaces are not allowed here")
group, label = own_group()
# /tmp is another one inside: the map /tmp/perf-1.map is there through the process's root only.
inside = "mount -t tmpfs none /tmp && exec /proc/self/fd/9 map /tmp"
start = (f"echo $$ > {group}/cgroup.procs && exec 9<{BUILD}/targets/jit_process && "
         f"exec unshare --pid --fork --mount --cgroup --kill-child sh -c '{inside}'")
outer = subprocess.Popen(["sh", "-c", start], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
try:
    with tempfile.TemporaryDirectory() as folder, Daemon(frequency=1000) as daemon:
        outer.stdout.readline()
        pid = child_of(outer.pid)
        check(pid > 0, "the process is there")
        profile = pathlib.Path(folder) / "p.tailor"
        recorder = subprocess.Popen([BIN / "tailor", "record", "-p", str(pid), "-o", profile],
                                    env={**os.environ, **daemon.env}, stderr=subprocess.PIPE, text=True)
        said = ""
        while "Ctrl-C ends it" not in said:
            line = recorder.stderr.readline()
            check(line, "the recording begins") if not line else None
            said += line
        outer.stdin.write(b"x")
        outer.stdin.close()
        check(outer.wait(timeout=60) == 0, "the process ends as usual")
        said += recorder.stderr.read()
        check(recorder.wait(timeout=60) == 0, "so does the recording of it")
        report = json.loads(daemon.tailor("report", profile, "--json"))
        check("perf-1.map" in said, "its map is looked for under the number it knows itself by")
        # In samples of a millisecond: periods are drawn, so numbers of samples are not costs.
        named = {row["name"]: row["weight"] / 1e6 for row in report["functions"] if row["kind"] == "generated"}
        plans = json.loads(daemon.tailor("report", profile, "--json", "--level", "operator"))["plans"]
        one, two = (sum(n for name, n in named.items() if name.startswith(word)) for word in ("one", "two"))
        check(about(one, one + two, 1 / 3, 0.02), f"its functions are named: {named}")
        check(all(plan["process"]["pid"] == pid for plan in plans) and plans, f"it is process {pid} here")
        check(all(plan["cgroup"] == label for plan in plans), f"its cgroup is {label}")
        placed = daemon.tailor("sql", profile, "-q", "SELECT pid, cgroup FROM processes", "--json")
        check({"pid": pid, "cgroup": label} in json.loads(placed), f"SQL has it: {placed}")
        check(not pathlib.Path("/tmp/perf-1.map").exists(), "the map is nowhere else")
finally:
    outer.kill()
    outer.wait()
    for _ in range(100):
        try:
            group.rmdir()
            break
        except OSError:
            time.sleep(0.02)
