"""Files of processes that end before anybody looks: those of a container, too, have their build ids, because the processes that
began them still show the same files."""
import csv
import io
import pathlib
import subprocess
import tempfile

from tailor_env import BIN, check, run, sampling_denied, skip, until_enough

WANTED = 300
LIVES = 300
PLACES = """
  SELECT coalesce(sum(n), 0) AS samples, coalesce(sum(CASE WHEN build_id IS NULL THEN 0 ELSE n END), 0) AS known
  FROM places JOIN (SELECT function, code_address, count(*) AS n FROM samples GROUP BY 1, 2) USING (function, code_address)
  WHERE path LIKE '/%'"""
# $1: an empty directory.
OVERLAY = """
set -e
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
"""
# The rest is run in it.
CONTAINER = OVERLAY + """
root=$1/root
shift
exec chroot "$root" "$@"
"""


def apart(script, folder, *command):
    return ["unshare", "--mount", "sh", "-c", script, "sh", folder, *command]


def lives(number):
    return ["sh", "-c", f"i=0; while [ $i -lt {number} ]; do env true; i=$((i + 1)); done"]


def known_files(profile):
    """Samples in files, and those of them in files with a build id."""
    row = next(csv.DictReader(io.StringIO(run(BIN / "tailor", "sql", "--csv", profile, "-q", PLACES))))
    return int(row["samples"]), int(row["known"])


def record(folder, contained, times):
    profile = folder / "p.tailor"
    command = lives(LIVES * times)
    run(BIN / "tailor", "record", "-q", "-F", "4999", "-o", profile, "--",
        *(apart(CONTAINER, folder / "root", *command) if contained else command))
    return known_files(profile)


def main():
    with tempfile.TemporaryDirectory(prefix="tailor-lives-") as name:
        folder = pathlib.Path(name)
        (folder / "root").mkdir()
        where = [(False, "of this host")]
        if subprocess.run(apart(OVERLAY, folder / "root"), capture_output=True).returncode == 0:
            where.append((True, "of a container"))
        for contained, text in where:
            samples, known = until_enough(WANTED, lambda found: found[0], lambda times: record(folder, contained, times))
            # Nobody shows the files of those that end together with their container: the more, the busier the host is. Without a look
            # at the roots of those who began them it is one in 25.
            check(known >= 0.2 * samples, f"processes {text} that live for a millisecond: {known} of {samples} samples in files are in "
                  "files with a build id")
        if len(where) == 1:
            skip("no overlay can be mounted here")


if __name__ == "__main__":
    if reason := sampling_denied():
        skip(reason)
    main()
