"""tailord with the rights of deploy/kubernetes/daemonset.yaml, and an engine in another container: a process namespace and a
file system of its own, another user, and of the host nothing but the folder of the socket, read-only."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from tailor_env import BIN, ROOT, check, run, sampling_denied, skip, until_enough

ENGINE = 12346
added = re.search(r"add: \[([^]]*)\]", (ROOT / "deploy/kubernetes/daemonset.yaml").read_text()).group(1)
RIGHTS = ",".join(["-all", *("+" + name.strip().lower() for name in added.split(","))])

if reason := sampling_denied():
    skip(reason)
if os.geteuid() != 0 or shutil.which("setpriv") is None:
    skip("only root can take rights from the daemon and make containers")
if subprocess.run(["unshare", "--pid", "--fork", "--mount", "--ipc", "--uts", "true"], capture_output=True).returncode != 0:
    skip("new namespaces are not allowed here")


def libraries(program):
    return sorted(set(re.findall(r"(/\S+)", run("ldd", program))))


def image(folder):
    """A file system with the engine, its libraries and its data."""
    data = pathlib.Path(os.environ.get("WEFT_DATA", pathlib.Path.home() / ".cache/weft")) / "tpch-sf0.01"
    run(BIN / "weft", "--sf", "0.01", "--quiet", "--tpch", "6")
    for path in [str(BIN / "weft"), *libraries(BIN / "weft")]:
        target = folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    shutil.copytree(data, folder / "data")
    for name in ("proc", "run/tailor", "tmp", "dev"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    run("chmod", "-R", "a+rX", folder)


def tailord(folder):
    os.chown(folder / "run", 0, ENGINE)  # the group that both pods have
    env = {"TAILOR_SOCKET": str(folder / "run/agent.sock"), "TAILOR_CONTROL": str(folder / "control.sock"), "TAILOR_STORE": str(folder / "store")}
    command = ["setpriv", f"--regid={ENGINE}", "--clear-groups", f"--bounding-set={RIGHTS}", f"--inh-caps={RIGHTS}", "--no-new-privs"]
    process = subprocess.Popen([*command, BIN / "tailord", "--frequency", "1000"], env={**os.environ, **env}, stderr=open(folder / "log", "w"))
    for _ in range(600):
        if (folder / "control.sock").exists() or process.poll() is not None:
            break
        time.sleep(0.1)
    check(process.poll() is None, f"tailord runs: {(folder / 'log').read_text()}")
    held = re.search(r"CapEff:\s*(\S+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())
    check(held, "the kernel says which rights it has")
    check(bin(int(held.group(1), 16)).count("1") == len(added.split(",")), f"and has these rights only: {added}")
    return process, env


def engine(folder, repeat):
    """weft in a container, to its end."""
    inside = (f"mount --bind {folder}/run {folder}/image/run/tailor && mount -o remount,bind,ro {folder}/image/run/tailor && "
              f"mount -t proc proc {folder}/image/proc && exec chroot --userspec={ENGINE}:{ENGINE} {folder}/image "
              f"{BIN}/weft --data /data --repeat {repeat} --quiet --tpch 6")
    run("env", "-u", "TAILOR_SOCKET", "unshare", "--pid", "--fork", "--mount", "--ipc", "--uts", "--kill-child", "sh", "-c", inside,
        env={"HOME": "/tmp"}, timeout=600)


with tempfile.TemporaryDirectory(prefix="tailor-pod-") as folder:
    folder = pathlib.Path(folder)
    folder.chmod(0o755)
    (folder / "run").mkdir()
    image(folder / "image")
    process, env = tailord(folder)
    try:
        def recorded(work):
            engine(folder, 200 * work)
            return json.loads(run(BIN / "tailor", "report", "--last", str(200 * work), "--json", env=env))

        report = until_enough(30, lambda given: sum(op["samples"] for plan in given["plans"] for op in plan["operators"]), recorded)
        plan = report["plans"][0]
        check({op["name"] for op in plan["operators"]} >= {"Scan lineitem"}, f"its operators are named: {[op['name'] for op in plan['operators']]}")
        check(plan["process"]["pid"] > 1, f"it is process {plan['process']['pid']} here, and 1 there")
        named = sum(op["samples"] for op in plan["operators"])
        print(f"{named:.0f} samples of operators")
        bpf = subprocess.run([BIN / "tailor", "record", "--sampler", "bpf", "-o", "/dev/null", "--", "true"], capture_output=True).returncode == 0
        sampling = " ".join(run(BIN / "tailor", "status", env=env).split())
        check(not bpf or "sampled by perf, though" not in sampling, f"BPF takes the samples where the host lets it{'' if bpf else ': it does not'}")
    finally:
        process.terminate()
        check(process.wait(timeout=60) == 0, "tailord ends")
