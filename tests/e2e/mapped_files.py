"""Functions have the names of the file that the process had mapped, not of another one of the same path: one that a
container sees in its place, or one that has taken its place since. A profile keeps the names, so they stay when the process
has ended and its file is gone."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from tailor_env import BIN, BUILD, Daemon, check, run, sampling_denied, skip

if reason := sampling_denied():
    skip(reason)
if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
    skip("new namespaces are not allowed here")
HOST, OUTSIDE, INSIDE = (BUILD / "targets" / name for name in ("plugin_host", "plugin_outside.so", "plugin_inside.so"))


def places(report):
    return [place["where"] for place in report["unattributed_places"] if place["share"] > 0.2]


def begin(command):
    """The process, once it waits for its line."""
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check(process.stdout.readline() == b"ready\n", "the program waits")
    return process


def end(process):
    process.kill()
    process.wait()


def record(daemon, process, profile):
    """Records half a second of it; what `tailor report` says while it lives."""
    process.stdin.write(b"\n")
    process.stdin.flush()
    daemon.tailor("record", "-p", process.pid, "-o", profile, "--seconds", "0.7")
    return report(daemon, profile)


def report(daemon, profile):
    return places(json.loads(daemon.tailor("report", profile, "--json")))


def main():
    with tempfile.TemporaryDirectory() as name, Daemon(frequency=1000) as daemon:
        folder = pathlib.Path(name)
        library, profile = folder / "plugin.so", folder / "p.tailor"
        shutil.copy(OUTSIDE, library)

        process = begin([HOST, library])
        try:
            found = record(daemon, process, profile)
            check("work_outside (plugin.so)" in found, f"an ordinary process has names: {found}")
        finally:
            end(process)
        check("work_outside (plugin.so)" in report(daemon, profile), "also when it has ended")

        process = begin(["unshare", "--mount", "sh", "-c", f"mount --bind {INSIDE} {library} && exec {HOST} {library}"])
        try:
            found = record(daemon, process, profile)
            check("work_inside (plugin.so)" in found, f"a container's library has its own names: {found}")
            check(not any("work_outside" in where for where in found), "and none of the host's")
        finally:
            end(process)
        found = report(daemon, profile)
        check("work_inside (plugin.so)" in found and not any("work_outside" in where for where in found),
              f"the same when it has ended: {found}")

        # Mapped while it is watched: the kernel itself says which file it is.
        shutil.copy(OUTSIDE, library)
        run(BIN / "tailor", "record", "-o", profile, "--", "sh", "-c", f"echo | timeout 1 {HOST} {library}; true")
        check("work_outside (plugin.so)" in report(daemon, profile), "what is mapped later has names too")
        library.unlink()
        shutil.copy(INSIDE, library)
        found = report(daemon, profile)
        check("work_outside (plugin.so)" in found and not any("work_inside" in where for where in found),
              f"after an upgrade of the library it has the names of the one that ran: {found}")
    replaced_before()
    return 0


def reaches_mappings():
    """Whether this process may open what it has mapped itself."""
    folder = pathlib.Path("/proc/self/map_files")
    try:
        next(folder.iterdir()).open("rb").close()
    except (OSError, StopIteration):
        return False
    return True


def replaced_before():
    """Without a daemon: the library is another one when the recording begins. Only its mapping leads to the one that runs."""
    if not reaches_mappings():
        print("not tried: reaching a file through its mapping needs a right (CAP_CHECKPOINT_RESTORE)")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        library, profile = folder / "plugin.so", folder / "p.tailor"
        shutil.copy(OUTSIDE, library)
        process = begin([HOST, library])
        library.unlink()
        shutil.copy(INSIDE, library)
        try:
            process.stdin.write(b"\n")
            process.stdin.flush()
            nobody = {"TAILOR_CONTROL": str(folder / "control.sock"), "TAILOR_SOCKET": str(folder / "agent.sock")}
            run(BIN / "tailor", "record", "-p", process.pid, "-o", profile, "--seconds", "0.7", env=nobody)
        finally:
            end(process)
        rows = json.loads(run(BIN / "tailor", "report", profile, "--level", "function", "--json"))["functions"]
        most = max(rows, key=lambda row: row["share"])
        check(most["name"] == "work_outside" and not any(row["name"] == "work_inside" for row in rows),
              f"the library was replaced before the recording began: {most['name']}")


if __name__ == "__main__":
    sys.exit(main())
