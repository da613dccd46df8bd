"""A file system of FUSE whose server lets everybody else wait: whoever closes a file of it, or asks for its facts."""
import ctypes
import errno
import os
import struct
import tempfile
import threading

LOOKUP, FORGET, GETATTR, OPEN, RELEASE, FLUSH, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 18, 25, 26, 36, 42
MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
ROOT, FILE = 1, 2  # nodes
HEADER = struct.Struct("<IIQQIIII")  # length, operation, number, node, uid, gid, thread, padding


def attributes(node):
    mode, links = (0o40755, 2) if node == ROOT else (0o100644, 1)
    return struct.pack("<6Q10I", node, 0, 0, 0, 0, 0, 0, 0, 0, mode, links, 0, 0, 0, 4096, 0)


class SlowFiles:
    """Nobody else sees it: the mount leaves the tree at once, and ends with its process. OSError where the host has no FUSE or
    denies the mount. Between hold() and let_go() others wait."""

    def __init__(self):
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        self.lock, self.held, self.holds = threading.Lock(), [], False
        self.owner = os.getpid()  # its main thread is never made to wait
        libc = ctypes.CDLL(None, use_errno=True)
        with tempfile.TemporaryDirectory(prefix="tailor-slow-") as folder:
            options = f"fd={self.device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}".encode()
            if libc.mount(b"slow", folder.encode(), b"fuse", MS_NOSUID | MS_NODEV, options) != 0:
                error = ctypes.get_errno()
                os.close(self.device)
                raise OSError(error, "FUSE cannot be mounted")
            threading.Thread(target=self.serve, daemon=True).start()
            try:
                self.folder = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            finally:
                libc.umount2(folder.encode(), MNT_DETACH)

    def open(self):
        return os.open("file", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.folder)

    def waiting(self):
        """How many requests of others wait."""
        with self.lock:
            return len(self.held)

    def hold(self):
        with self.lock:
            self.holds = True

    def let_go(self):
        with self.lock:
            held, self.held, self.holds = self.held, [], False
        for number, content in held:
            self.answer(number, content)

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 18)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                return  # it is unmounted
            _, operation, number, node, _, _, thread, _ = HEADER.unpack_from(request)
            content = self.content(operation, node)
            if operation in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            with self.lock:
                waits = self.holds and operation in (FLUSH, GETATTR) and thread != self.owner
                if waits:
                    self.held.append((number, content))
            if not waits:
                self.answer(number, content)

    def content(self, operation, node):
        """None: it is not known here."""
        if operation == INIT:
            return struct.pack("<4I2H2I2H8I", 7, 31, 0, 0, 16, 12, 4096, 1, 0, 0, *[0] * 8)
        if operation == LOOKUP:
            return struct.pack("<4Q2I", FILE, 0, 3600, 0, 0, 0) + attributes(FILE)
        if operation == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + attributes(node)
        return {OPEN: bytes(16), FLUSH: b"", RELEASE: b""}.get(operation)

    def answer(self, number, content):
        body = content or b""
        try:
            os.write(self.device, struct.pack("<IiQ", 16 + len(body), 0 if content is not None else -errno.ENOSYS, number) + body)
        except OSError:  # who asked waits no more
            pass


def can_be_slow():
    """Tried in a process of its own, which takes the mount with it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(SlowFiles().open())
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
