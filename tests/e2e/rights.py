"""A tailord that root starts by hand gives up the rights that it does not need, in every thread, as its unit says it for a service.
It records the engines of other users all the same, and keeps another right only for what needs it.
"""
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile

from tailor_env import BIN, ROOT, Daemon, check, run, sampling_denied, skip

STRANGER = 65534
# Numbers of linux/capability.h.
NUMBERS = {"CAP_CHOWN": 0, "CAP_DAC_OVERRIDE": 1, "CAP_NET_BIND_SERVICE": 10, "CAP_IPC_LOCK": 14, "CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21,
           "CAP_SYSLOG": 34, "CAP_PERFMON": 38, "CAP_BPF": 39, "CAP_CHECKPOINT_RESTORE": 40}
# What a host may make it keep: a limit of locked memory that cannot be raised, a kernel that denies perf to all but administrators.
OF_THE_HOST = {"CAP_IPC_LOCK", "CAP_SYS_ADMIN"}


def unit_rights():
    """Those that the unit gives to its service."""
    text = (ROOT / "deploy/systemd/tailord.service").read_text()
    return set(re.search(r"^CapabilityBoundingSet=(.*)$", text, re.M).group(1).split())


def rights_of_threads(pid):
    """For each thread: its capabilities of all kinds, and whether it can gain others."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        said = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
        found.append({**{kind: int(said[kind], 16) for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")},
                      "NoNewPrivs": said["NoNewPrivs"].strip() == "1"})
    return found


def numbers(names):
    return sum(1 << NUMBERS[name] for name in names)


def too_much(thread, allowed):
    """What a thread has beyond these rights."""
    beyond = {kind: value & ~numbers(allowed) for kind, value in thread.items() if kind != "NoNewPrivs"}
    problems = [f"{kind} has {value:x}" for kind, value in beyond.items() if value]
    return problems + ([] if thread["NoNewPrivs"] else ["it can gain privileges"])


def kept(daemon):
    """The capabilities that it says it keeps."""
    return set(re.search(r"of the capabilities of root tailord keeps (.*)", daemon.said()).group(1).split(", "))


def check_threads(daemon, also=frozenset()):
    """No thread has more than it says, and it says no more than there is a reason for."""
    names = kept(daemon)
    usual = unit_rights() | {"CAP_CHECKPOINT_RESTORE"}
    check(names - OF_THE_HOST - usual == also, f"it keeps {', '.join(sorted(names))}")
    threads = rights_of_threads(daemon.process.pid)
    check(len(threads) > 3, f"it has {len(threads)} threads")
    wrong = [problem for thread in threads for problem in too_much(thread, names)]
    check(not wrong, f"no thread of them has more {wrong or ''}".rstrip())


def records_another_user(daemon):
    """By its number: a process of a user that root is not."""
    loop = subprocess.Popen(["sh", "-c", "while :; do :; done"], user=STRANGER, group=STRANGER, extra_groups=[])
    try:
        with tempfile.TemporaryDirectory() as folder:
            profile = pathlib.Path(folder) / "p.tailor"
            daemon.tailor("record", "-p", loop.pid, "-o", profile, "--seconds", "1")
            report = json.loads(run(BIN / "tailor", "report", profile, "--level", "function", "--json"))
            check(report["functions"], f"a process of another user is sampled: {[row['name'] for row in report['functions'][:3]]}")
    finally:
        loop.kill()
        loop.wait()


def records_an_engine(daemon):
    daemon.weft("--sf", "0.05", "--threads", "1", "--repeat", "100", "--quiet", "--tpch", "6")
    listed = json.loads(daemon.tailor("list", "--limit", "1000", "--json"))["executions"]
    check(len(listed) == 100, f"an engine registers: {len(listed)} executions")
    check(sum(each["samples"] for each in listed) > 0, "and is sampled")


def as_usual():
    with Daemon(frequency=1000) as daemon:
        check_threads(daemon)
        records_another_user(daemon)
        records_an_engine(daemon)
        check_threads(daemon)
        check(daemon.stop() == 0, "it ends as usual")
        check(not daemon.socket.exists() and not daemon.control.exists(), "and takes its sockets away")
        check("could not be given up" not in daemon.said(), "nothing of it failed")


def broken_twin():
    """This process is root and has given up nothing: the same check must find that."""
    wrong = too_much(rights_of_threads(os.getpid())[0], unit_rights() | {"CAP_CHECKPOINT_RESTORE"} | OF_THE_HOST)
    check(any("CapEff" in each for each in wrong), f"the broken twin, a root that has all its rights, is found: {wrong}")


class DaemonOfAnother(Daemon):
    """Its sockets and its store lie in a folder that is closed to root without a right."""

    def __init__(self):
        super().__init__(frequency=1000)
        os.chown(self.folder.name, STRANGER, STRANGER)
        os.chmod(self.folder.name, 0o755)


def in_a_folder_of_another_user():
    with DaemonOfAnother() as daemon:
        check_threads(daemon, {"CAP_DAC_OVERRIDE"})
        said = daemon.said()
        check("CAP_DAC_OVERRIDE is kept" in said and daemon.folder.name in said, "it says why, and names the folder")
        records_an_engine(daemon)
        check(daemon.stop() == 0, "it ends as usual")
        check(not daemon.socket.exists(), "and takes its socket away")


def group_of_the_socket():
    """Only who is in a group, or has CAP_CHOWN, can give a file to it."""
    with open("/etc/group") as groups:
        name, _, number = next(line for line in groups if int(line.split(":")[2]) > 0).split(":")[:3]
    with Daemon(options=["--socket-group", name]) as daemon:
        check_threads(daemon)
        check(daemon.socket.stat().st_gid == int(number), f"the socket is given to the group {name} all the same")


def free_low_port():
    for port in range(1023, 600, -1):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    return None


def low_port():
    port = free_low_port()
    if port is None:
        print("not tried: no port below 1024 is free")
        return
    with Daemon(options=["--metrics-listen", f"127.0.0.1:{port}"]) as daemon:
        check_threads(daemon, {"CAP_NET_BIND_SERVICE"})
        socket.create_connection(("127.0.0.1", port)).close()
        print(f"ok: it listens at port {port}")


if __name__ == "__main__":
    if os.geteuid() != 0 or not rights_of_threads(os.getpid())[0]["CapEff"] & 1 << 8:
        skip("only root with CAP_SETPCAP has rights to give up")
    if reason := sampling_denied():
        skip(reason)
    broken_twin()
    as_usual()
    in_a_folder_of_another_user()
    group_of_the_socket()
    low_port()
