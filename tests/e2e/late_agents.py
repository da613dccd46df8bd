"""A child of the recorded command works for a second before its agent speaks. The files that it has mapped by then were told by its number
alone. Its samples lie in these files all the same, before and after. A second child, the twin, works after its agent spoke in memory that no
file is mapped to: the same count finds that.
"""
import ctypes
import json
import mmap
import os
import pathlib
import sys
import tempfile
import time
import zlib

from raw_agent import RawAgent
from tailor_env import BIN, at_least, check, run, sampling_denied, skip, until_enough

BEFORE, AFTER = 1.0, 1.5  # seconds of CPU time: the recorder's view of the past is a fraction of a second
WANTED = 500


# mov ecx, 20,000,000; dec ecx; jnz back; ret
LOOP = b"\xb9\x00\x2d\x31\x01\xff\xc9\x75\xfc\xc3"


def in_files(seconds):
    data, end = os.urandom(1 << 20), time.process_time() + seconds
    while time.process_time() < end:
        zlib.crc32(data)


def in_memory(seconds):
    memory = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                       prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(LOOP)
    loop = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    end = time.process_time() + seconds
    while time.process_time() < end:
        loop()


def child(work, factor):
    in_files(BEFORE)
    agent = RawAgent(os.environ["TAILOR_SOCKET"])
    work(AFTER * factor)
    agent.close()


class Measured:
    """Samples in user mode, and those of them that lie in a file."""

    def __init__(self, profile):
        rows = json.loads(run(BIN / "tailor", "report", profile, "--level", "function", "--json"))["functions"]
        rows = [row for row in rows if row["kind"] != "kernel"]
        self.all = sum(row["samples"] for row in rows)
        self.in_files = sum(row["samples"] for row in rows if row["object"])


def measured(folder, work):
    profile = pathlib.Path(folder) / "p.tailor"

    def measure(factor):
        # The shell forks its child off, and waits for it.
        run(BIN / "tailor", "record", "-q", "-F", "997", "-o", profile, "--", "sh", "-c", '"$0" "$@"; true', sys.executable, __file__,
            work.__name__, str(factor))
        return Measured(profile)

    return until_enough(WANTED, lambda found: found.all, measure)


def lies_in_files(found):
    return at_least(found.in_files, found.all, 0.95)


def main():
    if reason := sampling_denied():
        skip(reason)
    with tempfile.TemporaryDirectory() as folder:
        found, twin = measured(folder, in_files), measured(folder, in_memory)
    check(lies_in_files(found), f"{found.in_files} of {found.all} samples lie in files")
    check(not lies_in_files(twin), f"twin: {twin.in_files} of {twin.all} do, where the work is in memory that no file is mapped to")


if __name__ == "__main__":
    child({"in_files": in_files, "in_memory": in_memory}[sys.argv[1]], float(sys.argv[2])) if sys.argv[1:] else main()
