"""An agent tells of a plan, its code and its execution five seconds after they were at work: the samples of that time have waited
with their address and their tag, and reports give them to the operators. The twin says that the plan came into being when it was
told: then nobody may have these samples."""
import ctypes
import json
import mmap
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import threading
import time

from raw_agent import HEADER, RawAgent, field, put_record, set_head
from tailor_env import BIN, Daemon, all_accounted, at_least, check, operators, run, sampling_denied, skip, until_enough

KEY, SLOT, LATE_S = 0x1234, 5, 5
MASK = (1 << 64) - 1


def tag(upper, lower):
    """proto/include/tailor/tag.h."""
    low = SLOT << 32 | upper << 14 | lower
    x = (low ^ KEY) * 0x9E3779B97F4A7C15 & MASK
    x ^= x >> 29
    x = x * 0xBF58476D1CE4E5B9 & MASK
    return (x >> 48 or 1) << 48 | low


class Code:
    """Machine code of this process: address and function."""

    def __init__(self, code, result=None, arguments=()):
        self.memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.memory[:len(code)] = code
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.size = len(code)
        self.call = ctypes.CFUNCTYPE(result, *arguments)(self.address)


COUNT_DOWN = b"\x48\xff\xcf\x75\xfb"  # dec rdi; jnz


def engine(late_s, honest, socket):
    """Works in two pieces of code, one that the agent tells of and one, with a tag, that nobody knows."""
    rdtsc = Code(b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3", ctypes.c_uint64)
    known = Code(COUNT_DOWN + b"\xc3", None, (ctypes.c_uint64,))
    shared = Code(b"\x41\x57\x49\xbf" + struct.pack("<Q", tag(2, 0)) + COUNT_DOWN + b"\x41\x5f\xc3", None, (ctypes.c_uint64,))
    agent = RawAgent(socket, hello=False)
    agent.say(10, field(1, 1) + field(2, "late") + field(6, KEY) + field(7, 1) + field(8, os.urandom(16)))
    agent.answer()
    began = rdtsc.call()
    # Its log names the execution in time: proto/include/tailor/thread_area.h.
    tid, records = threading.get_native_id(), 64
    memory = agent.arena(0, 1, records)
    memory[HEADER + 8:HEADER + 20] = struct.pack("<III", 1, tid, 1)
    put_record(memory, 0, records, 0, began, 12, identity=tid, a=1)
    put_record(memory, 0, records, 1, began, 1, a=1, b=7)
    set_head(memory, 0, records, 2)
    agent.say(12, field(1, tid) + field(4, 1))
    end = time.monotonic() + late_s
    while time.monotonic() < end:
        known.call(3_000_000)
        shared.call(3_000_000)
    when = began if honest else rdtsc.call()
    # One level with two operators: 1 owns the code, 2 has the tag.
    level = field(1, "operator") + field(2, 2) + field(3, field(1, 1) + field(2, "of code")) + field(3, field(1, 2) + field(2, "of tag"))
    agent.say(14, field(1, 7) + field(2, SLOT) + field(4, "late plan") + field(5, level), when)
    rows = field(1, b"\x00") + field(2, b"\x04") + field(3, b"\x00")  # from 0 on: link 1 << 1, which a zigzag doubles; exact
    agent.say(16, field(1, 1) + field(2, 7) + field(3, known.address) + field(4, bytes(known.memory[:known.size])) + field(5, when) +
              field(8, rows), when)
    agent.say(18, field(1, 1) + field(2, bytes(range(16))) + field(3, 7), when)
    put_record(memory, 0, records, 2, rdtsc.call(), 2, a=1)
    set_head(memory, 0, records, 3)
    agent.say(19, field(1, 1))
    time.sleep(0.5)
    agent.say(24, b"")
    agent.close()


if len(sys.argv) > 1:
    engine(float(sys.argv[2]), sys.argv[1] == "honest", os.environ["TAILOR_SOCKET"])
    sys.exit()
if reason := sampling_denied():
    skip(reason)


def command(kind, work):
    return [sys.executable, __file__, kind, str(LATE_S * work)]


def recorded(kind, work):
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder) / "late.tailor"
        run(BIN / "tailor", "record", "-o", profile, "--", *command(kind, work))
        return json.loads(run(BIN / "tailor", "report", profile, "--json"))


def live(kind, work):
    with Daemon() as daemon:
        run(*command(kind, work), env=daemon.env)
        return daemon.report("--last", "1")


def of(report, name):
    return sum(row["samples"] for row in operators(report) if row["name"] == name)


def refused(report):
    return sum(row["samples"] for row in report["unattributed_rows"] if row["key"] == "tag_plan_not_live")


for how in (recorded, live):
    name = how.__name__
    found = until_enough(1000, lambda report: of(report, "of code") + of(report, "of tag") + refused(report), lambda work: how("honest", work))
    by_code, by_tag = of(found, "of code"), of(found, "of tag")
    check(at_least(by_code, by_code + by_tag, 0.4) and at_least(by_tag, by_code + by_tag, 0.4),
          f"{name}: the work of before the plan was told is its operators': {by_code:.0f} samples by code, {by_tag:.0f} by tag")
    check(refused(found) <= 0.01 * by_tag, f"{name}: {refused(found):.0f} tags of it are refused")
    accounting = found["accounting"]
    check(accounting["messages_rejected"] == 0, f"{name}: the daemon refuses nothing that the agent says")
    check(all_accounted(accounting), f"{name}: samples that got an owner later are counted once")

twin = recorded("late", 1)
check(of(twin, "of code") + of(twin, "of tag") <= 0.05 * (refused(twin) + 1) and refused(twin) > 0,
      f"the twin's plan is new when it is told: {refused(twin):.0f} tags are refused, and its operators have nothing of them")
