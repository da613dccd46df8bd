"""BPF programs that come and go while a program is recorded: each sample has the name of the one that ran, though all are gone when
the report is made, and one took the place of the other."""
import json
import pathlib
import subprocess
import sys
import tempfile

from tailor_env import BIN, about, bpf_denied, check, run, sampling_denied, skip, until_enough

if reason := sampling_denied() or bpf_denied():
    skip(reason)
if pathlib.Path("/proc/sys/net/core/bpf_jit_enable").read_text().strip() == "0":
    skip("BPF programs are interpreted here: they have no code of their own")

# Loads a program, lets the kernel run it for a CPU time, unloads it; then another one. Says how long each ran.
TARGET = r"""
import ctypes, os, struct, sys, time
BPF, LOAD, TEST_RUN, SOCKET_FILTER = 321, 5, 10, 1
libc = ctypes.CDLL(None, use_errno=True)

def bpf(command, attr):
    buffer = ctypes.create_string_buffer(attr + bytes(128 - len(attr)), 128)
    done = libc.syscall(BPF, ctypes.c_int(command), buffer, ctypes.c_uint(128))
    if done < 0:
        sys.exit("bpf: " + os.strerror(ctypes.get_errno()))
    return done

def load(name, loops):
    # r1 = loops; do r1 -= 1 while r1 != 0; r0 = 0; exit
    code = b"".join(struct.pack("<BBhi", *each) for each in
                    [(0xB7, 1, 0, loops), (0x17, 1, 0, 1), (0x55, 1, -2, 0), (0xB7, 0, 0, 0), (0x95, 0, 0, 0)])
    text, licence = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
    return bpf(LOAD, struct.pack("<IIQQIIQII16s", SOCKET_FILTER, 5, ctypes.addressof(text), ctypes.addressof(licence),
                                 0, 0, 0, 0, 0, name))

def spend(program, seconds):
    packet = ctypes.create_string_buffer(64)
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        bpf(TEST_RUN, struct.pack("<IIIIQQII", program, 0, 64, 0, ctypes.addressof(packet), 0, 200, 0))
    return time.thread_time() - begin

work = float(sys.argv[1])
for name, loops in ((b"tailor_one", 8000), (b"tailor_two", 8001)):
    program = load(name, loops)
    print(name.decode(), spend(program, work))
    os.close(program)
    time.sleep(0.2)
"""


def measure(work):
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder) / "bpf.tailor"
        said = run(BIN / "tailor", "record", "-o", profile, "--", sys.executable, "-c", TARGET, str(0.4 * work))
        report = json.loads(run(BIN / "tailor", "report", profile, "--level", "function", "--json"))
        spent = dict(line.split() for line in said.splitlines() if line.startswith("tailor_"))
        return {name: float(seconds) for name, seconds in spent.items()}, report["functions"]


def of_bpf(rows):
    return [row for row in rows if row["object"] == "[bpf]"]


spent, rows = until_enough(400, lambda measured: sum(row["samples"] for row in of_bpf(measured[1])), measure)
check(set(spent) == {"tailor_one", "tailor_two"}, f"what ran: {spent}")
check("tailor_" not in pathlib.Path("/proc/kallsyms").read_text(), "the programs are gone")
samples = {}
for row in of_bpf(rows):
    name = row["name"].split("_", 3)[-1] if row["name"].startswith("bpf_prog_") else row["name"]
    samples[name] = samples.get(name, 0) + row["samples"]
both = samples.get("tailor_one", 0) + samples.get("tailor_two", 0)
share = spent["tailor_one"] / sum(spent.values())


def fits(one):
    return about(one, both, share, 0.2)  # a hypervisor takes time from one and not from the other


check(fits(samples.get("tailor_one", 0)), f"{samples}: the first has its share of the CPU time, {share:.2f}")
check(not fits(0) and not fits(both), "a name by what was loaded last, or first, would not pass")
