"""Python modules out of .proto files, as anybody makes them: protoc --python_out."""
import shutil
import subprocess
import sys

from tailor_env import skip


def generate(root, files, out):
    """Writes the modules of `files`, which lie below `root`, to the folder `out`."""
    if not shutil.which("protoc"):
        skip("protoc is not installed (protobuf-compiler)")
    try:
        import google.protobuf  # noqa: F401
    except ImportError:
        skip(f"{sys.executable} has no protobuf (.dev/requirements.txt)")
    subprocess.run(["protoc", f"--proto_path={root}", f"--python_out={out}", *files], check=True)
