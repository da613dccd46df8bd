"""What an import may cost: names of a million functions in linear time, and memory that hostile files do not grow.

  import_bounds.py TAILOR
"""
import array
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import perf_file

TAILOR = sys.argv[1]
PID, LINES = 4711, 1_000_000
MOST_MEMORY = 1 << 30  # docs/cli.md, "Bounds"
BASE, SIZE = 0x7f00_0000_0000, 0x20


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")
    print(f"ok: {text}", flush=True)


def cost(*arguments):
    """CPU seconds, bytes of memory and the exit code of the program."""
    process = subprocess.Popen([TAILOR, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, process.returncode


# ---- Time ---------------------------------------------------------------------------------------------------------

def at_one_address(lines):
    """Every function takes the place of the one before. The last one counts."""
    return "".join(f"{BASE:x} {SIZE:x} f{i}\n" for i in range(lines)), BASE + 4, lines - 1


def backwards(lines):
    """Each function lies below all that the map had before."""
    wanted = lines // 3
    return ("".join(f"{BASE + (lines - i) * SIZE:x} {SIZE:x} f{i}\n" for i in range(lines)),
            BASE + (lines - wanted) * SIZE + 4, wanted)


def check_names(folder):
    data, names, profile = folder / "perf.data", folder / f"perf-{PID}.map", folder / "names.tailor"
    for order in (at_one_address, backwards):
        seconds = {}
        for lines in (LINES // 2, LINES):
            text, address, wanted = order(lines)
            names.write_text(text)
            perf_file.write(data, [perf_file.comm(1000, PID, "x"), *(perf_file.sample(at, PID, PID, address) for at in range(2000, 2100))])
            tries = [cost("import", data, "-o", profile, "--no-find", "--perf-map", names) for _ in range(2)]
            check(all(code == 0 for _, _, code in tries), f"{lines} lines {order.__name__} are imported, in {tries[0][1] >> 20} MB")
            seconds[lines] = min(used for used, _, _ in tries)
            shown = subprocess.run([TAILOR, "report", str(profile), "--level", "function", "--json"], capture_output=True, text=True, check=True).stdout
            check(f"f{wanted}" in shown and f"f{wanted - 1}" not in shown, f"and the sample has the name f{wanted}")
        # Twice as many take twice as long. A search among all of them for each would take four times.
        ratio = seconds[LINES] / seconds[LINES // 2]
        check(ratio < 3, f"{order.__name__}: {LINES} lines take {seconds[LINES]:.2f} s of CPU time, {ratio:.2f} times those of half of them")


# ---- Memory -------------------------------------------------------------------------------------------------------

def sparse(path, begin, size):
    path.write_bytes(begin)
    os.truncate(path, size)


def endless_records(folder):
    """The header says that there are 64 GB of records, and they are zeros."""
    data = folder / "sparse.data"
    sparse(data, perf_file.header(perf_file.FIELDS, 1 << 36), 1 << 36)
    return data, []


def endless_map(folder):
    """A map of 8 GB without the end of a line."""
    data, names = folder / "named.data", folder / f"perf-{PID}.map"
    perf_file.write(data, [perf_file.comm(1000, PID, "x"), *(perf_file.sample(at, PID, PID, BASE) for at in range(2000, 2100))])
    sparse(names, b"7f0000000000 20 f\n", 1 << 33)
    return data, ["--no-find", "--perf-map", names]


def records_backwards(folder, count=10_000_000, block=1 << 18):
    """400 MB of samples, each one older than the one before, and no word of what is complete: none may leave before the last has come."""
    data, words, newest = folder / "backwards.data", 5, 1 << 40
    fields = perf_file.IP | perf_file.TID | perf_file.TIME | perf_file.PERIOD
    with open(data, "wb") as file:
        file.write(perf_file.header(fields, count * words * 8))
        for first in range(0, count, block):
            size = min(block, count - first)
            content = bytearray(size * words * 8)
            column = memoryview(content).cast("Q")
            column[0::words] = memoryview(array.array("Q", [40 << 48 | perf_file.USER << 32 | 9]) * size)
            column[1::words] = memoryview(array.array("Q", [0x400000]) * size)
            column[2::words] = memoryview(array.array("Q", [PID << 32 | PID]) * size)
            column[3::words] = memoryview(array.array("Q", range(newest - first * 100, newest - (first + size) * 100, -100)))
            column[4::words] = memoryview(array.array("Q", [1_000_000]) * size)
            file.write(content)
    return data, []


def compressed_bomb(folder):
    """360 kB that are 12 GB of records of a kind that nobody knows, by zstd."""
    data, largest, blocks = folder / "bomb.data", 1 << 17, 15_000
    block = (largest << 3 | 1 << 1).to_bytes(3, "little") + b"\x08"  # the byte 8, again and again: a record's head, and its content
    frame = [b"\x28\xb5\x2f\xfd\x00\x38", *[block * blocks] * 6]  # a window of 128 kB, and no size
    records = [struct.pack("<IHH", 81, 0, 8 + len(part)) + part for part in frame]
    perf_file.write(data, [perf_file.comm(1000, PID, "x"), perf_file.sample(2000, PID, PID, BASE), *records])
    return data, []


def check_memory(folder):
    for make in (endless_records, endless_map, compressed_bomb, records_backwards):
        data, more = make(folder)
        seconds, memory, code = cost("import", data, "-o", folder / "hostile.tailor", *more)
        data.unlink()
        check(code in (0, 1, 2, 3), f"{make.__name__}: the import ends by itself, with code {code}, after {seconds:.1f} s of CPU time")
        check(1 << 20 < memory < MOST_MEMORY, f"and takes {memory >> 20} MB of memory")


with tempfile.TemporaryDirectory() as name:
    check_names(pathlib.Path(name))
    check_memory(pathlib.Path(name))
