"""Where the user who runs a server finds its programs and libraries.

A checkout may lie in a folder that only its owner may enter, as root's home is. Then servers are given copies.
"""
import atexit
import os
import pathlib
import pwd
import shutil
import tempfile

from tailor_env import skip


def unprivileged():
    """The user who runs servers: the one who runs the test, but never root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


def is_open_to_others(folder):
    """Whether everybody may enter it, and all folders around it."""
    folder = folder.resolve()
    return all(each.stat().st_mode & 0o001 for each in (folder, *folder.parents))


def within_reach(folders):
    """These folders. Instead of one that the server's user cannot enter, a copy."""
    user = unprivileged()
    closed = {folder for folder in folders if user and not is_open_to_others(folder)}
    if not closed:
        return folders
    copies = pathlib.Path(tempfile.mkdtemp(prefix="tailor-pg-files-"))
    atexit.register(shutil.rmtree, copies, ignore_errors=True)
    os.chmod(copies, 0o755)
    return [copy_of(folder, copies / str(number)) if folder in closed else folder for number, folder in enumerate(folders)]


def copy_of(folder, place):
    """A copy below `place`, with the libraries of the wheel that it may be a part of: programs find those by relative paths."""
    package = folder.parent
    libraries = package.with_name(package.name + ".libs")
    if libraries.is_dir():
        shutil.copytree(libraries, place / libraries.name, symlinks=True)
    return shutil.copytree(folder, place / package.name / folder.name, symlinks=True)
