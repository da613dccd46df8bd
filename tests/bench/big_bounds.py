#!/usr/bin/env python3
"""What big profiles may take: each figure beside its bound. Ends with 1 where one is missed.

Times are medians, memory is the most of all runs. Profiles are made anew (build/bench-programs/many_samples, and perf.data
by tests/support/perf_file.py); the report file is of a query of weft that is recorded, which needs samples. Figures of the page
need Chromium. The file of --report-millions takes a gigabyte for a hundred millions.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support"), str(pathlib.Path(__file__).parent)]
import paired
import perf_file
from big_profiles import first_picture, in_browser, made, of_node
from report import measured
from tailor_env import BIN

FRAMES = 20
PAGE_KILOBYTES, TIMES_PROFILE = 250, 1.5  # of a report file


def figure(name, unit, value, most=None, least=None):
    return {"name": name, unit: value, "most": most, "least": least}


def value_of(each):
    return next((unit, value) for unit, value in each.items() if unit not in ("name", "most", "least"))


def is_missed(each):
    _, value = value_of(each)
    return (each["most"] is not None and value > each["most"]) or (each["least"] is not None and value < each["least"])


def line_of(each):
    unit, value = value_of(each)
    bound = f"at least {each['least']:g}" if each["most"] is None else f"at most {each['most']:g}"
    return f"{'MISSED' if is_missed(each) else 'kept  '}  {each['name']}: {value:.4g} {unit} ({bound})"


def taken(command, runs):
    """Median of the wall seconds, and the most MB. The first run reads the file, and does not count."""
    all_runs = [measured(command) for _ in range(runs + 1)]
    return sorted(wall for _, wall, _ in all_runs[1:])[runs // 2], max(memory for _, _, memory in all_runs)


def of_reports(file, what, runs):
    tailor = BIN / "tailor"
    operators, memory = taken([tailor, "report", file], runs)
    functions, memory_of_functions = taken([tailor, "report", file, "--level", "function"], runs)
    yield figure(f"report of {what}, operators", "s", operators, most=0.3)
    yield figure(f"report of {what}, operators, memory", "MB", memory, most=200)
    yield figure(f"report of {what}, functions", "s", functions, most=1)
    yield figure(f"report of {what}, functions, memory", "MB", memory_of_functions, most=200)
    asked = {"timeline": ["timeline", file], "list": ["list", file], "sql": ["sql", file, "-q", "SELECT count(*), sum(weight) FROM samples"]}
    for name, command in asked.items():
        yield figure(f"{name} of {what}, memory", "MB", taken([tailor, *command], 1)[1], most=200)
    yield figure(f"CSV of {what}, memory", "MB", taken([tailor, "export", file, "--format", "csv", "-o", "-"], 1)[1], most=100)


def of_the_page(file, what, runs):
    pictures = [first_picture(file) for _ in range(runs)]
    yield figure(f"summary of {what} from the server, since its start", "s", sorted(first for first, _, _ in pictures)[runs // 2], most=1)
    yield figure(f"server of {what}, sums and slices, memory", "MB", max(memory for _, _, memory in pictures), most=300)
    page = in_browser(file)
    if page is None:
        return
    yield figure(f"first picture of {what}", "ms", page["picture_ms"], most=1000)
    yield figure(f"zoom in {what}", "ms", page["zoom_ms"], most=100)
    yield figure(f"page of {what}, memory of its JavaScript", "MB", page["heap_megabytes"], most=300)
    yield figure(f"server of {what}, after a zoom to single samples, memory", "MB", page["server_megabytes"], most=300)


def of_points(points):
    page = of_node("brush_page.mjs", str(points))
    if page is not None:
        yield figure(f"brush step over {points:,} accesses to memory", "ms", page["median_ms"], most=60)


def of_imports(folder, samples, runs):
    """Chains make a sample long, so there are fewer of them."""
    for frames, least in ((0, 5), (FRAMES, 2)):
        count = samples if frames == 0 else samples // 4
        data = folder / "perf.data"
        perf_file.write_many(data, count, frames=frames)
        wall, _ = taken([BIN / "tailor", "import", data, "--no-find", "-o", folder / "imported.tailor"], runs)
        data.unlink()
        kind = f"with chains of {frames}" if frames else "without chains"
        yield figure(f"import of {count:,} samples {kind}", "M/s", count / wall / 1e6, least=least)


def of_a_report_file(folder, repeat):
    profile, page = folder / "recorded.tailor", folder / "report.html"
    subprocess.run([BIN / "weft", "load-tpch", "--sf", "0.01"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([BIN / "tailor", "record", "-o", profile, "--", BIN / "weft", "--sf", "0.01", "--threads", "2", "--quiet", "--query",
                    "tpch-3", "--repeat", str(repeat)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([BIN / "tailor", "report", profile, "--html", page], check=True, stdout=subprocess.DEVNULL)
    bytes_of_profile = os.path.getsize(profile)
    yield figure(f"report file of a profile of {bytes_of_profile / 1000:.0f} KB", "KB", os.path.getsize(page) / 1000,
                 most=round(PAGE_KILOBYTES + TIMES_PROFILE * bytes_of_profile / 1000))


def figures(options, folder):
    small, large = (f"{millions:g} M samples" for millions in (options.page_millions, options.report_millions))
    yield from of_a_report_file(folder, options.repeat)
    yield from of_imports(folder, round(options.page_millions * 1e6), options.runs)
    yield from of_points(options.points)
    file = made(options.folder or folder, options.page_millions)
    yield from of_the_page(file, small, options.runs)
    yield from of_reports(file, small, options.runs)
    file = made(options.folder or folder, options.report_millions)
    yield figure(f"report of {large}, operators", "s", taken([BIN / "tailor", "report", file], options.runs)[0], most=2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page-millions", type=float, default=10)
    parser.add_argument("--report-millions", type=float, default=100)
    parser.add_argument("--points", type=int, default=1_000_000, help="accesses to memory")
    parser.add_argument("--repeat", type=int, default=60, help="of the query whose profile the report file holds")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", help="where the profiles are, or are left (default: made and removed)")
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as name:
        for each in figures(options, pathlib.Path(name)):
            found.append(each)
            print(line_of(each), flush=True)
    rows = [{key: value for key, value in each.items() if key not in ("most", "least")} for each in found]
    missed = sum(map(is_missed, found))
    paired.report("big_bounds", f"{len(found) - missed} of {len(found)} bounds are kept, on {paired.machine()}",
                  {"rows": rows, "options": vars(options)})
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
