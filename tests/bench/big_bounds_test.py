"""What is measured beside its bound: one that is missed is seen, also where a greater figure is better."""
import pathlib
import struct
import tempfile

import big_bounds
import perf_file
from tailor_env import check

for value, most, least, missed in ((0.3, 0.3, None, False), (0.31, 0.3, None, True), (5, None, 5, False), (4.9, None, 5, True)):
    each = big_bounds.figure("report", "s", value, most, least)
    check(big_bounds.is_missed(each) == missed, f"{value} with at most {most} and at least {least}")
    check(big_bounds.line_of(each).startswith("MISSED" if missed else "kept"), big_bounds.line_of(each))

# Samples with chains are as long as is said, and each chain begins where its sample is.
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "perf.data"
    for frames in (0, big_bounds.FRAMES):
        perf_file.write_many(file, 10, frames=frames)
        size = perf_file.bytes_of_many(frames)
        content = file.read_bytes()[: -len(perf_file.FINISHED_ROUND)]
        records = [content[len(content) - (10 - at) * size :][:size] for at in range(10)]
        heads = {struct.unpack_from("<IHH", record) for record in records}
        check(heads == {(9, perf_file.USER, size)}, f"samples of {size} bytes: {heads}")
        for record in records if frames else ():
            (ip,), chain = struct.unpack_from("<Q", record, 8), struct.unpack_from(f"<{frames + 2}Q", record, 40)
            check(chain[:3] == (frames + 1, perf_file.USER_FRAMES, ip), f"{frames} frames, from {ip:#x} on")
