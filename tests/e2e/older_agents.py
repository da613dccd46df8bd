"""An engine with the agent of an earlier version, beside today's tailord: what it says arrives, and is refused in no part.

The conversation of each version (tests/fixtures/record_version.py) is said again: each packet as long after the first one as it was
then. Times are moved to now. The memory of the threads' logs fills when the engine ends its execution.
"""
import ctypes
import json
import mmap
import os
import struct
import sys
import time

from live_daemon import wait_for
from raw_agent import HEADER, LOG_AT, RECORD, SEAL_GROW, SEAL_SHRINK, SEAL_WRITE, SLOT, RawAgent, field, fields, memory_file, varint
from tailor_env import ROOT, Daemon, check

HELLO, ARENA, PLAN_LOAD, EXECUTION_END = 10, 11, 14, 19  # proto/tailor/v1/registration.proto
RDTSC = bytes.fromhex("0f3148c1e2204809d0c3")


def time_stamp_counter():
    """A function that reads it."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(RDTSC)
    at = ctypes.addressof(ctypes.c_char.from_buffer(code))
    call = ctypes.CFUNCTYPE(ctypes.c_uint64)(at)
    call.memory = code
    return call


class Packet:
    """One that the agent sent."""

    def __init__(self, data, memory):
        self.data, self.memory = data, memory
        said = dict(fields(data))
        self.tsc = said[1]
        self.body = next((number for number in said if number >= HELLO), None)  # None: the message is in the memory file

    def at(self, tsc):
        """The same words at another time; and what its memory file holds, then."""
        def moved(message):
            return field(1, tsc) + message[len(field(1, self.tsc)):]
        if self.memory is None or self.body is not None:
            return moved(self.data), self.memory
        memory = moved(self.memory)
        return field(1, tsc) + field(2, len(memory)), memory


def packets_of(path):
    data = path.read_bytes()
    first = b"tailor conversation 1\n"
    check(data.startswith(first), f"{path.parent.name}: the conversation has the known format")
    at, packets = len(first), []

    def number():
        nonlocal at
        at += 4
        return struct.unpack_from("<I", data, at - 4)[0]

    def taken(count):
        nonlocal at
        at += count
        return data[at - count:at]

    while at < len(data):
        sender = taken(1)
        length, memory_bytes, chunks = number(), number(), number()
        words, memory = taken(length), bytearray(memory_bytes)
        for _ in range(chunks):
            offset = number()
            size = number()
            memory[offset:offset + size] = taken(size)
        if sender == b"A":
            packets.append(Packet(words, bytes(memory) if memory_bytes else None))
    return packets


class Logs:
    """The memory that the agent shares: what the engine's threads noted, and how far it is written."""

    def __init__(self, content, moved_by):
        self.content = bytearray(content)
        _, _, areas, self.stride, records = struct.unpack_from("<QIIII", content)
        self.heads = {}
        for area in range(areas):
            at = HEADER + area * self.stride
            head = struct.unpack_from("<Q", content, at + SLOT)[0]
            self.heads[at + SLOT] = head
            struct.pack_into("<Q", self.content, at + SLOT, 0)
            for record in range(min(head, records)):
                place = at + LOG_AT + record * RECORD
                tsc = struct.unpack_from("<Q", content, place)[0]
                struct.pack_into("<Q", self.content, place, tsc + moved_by)
        self.fd = memory_file(bytes(self.content), SEAL_SHRINK | SEAL_GROW)
        self.memory = mmap.mmap(self.fd, len(content))

    def write(self):
        for place, head in self.heads.items():
            struct.pack_into("<Q", self.memory, place, head)


def say(socket, packets, left_out=()):
    """Says all of it, as the engine did, and ends as it did."""
    now = time_stamp_counter()
    agent = RawAgent(socket, hello=False)
    moved_by = now() - packets[0].tsc
    logs = None
    for packet in packets:
        if packet.body in left_out:
            continue
        while now() < packet.tsc + moved_by:
            time.sleep(0.001)
        words, memory = packet.at(packet.tsc + moved_by)
        attached = []
        if packet.body == ARENA:
            logs = Logs(memory, moved_by)
            attached = [logs.fd]
        elif memory is not None:
            attached = [memory_file(memory, SEAL_SHRINK | SEAL_GROW | SEAL_WRITE)]
        if packet.body == EXECUTION_END and logs is not None:
            logs.write()
        agent.send(words, attached)
        for fd in attached:
            os.close(fd)
    while agent.answer(60):  # until the daemon has taken the last word, and ends the connection
        pass
    agent.close()


def heard(daemon):
    """What today's tailord shows of it, once it has both executions."""
    def rows():
        return json.loads(daemon.tailor("list", "--json"))["executions"]
    wait_for("both executions have ended", lambda: len(rows()) == 2 and all(not row["running"] for row in rows()))
    return sorted(rows(), key=lambda row: row["began_wall_ns"])


def check_version(folder):
    name = folder.name
    packets = packets_of(folder / "engine.conversation")
    with Daemon(frequency=19) as daemon:
        say(daemon.socket, packets)
        first, failed = heard(daemon)
        check(first["labels"] == {"user": "caf\u00e9", "query": "select sum(n) from numbers"}, f"{name}: labels: {first['labels']}")
        check(first["plan_name"] == "sum of numbers" and first["rows"] == 1, f"{name}: plan {first['plan_name']}, {first['rows']} row")
        check(failed["error"] == "division by zero" and not first["error"], f"{name}: one of the executions failed")
        check(first["elapsed_ns"] > 0, f"{name}: it took {first['elapsed_ns'] / 1e6:.3f} ms")
        total = json.loads(daemon.tailor("status", "--json"))["total"]
        wrong = {key: value for key, value in total.items() if "rejected" in key and int(value)}
        check(not wrong, f"{name}: nothing of it is refused {wrong}")
    # The comparison can fail: an agent that leaves out the plan is not understood so.
    with Daemon(frequency=19) as daemon:
        say(daemon.socket, packets, left_out=(PLAN_LOAD,))
        first, _ = heard(daemon)
        check(first["plan_name"] != "sum of numbers", f"{name}: a plan that was not said has no name")


versions = sorted(path.parent for path in (ROOT / "tests/fixtures").glob("*/engine.conversation"))
check(versions, "there are older versions")
for version in versions:
    check_version(version)
sys.exit(0)
