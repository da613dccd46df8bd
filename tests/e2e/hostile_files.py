"""Processes without an agent write what runtimes write of their code, jitdumps and perf maps, to harm the daemon that reads
them. The victim beside them loses nothing, and the daemon's memory stays bounded.

hostile_files.py [--full]: ten times as much in each file.
"""
import contextlib
import mmap
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time

from attacks import Memory, Victim, compare, profile_of_enough
from raw_agent import ask_control, field
from tailor_env import ROOT, Daemon, check, sampling_denied, skip, undisturbed

MEMORY_MB = 64  # that processes may fill
MOST_MB = 8 * MEMORY_MB + 256 + 64  # and what is held of a user's files, and of what was read and is not said yet
PATIENCE = 120  # seconds


def put_functions(out, first, count, lines=0):
    """Records of a jitdump, as its specification has them (tools/perf/Documentation/jitdump-specification.txt)."""
    code = b"\x90" * 16
    for number in range(first, first + count):
        address = 0x7000_0000_0000 + 64 * number
        if lines:
            entries = b"".join(struct.pack("<QII", address + i % 16, i, 0) + b"f.py\0" for i in range(lines))
            out.write(struct.pack("<IIQQQ", 2, 32 + len(entries), time.monotonic_ns(), address, lines) + entries)
        name = f"function_of_a_stranger_with_a_name_of_some_length_{number}".encode() + b"\0"
        body = struct.pack("<IIQQQQ", os.getpid(), os.getpid(), address, address, len(code), number) + name + code
        out.write(struct.pack("<IIQ", 0, 16 + len(body), time.monotonic_ns()) + body)


@contextlib.contextmanager
def dump(folder):
    """A jitdump of this process, mapped as runtimes do it."""
    with open(pathlib.Path(folder) / f"jit-{os.getpid()}.dump", "w+b") as out:
        out.write(struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, os.getpid(), time.monotonic_ns(), 0))
        out.flush()
        with mmap.mmap(out.fileno(), 40, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE):
            yield out


def many_functions(folder, size):
    with dump(folder) as out:
        put_functions(out, 0, 100_000 * size)
        out.flush()
        work()


def many_lines(folder, size):
    with dump(folder) as out:
        for number in range(20 * size):
            put_functions(out, number, 1, lines=200_000 if number % 2 else 30_000)
        out.flush()
        work()


def own_map():
    return pathlib.Path(f"/tmp/perf-{os.getpid()}.map")


def put_lines(out, count):
    for number in range(count):
        out.write(f"{0x7000_0000_0000 + 64 * number:x} 40 function_of_a_map_{number}\n")


def sparse_map(folder, size):
    with open(own_map(), "w") as out:
        out.truncate(255 << 20)
    work()


def growing_map(folder, size):
    with open(own_map(), "w") as out:
        while True:
            put_lines(out, 10_000)
            work(0.02)


def rewritten_map(folder, size):
    while True:
        with open(own_map(), "w") as out:
            put_lines(out, 10_000 * size)
        work(0.5)


def map_at_the_end(folder, size):
    """Children that write theirs when they end."""
    while True:
        child = os.fork()
        if child == 0:
            try:
                work(0.2)
                with open(own_map(), "w") as out:
                    put_lines(out, 50_000 * size)
                work(0.2)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        pathlib.Path(f"/tmp/perf-{child}.map").unlink(missing_ok=True)


ATTACKS = (many_functions, many_lines, sparse_map, growing_map, rewritten_map, map_at_the_end)


def work(seconds=None):
    """A process that does nothing is not sampled."""
    end = None if seconds is None else time.monotonic() + seconds
    while end is None or time.monotonic() < end:
        sum(range(2000))
        time.sleep(0.01)


@contextlib.contextmanager
def strangers(folder, size, attacks=ATTACKS):
    """Processes of a program of their own, so that a rule names them and nobody else."""
    program = folder / "stranger"
    shutil.copy(os.path.realpath(sys.executable), program)
    base = sysconfig.get_config_var("installed_base")
    env = {**os.environ, "PYTHONHOME": base, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    running = [subprocess.Popen([program, __file__, "--attack", attack.__name__, str(folder), str(size)], env=env) for attack in attacks]
    try:
        yield running
    finally:
        for each in running:
            each.kill()
            each.wait()
            pathlib.Path(f"/tmp/perf-{each.pid}.map").unlink(missing_ok=True)


def wait_until_sampled(daemon, running):
    deadline = time.monotonic() + PATIENCE
    wanted = {each.pid for each in running}
    while True:
        status = daemon.tailor("status")
        if all(str(pid) in status for pid in wanted):
            return
        if time.monotonic() > deadline or any(each.poll() is not None for each in running):
            check(False, f"the rule finds all of {wanted}: {status}")
        time.sleep(0.2)


def main(size):
    query = (ROOT / "compiler/weft/queries/q3.sql").read_text().strip().rstrip(";")
    with tempfile.TemporaryDirectory(prefix="tailor-files-") as folder:
        folder = pathlib.Path(folder)
        rules = folder / "tailord.toml"
        rules.write_text(f'[[processes.sample]]\nexecutable = "{folder}/stranger"\n')
        with Daemon(frequency=997, options=["--config", rules, "--max-memory", MEMORY_MB]) as daemon:
            with Victim(daemon) as victim:
                alone = profile_of_enough(victim, query)
            memory = Memory(daemon.process.pid)
            memory.start()
            with strangers(folder, size) as running, Victim(daemon) as victim:
                wait_until_sampled(daemon, running)
                slowest = 0
                for _ in range(3):
                    beside = profile_of_enough(victim, query)
                    asked = time.monotonic()
                    ask_control(daemon.control, field(2, b""))
                    slowest = max(slowest, time.monotonic() - asked)
                check(beside["executions"] == victim.executions, f"the daemon knows {beside['executions']} of {victim.executions} executions")
                compare(alone, beside)
                memory.over.set()
                print(f"the slowest flush took {slowest:.2f} s")
                check(memory.most <= MOST_MB, f"the daemon took {memory.most:.0f} MB at most, of {MOST_MB}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--attack"]:
        globals()[sys.argv[2]](sys.argv[3], int(sys.argv[4]))
        sys.exit()
    if reason := sampling_denied():
        skip(reason)
    undisturbed(lambda: main(10 if "--full" in sys.argv else 1), tries=2)
