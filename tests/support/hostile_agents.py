"""Processes that attack the daemon: with data, with logs, with messages, with connections.

An attack is a generator that yields after each step, so that a test can see that it goes on.
"""
import contextlib
import ctypes
import multiprocessing
import os
import queue
import socket
import struct
import threading
import time

from hostile_libraries import COMMON_ENTRY, LOOP, PAGE, executable_page, function_entry, library_with, unwind_table, with_mmap
from raw_agent import SEAL_GROW, SEAL_SHRINK, SEAL_WRITE, RawAgent, field, memory_file, put_record, set_head, varint
from slow_files import SlowFiles

FUTURE = 1 << 62
LINGER = 60  # seconds
COMPONENTS = 900_000
ROWS = 1_000_000
MAPPED_FILES, MAPPINGS = 1000, 60_000
SLEEPERS = 1000
ARENAS = 256  # of a process, as many as it may have
CLIENTS = 200
PROGRAMS, PROGRAM, LARGEST_PROGRAM = 60, 60_000, 2_000_000  # functions with unwind tables of this many rows, and one with more


def labels(path):
    """Executions that never end, with all the labels they may have."""
    agent = RawAgent(path)
    for handle in range(1, 4000):
        agent.begin(handle, os.urandom(16), [("query", "q" * 50_000)])
        yield


def refused_code(path):
    """Unwind tables of code that cannot be taken."""
    agent = RawAgent(path)
    for code in range(1, 100):
        agent.code(code, plan=99, base=0x10000 * code, eh_frame=b"\x17" * 20_000_000)
        yield


def huge_claims(path):
    """Plans of a few bytes that claim millions of components."""
    agent = RawAgent(path)
    for plan in range(1, 3000):
        agent.plan(plan, levels=[1 << 22], slot=plan)
        agent.plan(plan, levels=[65536], slot=plan)
        yield


def code_churn(path):
    """Many small code objects, then one over all of them; and unloads of the last ones."""
    agent = RawAgent(path)
    while True:
        for code in range(1, 8000):
            agent.code(code, plan=0, base=0x100000 + 16 * code)
            yield
        agent.code(9000, plan=0, base=0x100000, size=200_000)
        for code in range(8000, 1, -1):
            agent.unload_code(code)
            yield


def lying_logs(path):
    """Heads that nobody can have reached, and marks from the future."""
    agent = RawAgent(path)
    records = 1024
    memory = agent.arena(0, 64, records)
    number = 0
    while True:
        number += records
        for area in range(64):
            for i in range(0, records, 64):
                put_record(memory, area, records, i, FUTURE + number + i, 7 + (i >> 6) % 2, identity=1 + i % 7)
            put_record(memory, area, records, number, FUTURE, 12, identity=1_000_000 + number % 50_000, a=number)
            set_head(memory, area, records, number if number % 5 else 1 << 63)
        yield


def many_areas(path):
    """A million logs."""
    for _ in range(200):
        agent = RawAgent(path)
        try:
            for index in range(256):
                agent.arena(index, 4096, 16)
                yield
        except OSError:
            pass
        agent.close()


def large_nonsense(path):
    """Memory files full of what is no message."""
    for _ in range(1000):
        agent = RawAgent(path)
        try:
            for _ in range(50):
                agent.say(99, b"\xff" * 30_000_000)
                yield
        except OSError:
            pass
        agent.close()


def garbage(path):
    """Bytes that are no messages, before hello and after it."""
    while True:
        for hello in (False, True):
            agent = RawAgent(path, hello=hello)
            try:
                for size in (1, 100, 50_000):
                    agent.send(os.urandom(size))
            except OSError:
                pass
            agent.close()
            yield


def control_socket(path):
    """Who asks and never reads, and who asks nonsense."""
    control = os.path.join(os.path.dirname(path), "control.sock")
    while True:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asker:
            asker.connect(control)
            try:
                for _ in range(200):
                    asker.send(field(1, b""))
                asker.send(b"\xff\xff\xff")
            except OSError:
                pass
        yield


def reconnects(path):
    """A new agent, over and over again."""
    while True:
        RawAgent(path).close()
        yield


def many_connections(path):
    """As many connections as there are descriptors."""
    while True:
        agents = []
        try:
            for _ in range(900):
                agents.append(RawAgent(path, hello=False))
                yield
        except OSError:
            pass
        time.sleep(0.2)
        for agent in agents:
            agent.close()


def newcomers(path):
    """Processes that register, work a little and end, eight at a time."""
    while True:
        children = [child_of(lambda: work_registered(path)) for _ in range(8)]
        for child in children:
            os.waitpid(child, 0)
        yield


def work_registered(path):
    agent = RawAgent(path)
    end = time.monotonic() + 0.05
    while time.monotonic() < end:
        sum(range(1000))
    agent.close()


def together(count, work):
    """Yields once for each process that has got to wait(). Each does `work(wait)`. All of them end when this generator ends, or the
    process that runs it."""
    read, write = os.pipe()
    begun, says = os.pipe()
    os.set_blocking(begun, False)

    def wait():
        os.close(write)
        os.write(says, b".")
        os.close(says)
        os.read(read, 1)

    def said():
        try:
            return os.read(begun, 4096)
        except BlockingIOError:
            return b""

    children = []
    try:
        for _ in range(count):
            children.append(child_of(lambda: work(wait)))
            yield from said()
        os.close(says)
        says = None
        os.set_blocking(begun, True)
        while some := said():  # until all have said it, or are gone
            yield from some
    finally:
        for end in (read, write, begun, *([] if says is None else [says])):
            os.close(end)
        for child in children:
            os.waitpid(child, 0)


def sleepers(path):
    """Processes that register and sleep, until there are a thousand of them; then others."""
    def sleep(wait):
        agent = RawAgent(path)
        agent.barrier(1)
        wait()
        agent.close()
    while True:
        yield from together(SLEEPERS, sleep)


def many_arenas(path):
    """Processes with as many tiny arenas as they may have; they end together."""
    def fill(wait):
        agent = RawAgent(path)
        arenas = [agent.arena(index, 1, 16) for index in range(ARENAS)]  # noqa: F841: they live as long as this
        agent.barrier(1)
        wait()
        agent.close()
    while True:
        yield from together(24, fill)


def slow_files(path):
    """Files of FUSE in messages. Whoever closes one waits for half a second."""
    files = SlowFiles()
    while True:
        files.hold()
        try:
            with contextlib.closing(RawAgent(path)) as agent:
                for _ in range(8):
                    file = files.open()
                    try:
                        agent.send(field(2, 100), [file])
                    finally:
                        os.close(file)
                deadline = time.monotonic() + LINGER
                while not files.waiting() and time.monotonic() < deadline:
                    time.sleep(0.01)
                if files.waiting():
                    yield
                    time.sleep(0.5)
        except OSError:  # the daemon has thrown it out; the mount stays
            time.sleep(0.05)
        finally:
            files.let_go()


def heavy_requests(path):
    """Two hundred clients ask over HTTP for all there is of the last execution, again and again."""
    answers = queue.SimpleQueue()
    web = os.path.join(os.path.dirname(path), "http.sock")
    for _ in range(CLIENTS):
        threading.Thread(target=ask_for_all, args=(web, answers), daemon=True).start()
    while True:
        if answers.get() == 200:
            yield


def ask_for_all(web, answers):
    while True:
        status = 0
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(web)
                client.sendall(b"GET /api/v1/executions/last/bundle HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                with client.makefile("rb") as answer:
                    status = int(answer.read()[9:12] or 0)
        except (OSError, ValueError):
            pass
        answers.put(status)
        if status != 200:
            time.sleep(0.1)


def child_of(work):
    """A process that does it and ends; its number."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


def slow_socket():
    """A TCP socket whose last close waits: it lingers, and its peer takes nothing. And that peer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sender = socket.create_connection(listener.getsockname())
        peer, _ = listener.accept()
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGER))
    sender.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            sender.send(b"x" * 65536)
    return sender, peer


def slow_descriptors(path):
    """Sockets whose close takes long, in messages."""
    while True:
        agent = RawAgent(path)
        peers = []
        for _ in range(8):
            sender, peer = slow_socket()
            peers.append(peer)
            agent.send(field(2, 100), [sender.fileno()])
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))
            sender.close()
            yield
        time.sleep(0.5)
        agent.close()
        for peer in peers:
            peer.close()


def rows_of_code(path):
    """Unwind tables of a hundred thousand functions, and of a million rows, for code that comes and goes."""
    agent = RawAgent(path)
    tables = unwind_table(1_000_000), unwind_table(1_000_000, instructions=b"\x41" * 60_000)
    code = 0
    while True:
        code += 1
        agent.code(code, plan=0, base=0x7000_0000_0000 + (code % 64 << 20), eh_frame=tables[code % 2])
        agent.unload_code(code)
        yield


def late_code(path):
    """As much code as is remembered comes and goes. Then comes much that is said to have been there before all of it."""
    agent = RawAgent(path)
    page, kept, late = 0x1000, 16_384, 100_000
    for code in range(1, kept + 1):
        agent.code(code, plan=0, base=0x7000_0000_0000 + page * code)
        agent.unload_code(code)
    while True:
        for code in range(kept + 1, kept + late):
            agent.code(code, plan=0, base=0x7000_0000_0000 + page * code, loaded=1)
            agent.unload_code(code)
            yield


def much_mapped(path):
    """Newcomers with as many libraries, and as many mappings, as the kernel allows."""
    libc = with_mmap()
    for number in range(MAPPED_FILES):
        file = os.memfd_create(f"library {number}")
        os.write(file, library_with(unwind_table(100)))
        for _ in range(MAPPINGS // MAPPED_FILES):
            executable_page(libc, file)
        os.close(file)
    while True:
        os.waitpid(child_of(lambda: work_registered(path)), 0)
        yield


def tables_of_files(path):
    """Libraries that nobody has seen before, with unwind tables of a million functions, whose code runs for a moment."""
    agent = RawAgent(path)
    library = library_with(unwind_table(13_000_000))
    libc = with_mmap()
    while agent:
        file = os.memfd_create("library")
        os.write(file, library)
        address = executable_page(libc, file)
        os.close(file)
        ctypes.CFUNCTYPE(None, ctypes.c_uint64)(address)(30_000_000)
        libc.munmap(address, PAGE)
        yield


def unwind_programs(path):
    """Libraries whose functions have unwind tables of many rows, and run for a moment each. Nobody has seen them before."""
    agent = RawAgent(path)
    loops = [PAGE + 16 * number for number in range(1 + PROGRAMS)]
    table = bytearray(COMMON_ENTRY)
    for number, address in enumerate(loops):  # 0x40: the next row is of the same address
        table += function_entry(len(table), address, 16, b"\x40" * (PROGRAM if number else LARGEST_PROGRAM))
    library = library_with(bytes(table), LOOP.ljust(16, b"\xcc") * len(loops))
    libc = with_mmap()
    number = 0
    while agent:
        number += 1
        file = os.memfd_create("library")
        os.write(file, library + struct.pack("<Q", number))
        page = executable_page(libc, file)
        os.close(file)
        for address in 3 * loops:
            ctypes.CFUNCTYPE(None, ctypes.c_uint64)(page + address - PAGE)(5_000_000)
        libc.munmap(page, PAGE)
        yield


def packed(values):
    return b"".join(map(varint, values))


def large_plan():
    """A plan of a million components, all of them described."""
    components = b"".join(field(3, field(1, number) + field(2, f"operator of a stranger {number}")) for number in range(1, 1 + COMPONENTS))
    return field(14, field(1, 1) + field(2, 1) + field(5, field(2, COMPONENTS) + components))


def large_code():
    """A code object of a million rows, of plan 2, with a million link sets."""
    rows = field(1, b"\x01" * ROWS) + field(2, b"\x02" + b"\x00" * (ROWS - 1)) + field(3, b"\x01" * ROWS)
    rows += b"".join(field(4, field(1, packed([1 + number % 1000, 1 + number % 999]))) for number in range(ROWS))
    return field(16, field(1, 1) + field(2, 2) + field(3, 0x7000_0000_0000) + field(13, 2 * ROWS) + field(8, rows))


def large_text():
    """A plan with a text that cannot be compressed."""
    attachment = field(1, "sql") + field(2, os.urandom(32)) + field(3, os.urandom(30_000_000))
    return field(14, field(1, 3) + field(2, 3) + field(5, field(2, 1)) + field(7, attachment))


def large_messages(path):
    """Plans and code objects of some thirty megabytes, one after the other, as fast as they are taken. Each is new: the one
    before was unloaded."""
    agent = RawAgent(path)
    agent.plan(2, levels=[1000], slot=2)
    seals = SEAL_SHRINK | SEAL_GROW | SEAL_WRITE
    said = [(message, memory_file(message, seals)) for message in (large_plan(), large_code(), large_text())]
    number = 0
    while True:
        for message, fd in said:
            number += 1
            agent.envelope(len(message), fd)
            agent.unload_plan(1)
            agent.unload_code(1)
            agent.unload_plan(3)
            agent.barrier(number)
            yield


ATTACKS = {
    "data": [labels, refused_code, huge_claims, code_churn],
    "logs": [lying_logs, many_areas],
    "messages": [large_nonsense, garbage, control_socket],
    "connections": [reconnects, many_connections],
    "descriptors": [slow_descriptors],
    "newcomers": [newcomers],
    "rows": [rows_of_code],
    "late": [late_code],
    "mapped": [much_mapped],
    "tables": [tables_of_files],
    "message": [large_messages],
    "sleepers": [sleepers],
    "arenas": [many_arenas],
    "slow files": [slow_files],
    "requests": [heavy_requests],
    "programs": [unwind_programs],
}


class Attackers:
    """All attacks of a kind at once, one process each; they only get the time that nobody else wants. `uid`: their user."""

    def __init__(self, kind, path, uid=None):
        self.attacks = ATTACKS[kind]
        self.steps = [multiprocessing.Value("Q", 0) for _ in self.attacks]
        self.processes = [multiprocessing.Process(target=self.attack, args=(attack, str(path), steps, uid), daemon=True)
                          for attack, steps in zip(self.attacks, self.steps)]

    @staticmethod
    def attack(attack, path, steps, uid):
        """Again whenever the daemon has thrown it out."""
        os.nice(19)
        if uid is not None:
            os.setgid(uid)
            os.setuid(uid)
        while True:
            try:
                for _ in attack(path):
                    steps.value += 1
            except OSError:
                time.sleep(0.05)

    def taken(self):
        """How many steps each attack has taken."""
        return {attack.__name__: steps.value for attack, steps in zip(self.attacks, self.steps)}

    def __enter__(self):
        for process in self.processes:
            process.start()
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.join()
