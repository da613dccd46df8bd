"""Tailor installed as its users install it, in a root of its own, and a view of this host in which it lies in /usr.

Debian packages go into a root that dpkg knows (Root). installed() puts the same files there without packages. view() gives a
command that runs another one with this root's /usr over the host's: paths are those of an installation, and nothing is changed
on the host.
"""
import os
import pathlib
import shutil
import subprocess

from tailor_env import BUILD, ROOT, check, run

PG = "postgresql-15-tailor"
NAMES = {"tailord", "tailor", "libtailor-agent2", "libtailor-agent-dev", "tailor-clock-dkms", "tailor-jvm", PG}
LIBRARY = "usr/lib/x86_64-linux-gnu"
TOOLS = ("cpack", "dpkg", "dpkg-deb", "dpkg-shlibdeps", "systemd-sysusers", "file")

# A view: $1 is the installation's root, $2 an empty folder; the rest is the command. What it writes to /etc, /var/lib and /opt goes to
# memory, and /run is its own. Only the configuration is taken from the root's /etc: its users are not the host's.
VIEW = r"""
set -e
root=$1 scratch=$2
shift 2
mount -t tmpfs tmpfs "$scratch"
mkdir -p "$scratch/settings"
[ ! -d "$root/etc/tailor" ] || cp -r "$root/etc/tailor" "$scratch/settings/"
[ ! -d "$root/usr/etc/tailor" ] || cp -r "$root/usr/etc/tailor" "$scratch/settings/"
mkdir "$scratch/nothing"
over() {
  mkdir -p "$scratch/upper/$1" "$scratch/work/$1"
  mount -t overlay overlay -o "lowerdir=$2:/$1,upperdir=$scratch/upper/$1,workdir=$scratch/work/$1" "/$1"
}
over etc "$scratch/settings"
over var/lib "$scratch/nothing"
over opt "$scratch/nothing"
mount -t overlay overlay -o "ro,lowerdir=$root/usr:/usr" /usr
mount -t tmpfs -o mode=755 tmpfs /run
exec "$@"
"""


def packages(folder, version=None):
    """Builds the packages; returns them by name."""
    run(ROOT / "deploy/debian/build.sh", BUILD, folder, *([version] if version else []), timeout=900)
    found = {run("dpkg-deb", "-f", file, "Package").strip(): file for file in pathlib.Path(folder).glob("*.deb")}
    check(set(found) == NAMES, f"packages: {sorted(found)}")
    return found


class Root:
    """A root that dpkg installs into. Scripts run outside, and know it by DPKG_ROOT."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder)
        for name in ("info", "updates"):
            (self.path / "var/lib/dpkg" / name).mkdir(parents=True)
        (self.path / "var/lib/dpkg/status").touch()
        (self.path / "etc").mkdir(exist_ok=True)

    def dpkg(self, *arguments):
        return run("dpkg", f"--root={self.path}", "--force-script-chrootless", "--force-depends", "--force-confold", f"--log={self.path}/log",
                   *arguments)

    def state(self, name):
        done = subprocess.run(["dpkg-query", f"--admindir={self.path}/var/lib/dpkg", "-W", "-f=${Status} ${Version}", name],
                              capture_output=True, text=True)
        return done.stdout

    def run(self, program, *arguments, expect=0):
        return run(self.path / program, *arguments, env={"LD_LIBRARY_PATH": str(self.path / LIBRARY)}, expect=expect)


def installed(folder, *components):
    """Installs these parts of the build below `folder`/usr. It compiles nothing. Returns the root."""
    root = pathlib.Path(folder)
    for component in components:
        run("cmake", "--install", BUILD, "--prefix", root / "usr", "--component", component)
    return root


def view(root, scratch):
    """The words before a command that runs it in a view of this host with the root's /usr over its own; or why that is denied."""
    pathlib.Path(scratch).mkdir()
    if shutil.which("unshare") is None:
        return None, "unshare is missing"
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", VIEW, "view", str(root), str(scratch)]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        return None, (tried.stderr.strip() or "it ended badly") if os.geteuid() == 0 else "only root may mount"
    return words, None
