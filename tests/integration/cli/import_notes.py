"""A report of a perf.data says what `tailor import` says of it: files that name code, and what of them could not be used."""
import pathlib
import struct
import subprocess
import sys
import tempfile

TAILOR = sys.argv[1]
PID = 4711


def record(kind, body, misc=0):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def perf_data(samples):
    """What `perf record -o -` writes: the event cpu-clock, and samples with address, thread and time."""
    attr = bytearray(128)
    struct.pack_into("<IIQQQ", attr, 0, 1, len(attr), 0, 1000, 0x7)  # PERF_TYPE_SOFTWARE, IP | TID | TIME
    struct.pack_into("<Q", attr, 40, 1 << 18)  # sample_id_all
    out = struct.pack("<8sQ", b"PERFILE2", 16) + record(64, bytes(attr) + struct.pack("<Q", 1))
    for time, address in enumerate(samples, 100):
        out += record(9, struct.pack("<QIIQ", address, PID, PID, time), misc=2)
    return out


def said(*arguments):
    done = subprocess.run([TAILOR, *map(str, arguments)], capture_output=True, text=True, timeout=50)
    if done.returncode != 0:
        sys.exit(f"tailor {arguments}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr.splitlines()


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    data, names = folder / "perf.data", folder / f"perf-{PID}.map"
    data.write_bytes(perf_data([0x7010, 0x7020]))
    for text, word in (("7000 100 hot\nno line of a map\n", "1 lines could not be used"), ("nonsense\n", "names nothing")):
        names.write_text(text)
        imported = [line for line in said("import", data, "-o", folder / "p.tailor") if str(names) in line]
        if not any(word in line for line in imported):
            sys.exit(f"import does not say \"{word}\": {imported}")
        for command in (("report", data), ("report", data, "--level", "function", "--json"), ("flame", data)):
            reported = said(*command)
            if [line for line in reported if str(names) in line] != imported:
                sys.exit(f"{command} says {reported}, and not once each of {imported}")
print("ok")
