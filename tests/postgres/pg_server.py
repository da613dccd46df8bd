"""A private PostgreSQL server in a temporary folder, on a UNIX socket, run by a user without rights.

TAILOR_PG_BIN and TAILOR_PG_LIB name its programs and the folder with tailor_pg.so and tailor_pg_probe.so, TAILOR_PG_TWINS the
folder of tests' twins.
"""
import atexit
import concurrent.futures
import dataclasses
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from reach import unprivileged, within_reach
from tailor_env import BIN, bpf_denied, check, of_count, skip

# The whole installation: programs find their files beside them.
GIVEN = [pathlib.Path(os.environ["TAILOR_PG_BIN"]).parent, pathlib.Path(os.environ["TAILOR_PG_LIB"])]
if "TAILOR_PG_TWINS" in os.environ:
    GIVEN.append(pathlib.Path(os.environ["TAILOR_PG_TWINS"]))
INSTALLATION, PG_LIB, *TWINS = within_reach(GIVEN)
PG_BIN = INSTALLATION / "bin"
TWINS = TWINS[0] if TWINS else None

FUNCTIONS = """
create function probe(int, int) returns int as 'tailor_pg_probe', 'pg_probe' language c stable parallel safe cost 1;
create function probe_v(int, int) returns int as 'tailor_pg_probe', 'pg_probe' language c volatile parallel safe cost 1;
create function probe_counts() returns text as 'tailor_pg_probe', 'pg_probe_counts' language c volatile parallel unsafe;
create function burn(int, int) returns int as 'tailor_pg_probe', 'pg_burn' language c stable parallel safe cost 1;
create function burnt_ns() returns bigint as 'tailor_pg_probe', 'pg_burnt_ns' language c volatile parallel unsafe;
create function stolen_ns() returns bigint as 'tailor_pg_probe', 'pg_stolen_ns' language c volatile parallel unsafe;
create function tailor_last_execution() returns text as 'tailor_pg', 'tailor_pg_last_execution' language c volatile;
create function tailor_last_plan() returns text as 'tailor_pg', 'tailor_pg_last_plan' language c volatile;
"""


def history_functions():
    """What the extension's script makes for SQL: functions that ask tailord."""
    script = pathlib.Path(__file__).parents[2] / "agent/postgres/tailor_pg--1.0--1.1.sql"
    lines = script.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("\\")).replace("MODULE_PATHNAME", "tailor_pg")


def together(*works):
    """What they return. Each works with a server of its own, so that both of a machine's cores have something to do."""
    with concurrent.futures.ThreadPoolExecutor(len(works)) as pool:
        all_done = [pool.submit(work) for work in works]
    ends = [error for done in all_done if (error := done.exception()) is not None]
    # A failure of one counts for more than that another could not judge.
    for error in sorted(ends, key=lambda error: isinstance(error, SystemExit) and error.code == 77):
        raise error
    return [done.result() for done in all_done]


@dataclasses.dataclass
class Burnt:
    """What burn() used: CPU time by the thread's clock, and time that the host gave to others meanwhile.

    A sample stands for time in which the thread had its CPU. A virtual CPU that the host stops goes on to have it, and the clock
    does not count. What was stolen in a piece longer than a sample's period is one sample, so found is somewhere between both.
    """
    cpu: int = 0
    stolen: int = 0

    def __add__(self, other):
        return Burnt(self.cpu + other.cpu, self.stolen + other.stolen)

    def slack(self, frequency):
        """95 to 105 % are right, and what chance does beside it to so many samples."""
        return 0.05 + of_count(self.cpu / 1e9 * frequency)

    def found_in(self, ns, frequency):
        """Whether `ns` of samples can be this."""
        slack = self.slack(frequency)
        return self.cpu * (1 - slack) <= ns <= (self.cpu + self.stolen) * (1 + slack)

    def text(self, ns, frequency):
        return (f"{ns / max(1, self.cpu):.1%} of {self.cpu / 1e6:.0f} ms are found (allowed: within {self.slack(frequency):.1%}, "
                f"and {self.stolen / max(1, self.cpu):.1%} more that the host took)")

    @staticmethod
    def read(session):
        """Since the last call."""
        return Burnt(*map(int, session.sql("select burnt_ns(), stolen_ns()")[0].split("|")))


class Listener:
    """Takes the place of tailord: accepts agents, reads what they say, answers nothing."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(str(path))
        os.chmod(path, 0o777)
        self.socket.listen(128)
        self.packets = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self.drain, args=(connection,), daemon=True).start()

    def drain(self, connection):
        try:
            while connection.recv(1 << 16):
                self.packets += 1
        except OSError:
            pass


def measuring(daemon):
    """Makes the sockets of a tailord reachable for the server's user. Skips where this host lets nobody read slots."""
    os.chmod(daemon.folder.name, 0o755)
    os.chmod(daemon.socket, 0o777)
    if reason := bpf_denied():
        skip(f"tags in memory are read by BPF: {reason}")
    probe = subprocess.run([str(BIN / "tailor"), "record", "--sampler", "bpf", "-o", "/dev/null", "--", "true"],
                           capture_output=True, text=True, check=False)
    check(probe.returncode == 0, f"this host allows BPF, and tailor samples by it {probe.stderr.strip()}")
    return daemon


class Session:
    """A psql that stays connected. `options`: more of psql's, the last counts."""

    def __init__(self, server, *options):
        self.psql = subprocess.Popen(server.psql(*options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     text=True, bufsize=1)

    def sql(self, text):
        """What it prints for `text`, as lines."""
        self.psql.stdin.write(f"{text.rstrip(';')};\n\\echo end-of-answer\n")
        self.psql.stdin.flush()
        lines = []
        for line in self.psql.stdout:
            if line.strip() == "end-of-answer":
                return lines
            lines.append(line.rstrip("\n"))
        return lines

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.psql.stdin.close()
        self.psql.wait(timeout=60)


class Server:
    """Use as a context manager. `library` is the tailor_pg to load; `agent` the socket of a daemon; `programs` the folder of another
    installation of the same version."""

    first_data = None
    making = threading.Lock()

    def __init__(self, agent=None, library=PG_LIB, settings=(), preload="tailor_pg,tailor_pg_probe", functions=FUNCTIONS,
                 programs=PG_BIN):
        self.user, self.programs = unprivileged(), programs
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tailor-pg-"))
        self.data = self.folder / "data"
        self.agent = agent or self.folder / "agent.sock"
        self.settings = {
            "listen_addresses": "", "unix_socket_directories": self.folder, "fsync": "off", "shared_buffers": "64MB",
            "max_connections": 40, "dynamic_library_path": f"{library}:{PG_LIB}:$libdir", "autovacuum": "off",
            "shared_preload_libraries": preload, "tailor.socket": self.agent, "logging_collector": "off",
            "max_wal_size": "1GB", "jit": "off", **dict(settings)}
        self.functions = functions

    def as_user(self):
        if not self.user:
            return {}
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}

    def run(self, *command, **options):
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=self.folder, timeout=120,
                              env={**os.environ, "LC_ALL": "C.UTF-8", "HOME": str(self.folder)}, **self.as_user(), **options)
        if done.returncode != 0:
            print(f"FAILED: {' '.join(map(str, command))}", done.stdout[-2000:], done.stderr[-2000:], self.log()[-2000:], sep="\n")
            sys.exit(1)
        return done.stdout

    def give_to_user(self, folder):
        os.chmod(folder, 0o755)
        if self.user:
            os.chown(folder, self.user.pw_uid, self.user.pw_gid)

    def made_once(self):
        """The data folder that all servers of a test begin with: making one takes longer than copying it."""
        with Server.making:
            return self.make_first()

    def make_first(self):
        if not Server.first_data:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="tailor-pg-first-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            self.give_to_user(folder)
            self.run(PG_BIN / "initdb", "-D", folder / "data", "-A", "trust", "-U", "tester", "--no-sync", "-E", "UTF8",
                     "--locale=C.UTF-8")
            Server.first_data = folder / "data"
        return Server.first_data

    def __enter__(self):
        self.give_to_user(self.folder)
        self.run("cp", "-a", self.made_once(), self.data)
        self.start()
        if self.functions:
            self.sql(self.functions)
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        with open(self.data / "postgresql.auto.conf", "w", encoding="utf-8") as file:
            file.writelines(f"{key} = '{value}'\n" for key, value in self.settings.items())
        self.run(self.programs / "pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "-t", "60", "start")

    def stop(self, mode="fast"):
        subprocess.run([str(self.programs / "pg_ctl"), "-D", str(self.data), "-w", "-m", mode, "stop"], capture_output=True,
                       cwd=self.folder, check=False, **self.as_user())

    def log(self):
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def major(self):
        return int(self.sql("show server_version_num")) // 10000

    def postmaster(self):
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def kill(self, pid, how=signal.SIGKILL):
        os.kill(pid, how)

    def psql(self, *options):
        return [str(PG_BIN / "psql"), "-X", "-q", "-A", "-t", "-h", str(self.folder), "-U", "tester", "-d", "postgres",
                *map(str, options)]

    def sql(self, text, fails=False):
        """What a session prints that runs `text`. An error ends the test, unless `fails`."""
        done = subprocess.run(self.psql("-v", f"ON_ERROR_STOP={0 if fails else 1}"), input=text, capture_output=True,
                              text=True, timeout=500, check=False, cwd="/", env={**os.environ, "PGAPPNAME": "test"})
        if done.returncode != 0 and not fails:
            check(False, f"psql: {text[:300]}\n{done.stderr[-2000:]}")
        return done.stdout
