"""A client of the agent socket that says whatever it is told to: messages are put together byte by byte."""
import fcntl
import mmap
import os
import socket
import struct

F_ADD_SEALS, SEAL_SHRINK, SEAL_GROW, SEAL_WRITE = 1033, 2, 4, 8
ARENA_MAGIC = 0x414E4552414C4154
HEADER, SLOT, LOG_AT, RECORD = 4096, 128, 256, 32


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """A field of a message: an int as a varint, bytes and str by their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def memory_file(content, seals):
    fd = os.memfd_create("raw", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, content) if isinstance(content, bytes) else os.ftruncate(fd, content)
    fcntl.fcntl(fd, F_ADD_SEALS, seals)
    return fd


class RawAgent:
    """Numbers of messages and fields: proto/tailor/v1/registration.proto."""

    def __init__(self, path, instance=None, hello=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(str(path))
        if hello:
            self.say(10, field(1, 1) + field(2, "raw") + field(6, 0x1234) + field(8, instance or os.urandom(16)))

    def send(self, packet, fds=()):
        if fds:
            socket.send_fds(self.socket, [packet], list(fds))
        else:
            self.socket.send(packet)

    def say(self, body, content, tsc=0):
        """A message; one that does not fit into a packet goes in a memory file."""
        message = (field(1, tsc) if tsc else b"") + field(body, content)
        if len(message) < 60_000:
            return self.send(message)
        fd = memory_file(message, SEAL_SHRINK | SEAL_GROW | SEAL_WRITE)
        try:
            self.send(field(2, len(message)), [fd])
        finally:
            os.close(fd)

    def plan(self, plan, levels=(), slot=0):
        self.say(14, field(1, plan) + field(2, slot) + b"".join(field(5, field(2, count)) for count in levels))

    def code(self, code, plan, base, size=16, eh_frame=b"", loaded=0):
        self.say(16, field(1, code) + field(2, plan) + field(3, base) + field(4, b"\xcc" * size) +
                 (field(10, eh_frame) if eh_frame else b"") + (field(5, loaded) if loaded else b""))

    def unload_code(self, code):
        self.say(17, field(1, code))

    def unload_plan(self, plan):
        self.say(15, field(1, plan))

    def envelope(self, size, fd):
        """A message of that size, which lies in a memory file: it can be sent again and again."""
        self.send(field(2, size), [fd])

    def barrier(self, sequence):
        """Waits until all that was said before has been taken."""
        self.say(23, field(1, sequence))
        while True:
            packet = self.answer(60)
            if not packet:
                raise ConnectionError("the daemon ended the connection")
            answer = dict(fields(packet))
            if 2 in answer and dict(fields(answer[2])).get(1) == sequence:
                return

    def begin(self, handle, identity, labels=()):
        self.say(18, field(1, handle) + field(2, identity) +
                 b"".join(field(4, field(1, key) + field(2, value)) for key, value in labels))

    def end(self, handle):
        self.say(19, field(1, handle))

    def arena(self, index, areas, records):
        """Maps a new arena and announces it; its memory is the caller's to write."""
        size = HEADER + areas * (LOG_AT + records * RECORD)
        fd = memory_file(size, SEAL_SHRINK | SEAL_GROW)
        memory = mmap.mmap(fd, size)
        memory[:24] = struct.pack("<QIIII", ARENA_MAGIC, 1, areas, LOG_AT + records * RECORD, records)
        self.send(field(11, field(1, index) + field(2, size)), [fd])
        os.close(fd)
        return memory

    def answer(self, timeout=5):
        """The next message of the daemon, as bytes; empty when the connection is over."""
        self.socket.settimeout(timeout)
        return self.socket.recv(65536)

    def close(self):
        self.socket.close()


def set_head(memory, area, records, head):
    at = HEADER + area * (LOG_AT + records * RECORD) + SLOT
    memory[at:at + 8] = struct.pack("<Q", head & (1 << 64) - 1)


def put_record(memory, area, records, number, tsc, kind, identity=0, a=0, b=0):
    at = HEADER + area * (LOG_AT + records * RECORD) + LOG_AT + number % records * RECORD
    memory[at:at + RECORD] = struct.pack("<QHHIQQ", tsc & (1 << 64) - 1, kind, 0, identity, a, b)


def fields(message):
    """The fields of a message as (number, value): ints, or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = number()
        if key & 7 == 2:
            size = number()
            yield key >> 3, message[at:at + size]
            at += size
        elif key & 7 == 0:
            yield key >> 3, number()
        else:
            size = 8 if key & 7 == 1 else 4
            yield key >> 3, message[at:at + size]
            at += size


def ask_control(path, request):
    """Sends a ControlRequest; returns the fields of the reply, wherever it lies."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asker:
        asker.connect(str(path))
        asker.settimeout(60)
        asker.send(request)
        packet, fds, _, _ = socket.recv_fds(asker, 1 << 20, 1)
        reply = dict(fields(packet))
        if 15 in reply:
            packet = os.pread(fds[0], reply[15], 0)
            reply = dict(fields(packet))
        for fd in fds:
            os.close(fd)
        return reply
