"""A store keeps the names of the functions that were hit: its reports say them when the program was removed, and another one has
its path. The twin is the same program without names: nothing that came later gives it any."""
import json
import pathlib
import shutil
import tempfile

from tailor_env import BIN, Daemon, check, run, sampling_denied, skip


def functions(daemon):
    return json.loads(run(BIN / "tailor", "report", "--level", "function", "--json", env=daemon.env))["functions"]


def recorded(folder, stripped):
    """Functions of the engine by what the store says, when another program is in the place of the engine."""
    program = folder / "engine"
    program.unlink(missing_ok=True)
    if stripped:
        run("strip", "-o", program, BIN / "weft")
    else:
        shutil.copy(BIN / "weft", program)
    with Daemon(frequency=997, options=["--callchain"]) as daemon:
        run(program, "--sf", "1", "--threads", "1", "--repeat", "5", "--quiet", "--query", "tpch-1", env=daemon.env)
        program.unlink()
        shutil.copy(BIN / "tailor", program)
        check(daemon.stop() == 0, "the daemon ends")
        return [row["name"] for row in functions(daemon) if "weft" in row["name"]]


def main():
    with tempfile.TemporaryDirectory(prefix="tailor-names-") as name:
        folder = pathlib.Path(name)
        found = recorded(folder, stripped=False)
        check(found, f"the store has the names of what ran: {found[:3]}")
        found = recorded(folder, stripped=True)
        check(not found, f"what had no names gets none: {found[:3]}")


if __name__ == "__main__":
    if reason := sampling_denied():
        skip(reason)
    main()
