"""A client of the registration API in plain Python, made from the .proto files alone: no agent library.

It does what docs/registration-api.md says: registers this process, ships a plan and code, runs that code as one execution,
and marks what it does in a log of its own.

  plain_client.py SOCKET GENERATED     GENERATED: folder with the output of protoc --python_out for tailor/v1/*.proto
"""
import ctypes
import fcntl
import mmap
import os
import socket
import struct
import sys
import threading

SOCKET, GENERATED = sys.argv[1], sys.argv[2]
sys.path.insert(0, GENERATED)
from tailor.v1 import dictionary_pb2, registration_pb2  # noqa: E402

PAGE = 4096
MAX_PACKET = 64 * 1024
LOG_RECORDS = 64
AREA_BYTES = 256 + LOG_RECORDS * 32
(EXECUTION_BEGIN, EXECUTION_END, PIPELINE_BEGIN, PIPELINE_END, MORSEL_BEGIN, MORSEL_END) = range(1, 7)
THREAD_BEGIN = 12

# mov rax, rdi; 1: dec rax; jnz 1b; ret
LOOP = bytes.fromhex("4889f8 48ffc8 75fb c3".replace(" ", ""))
# rdtsc; shl rdx, 32; or rax, rdx; ret
RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3".replace(" ", ""))


class Code:
    """Machine code in a page of its own."""

    def __init__(self, code, *arguments):
        self.page = mmap.mmap(-1, PAGE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.page.write(code)
        self.bytes, self.address = code, ctypes.addressof(ctypes.c_char.from_buffer(self.page))
        self.run = ctypes.CFUNCTYPE(ctypes.c_uint64, *arguments)(self.address)


CLOCK = Code(RDTSC)  # keeps its page
rdtsc = CLOCK.run


class Arena:
    """One thread area: a slot and a log, in a memory file that the daemon maps (tailor/thread_area.h)."""

    def __init__(self):
        self.size = PAGE + AREA_BYTES
        self.fd = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, self.size)
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        self.memory = mmap.mmap(self.fd, self.size)
        struct.pack_into("<8sIIII", self.memory, 0, b"TALARENA", 1, 1, AREA_BYTES, LOG_RECORDS)
        self.head = 0

    def begin_thread(self, tid):
        self.append(THREAD_BEGIN, tid, 1)
        struct.pack_into("<QIII", self.memory, PAGE, 0, 1, tid, 1)  # tag, live, thread, use

    def append(self, kind, number=0, a=0, b=0):
        at = PAGE + 256 + (self.head % LOG_RECORDS) * 32
        struct.pack_into("<QHHIQQ", self.memory, at, rdtsc(), kind, 0, number, a, b)
        self.head += 1
        struct.pack_into("<Q", self.memory, PAGE + 128, self.head)  # after the record

    def count(self, field, value):
        """messages_queued and messages_settled: how far the daemon may take what was said for complete."""
        struct.pack_into("<Q", self.memory, {"queued": 24, "settled": 32}[field], value)


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(path)
        self.arena, self.sent = Arena(), 0
        self.send("hello", registration_pb2.Hello(protocol=1, engine_name="plain python", pid=os.getpid(),
                                                  tag_key=int.from_bytes(os.urandom(8), "little"),
                                                  instance=os.urandom(16)))
        answer = self.receive()
        if answer.HasField("refusal"):
            sys.exit(f"refused: {answer.refusal.reason}")
        assert answer.HasField("hello_ack"), answer
        self.send("arena_add", registration_pb2.ArenaAdd(bytes=self.arena.size), self.arena.fd)

    def send(self, kind, body, descriptor=None):
        message = registration_pb2.AgentMessage(tsc=rdtsc())
        getattr(message, kind).CopyFrom(body)
        packet = message.SerializeToString()
        if len(packet) > MAX_PACKET:  # the packet only announces what lies in a sealed memory file
            descriptor = os.memfd_create("message", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.write(descriptor, packet)
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
            packet = registration_pb2.AgentMessage(tsc=message.tsc, payload_bytes=len(packet)).SerializeToString()
        socket.send_fds(self.socket, [packet], [descriptor] if descriptor is not None else [])
        self.sent += 1
        self.arena.count("queued", self.sent)
        self.arena.count("settled", self.sent)

    def receive(self):
        answer = registration_pb2.DaemonMessage()
        answer.ParseFromString(self.socket.recv(4096))
        return answer

    def barrier(self, sequence):
        """Waits until the daemon has processed everything said so far."""
        self.send("barrier", registration_pb2.Barrier(sequence=sequence))
        while self.receive().barrier_ack.sequence != sequence:
            pass


def plan():
    level = dictionary_pb2.Level
    operators = level(name="operator", component_count=1,
                      components=[dictionary_pb2.Component(id=1, name="Loop", kind="loop")])
    steps = level(name="step", component_count=1, links=[1 << 1])
    return dictionary_pb2.Plan(id=1, slot=1, name="a loop", levels=[operators, steps],
                               pipelines=[dictionary_pb2.Pipeline(id=1, task_level=1, tasks=[1])])


def main():
    client = Client(SOCKET)
    tid = threading.get_native_id()
    client.arena.begin_thread(tid)
    client.send("thread_add", registration_pb2.ThreadAdd(tid=tid, use=1, name="main"))
    client.send("plan_load", plan())
    loop = Code(LOOP, ctypes.c_uint64)
    rows = dictionary_pb2.RowTable(offset_delta=[0], link_delta=[1 << 1], flags=bytes([dictionary_pb2.ROW_EXACT]))
    client.send("code_load", dictionary_pb2.CodeObject(id=1, plan_id=1, base=loop.address, code=loop.bytes, rows=rows))
    client.send("execution_begin", registration_pb2.ExecutionBegin(
        handle=1, id=os.urandom(16), plan_id=1, labels=[registration_pb2.Label(key="query", value="count " + "!" * 70_000)]))
    log = client.arena
    log.append(EXECUTION_BEGIN, 0, 1, 1)  # handle, plan
    log.append(PIPELINE_BEGIN, 1)
    for morsel in range(3):
        log.append(MORSEL_BEGIN, 1, morsel * 1000, 1000)
        loop.run(10_000_000)
        log.append(MORSEL_END, 1)
    log.append(PIPELINE_END, 1)
    log.append(EXECUTION_END, 0, 1)
    client.send("execution_end", registration_pb2.ExecutionEnd(handle=1, result_rows=3))
    client.send("code_unload", registration_pb2.CodeUnload(code_id=1))
    client.send("plan_unload", registration_pb2.PlanUnload(plan_id=1))
    client.barrier(1)
    client.send("goodbye", registration_pb2.Goodbye())


main()
