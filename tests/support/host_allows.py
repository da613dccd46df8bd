"""Whether this host lets anybody sample: asked of the kernel itself, and never of the recorder under test. So a recorder that is
broken fails its tests, and only a host that denies lets them be skipped.

As a program: host_allows.py [sampling|bpf] ends with 0, or prints why not and ends with 1.
"""
import ctypes
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

PERF_EVENT_OPEN, BPF = 298, 321  # x86-64
EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR, DISABLED = 1 << 5, 1 << 6, 1 << 0


def perf_event_open(pid, cpu, flags):
    """A timer of a millisecond. None, or why it is denied."""
    libc = ctypes.CDLL(None, use_errno=True)
    # type: software, size, config: cpu-clock, period in ns, sample_type: IP, read_format, flags; the rest is zero.
    attr = struct.pack("<IIQQQQQ", 1, 128, 0, 1_000_000, 1, 0, flags) + bytes(128 - 48)
    fd = libc.syscall(PERF_EVENT_OPEN, attr, ctypes.c_int(pid), ctypes.c_int(cpu), ctypes.c_int(-1), ctypes.c_ulong(8))
    if fd < 0:
        return f"perf_event_open: {os.strerror(ctypes.get_errno())}"
    os.close(fd)
    return None


def sampling_denied():
    """Why this process may not sample the programs that it starts, or None."""
    return perf_event_open(0, -1, DISABLED | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR)


def bpf_denied():
    """Why this process may not load a BPF program that looks at all CPUs, or None."""
    if not pathlib.Path("/sys/kernel/btf/vmlinux").exists():
        return "the kernel has no BTF"
    if reason := perf_event_open(-1, 0, DISABLED):
        return f"of all processes: {reason}"
    # r0 = 0; exit
    program = ctypes.create_string_buffer(bytes([0xB7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0]), 16)
    licence = ctypes.create_string_buffer(b"GPL")
    # prog_type: perf_event, insn_cnt, insns, license; the rest is zero.
    attr = struct.pack("<IIQQ", 7, 2, ctypes.addressof(program), ctypes.addressof(licence)) + bytes(128 - 24)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(BPF, ctypes.c_int(5), attr, ctypes.c_uint(len(attr)))
    if fd < 0:
        return f"bpf: {os.strerror(ctypes.get_errno())}"
    os.close(fd)
    return None


def perf_tool_denied():
    """Why `perf record` does not work here by itself, or None."""
    if shutil.which("perf") is None:
        return "perf is not installed"
    with tempfile.NamedTemporaryFile() as file:
        done = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-o", file.name, "--", "true"], capture_output=True, text=True)
    return None if done.returncode == 0 else f"perf cannot record here: {done.stderr.strip()[-500:]}"


if __name__ == "__main__":
    why = bpf_denied() if "bpf" in sys.argv else sampling_denied()
    if why:
        print(why)
        sys.exit(1)
