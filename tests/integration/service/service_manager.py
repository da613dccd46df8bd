"""What a service manager sees of tailord: when it is ready, that it lives, that it ends; and the agent socket that the
manager made, which engines reach before tailord runs and after it has ended."""
import fcntl
import json
import os
import pathlib
import select
import socket
import subprocess
import tempfile
import time

from tailor_env import BIN, check, run


class Manager:
    """A service manager of one service: its notification socket, and the agent socket."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(str(self.folder / "notify"))
        self.env = {"TAILOR_SOCKET": str(self.folder / "agent.sock"), "TAILOR_CONTROL": str(self.folder / "control.sock"),
                    "TAILOR_STORE": str(self.folder / "store")}

    def listen(self, kind=socket.SOCK_SEQPACKET, name="agent.sock"):
        listener = socket.socket(socket.AF_UNIX, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        listener.bind(str(self.folder / name))
        if kind != socket.SOCK_DGRAM:
            listener.listen()
        return listener

    def start(self, listeners=(), **env):
        """tailord with these sockets as its descriptors from 3 on."""
        moves = " ".join(f"{3 + i}<&{listener.fileno()}" for i, listener in enumerate(listeners))
        command = f"exec {BIN}/tailord {moves}"
        if listeners:
            command = f"export LISTEN_PID=$$ LISTEN_FDS={len(listeners)}; {command}"
        return subprocess.Popen(["bash", "-c", command], pass_fds=[listener.fileno() for listener in listeners],
                                stderr=subprocess.PIPE, text=True,
                                env={**os.environ, **self.env, "NOTIFY_SOCKET": str(self.folder / "notify"), **env})

    def next(self, process):
        """The next word of the service; fails if it ends without one."""
        while not select.select([self.notify], [], [], 0.2)[0]:
            if process.poll() is not None:
                check(False, f"tailord lives: {process.stderr.read()}")
        return self.notify.recv(4096).decode()


def high(listener):
    """The same socket under a number beyond those that are handed over."""
    moved = socket.socket(fileno=fcntl.fcntl(listener.fileno(), fcntl.F_DUPFD_CLOEXEC, 20))
    listener.close()
    return moved


def ends(process):
    process.terminate()
    code = process.wait(timeout=60)
    process.stderr.close()
    return code


with tempfile.TemporaryDirectory() as folder:
    manager = Manager(folder)
    process = manager.start(WATCHDOG_USEC="100000")
    check(manager.next(process) == "READY=1", "it tells when it is ready")
    check(all((pathlib.Path(folder) / name).exists() for name in ("agent.sock", "control.sock")), "and its sockets are there then")
    check(all(manager.next(process) == "WATCHDOG=1" for _ in range(5)), "that it lives, again and again")
    process.terminate()
    words = ["WATCHDOG=1"]
    while words[-1] == "WATCHDOG=1":
        words.append(manager.next(process))
    check(words[-1] == "STOPPING=1", "and that it ends")
    check(process.wait(timeout=60) == 0, "which it does")
    process.stderr.close()

with tempfile.TemporaryDirectory() as folder:
    manager = Manager(folder)
    process = manager.start()
    check(manager.next(process) == "READY=1" and not select.select([manager.notify], [], [], 1)[0],
          "where nobody watches there are no pings")
    check(ends(process) == 0, "it ends")
    process = manager.start(WATCHDOG_USEC="100000", WATCHDOG_PID="1")
    while manager.next(process) != "READY=1":
        pass
    check(not select.select([manager.notify], [], [], 1)[0], "nor where another is watched")
    check(ends(process) == 0, "it ends")

with tempfile.TemporaryDirectory() as folder:
    manager = Manager(folder)
    listener = high(manager.listen())
    engine = subprocess.Popen([BIN / "weft", "--sf", "0.01", "--repeat", "1000000000", "--quiet", "--tpch", "6"], env={**os.environ, **manager.env})
    try:
        for _ in range(2):
            process = manager.start([listener])
            while manager.next(process) != "READY=1":
                pass
            deadline = time.monotonic() + 120
            while not (known := json.loads(run(BIN / "tailor", "status", "--json", env=manager.env))["processes"]):
                if time.monotonic() >= deadline:
                    check(False, "the engine registers")
                time.sleep(0.1)
            check([each["info"]["process"]["pid"] for each in known] == [engine.pid], "an engine that was there first registers at the manager's socket")
            check(ends(process) == 0 and (pathlib.Path(folder) / "agent.sock").exists(), "the socket stays when tailord ends")
    finally:
        engine.kill()
        engine.wait()

with tempfile.TemporaryDirectory() as folder:
    manager = Manager(folder)
    for listeners, words in (([high(manager.listen(socket.SOCK_STREAM))], "ListenSequentialPacket="),
                             ([high(manager.listen(name="other.sock"))], "other.sock"),
                             ([high(manager.listen(name="one")), high(manager.listen(name="two"))], "hands over 2 sockets")):
        process = manager.start(listeners)
        said = process.stderr.read()
        check(process.wait(timeout=60) == 2 and words in said, f"refused: {said.strip()}")
        process.stderr.close()
    check(not (pathlib.Path(folder) / "control.sock").exists(), "nothing else is opened then")
