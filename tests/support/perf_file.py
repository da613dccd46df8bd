"""perf.data files made by hand: what `perf record` of one event would write, record by record or many samples at once."""
import array
import struct

IP, TID, TIME, ADDR, CALLCHAIN, CPU, PERIOD, WEIGHT, DATA_SRC = 1, 2, 4, 8, 1 << 5, 1 << 7, 1 << 8, 1 << 14, 1 << 15
USER_FRAMES = (1 << 64) - 512  # PERF_CONTEXT_USER: what follows in a chain is of user mode
FIELDS = IP | TID | TIME | ADDR | CPU | PERIOD | WEIGHT | DATA_SRC  # of the samples of sample()
USER, KERNEL = 2, 1
SOFTWARE, CPU_CLOCK = 1, 0
FINISHED_ROUND = struct.pack("<IHH", 68, 0, 8)
ATTR_SIZE, HEADER = 128, 104


def attribute(fields, kind=SOFTWARE, config=CPU_CLOCK, period=1_000_000, clock=None):
    """perf_event_attr; `clock`: a clockid, as `perf record -k` asks for one."""
    flags = 1 << 18 | (1 << 15 if kind == 4 else 0)  # sample_id_all; precise_ip = 1 of a hardware event
    if clock is not None:
        flags |= 1 << 25
    head = struct.pack("<IIQQQQQ", kind, ATTR_SIZE, config, period, fields, 0, flags)
    return head.ljust(92, b"\0") + struct.pack("<i", clock or 0) + bytes(ATTR_SIZE - 96)


def sample(time, pid, tid, ip, *, mode=USER, address=0, cpu=0, period=1_000_000, weight=0, data_source=0):
    body = struct.pack("<QIIQQIIQQQ", ip, pid, tid, time, address, cpu, 0, period, weight, data_source)
    return struct.pack("<IHH", 9, mode, 8 + len(body)) + body


def _trailer(pid, tid, time):
    return struct.pack("<IIQII", pid, tid, time, 0, 0)  # as FIELDS has it: TID, TIME, CPU


def comm(time, pid, name):
    body = struct.pack("<II", pid, pid) + name.encode().ljust(16, b"\0") + _trailer(pid, pid, time)
    return struct.pack("<IHH", 3, 0, 8 + len(body)) + body


def mmap2(time, pid, begin, size, path, offset=0):
    name = path.encode() + b"\0"
    name += bytes(-len(name) % 8)
    body = struct.pack("<IIQQQIIQQII", pid, pid, begin, size, offset, 0, 0, 0, 0, 5, 2) + name + _trailer(pid, pid, time)
    return struct.pack("<IHH", 10, 2, 8 + len(body)) + body


def build_id(path, hexadecimal):
    """What `perf record` says of a file that samples were in."""
    name = path.encode() + b"\0"
    name += bytes(-len(name) % 8)
    body = struct.pack("<i", -1) + bytes.fromhex(hexadecimal).ljust(24, b"\0") + name
    return struct.pack("<IHH", 67, USER, 8 + len(body)) + body


def header(fields, size, **event):
    """Everything in front of `size` bytes of records."""
    table = attribute(fields, **event) + struct.pack("<QQ", 0, 0)
    records = HEADER + len(table)
    head = struct.pack("<QQQQQQQQQ", 0x32454C4946524550, HEADER, len(table), HEADER, len(table), records, size, 0, 0)
    return head.ljust(HEADER, b"\0") + table


def write(path, records, **event):
    """A file of the bytes of records whose samples have FIELDS."""
    content = b"".join(records)
    path.write_bytes(header(FIELDS, len(content), **event) + content)


def write_many(path, count, pids=4, addresses=1000, block=1 << 18, frames=0):
    """`count` samples of IP, TID, TIME and PERIOD, 40 bytes each, in order; memory is that of a block. With `frames` each has a
    chain of that many calls too, one for each address: bytes_of_many() says how long it is then."""
    fields = IP | TID | TIME | PERIOD | (CALLCHAIN if frames else 0)
    words, begin = bytes_of_many(frames) // 8, 1_000_000
    with open(path, "wb") as file:
        rounds = -(-count // block)
        file.write(header(fields, count * words * 8 + rounds * len(FINISHED_ROUND)))
        for first in range(0, count, block):
            size = min(block, count - first)
            content = bytearray(size * words * 8)
            column = memoryview(content).cast("Q")
            # All callers of an address follow from it.
            called = [i * 7919 % addresses for i in range(size)]
            column[0::words] = memoryview(array.array("Q", [words * 8 << 48 | USER << 32 | 9]) * size)
            column[1::words] = memoryview(array.array("Q", (0x400000 + each * 16 for each in called)))
            column[2::words] = memoryview(array.array("Q", ((1000 + i % pids) * 0x100000001 for i in range(size))))
            column[3::words] = memoryview(array.array("Q", range(begin + first * 100, begin + (first + size) * 100, 100)))
            column[4::words] = memoryview(array.array("Q", [1_000_000]) * size)
            if frames:
                column[5::words] = memoryview(array.array("Q", [frames + 1]) * size)
                column[6::words] = memoryview(array.array("Q", [USER_FRAMES]) * size)
            for depth in range(frames):
                column[7 + depth :: words] = memoryview(array.array("Q", (0x400000 + (each >> depth) * 16 + depth for each in called)))
            file.write(content)
            file.write(FINISHED_ROUND)


def bytes_of_many(frames=0):
    """Of a sample of write_many()."""
    return 8 * (5 + (2 + frames if frames else 0))
