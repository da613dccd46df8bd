"""What this version's agent says is understood by the daemon of every tagged version: its messages are fields that
version knows, so such a daemon rejects none of them. Fields that were added to a message are passed over there."""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

from generated import generate
from tailor_env import BUILD, ROOT, check

sys.path.insert(0, str(ROOT / "tests/fixtures"))
from record_version import answers  # noqa: E402

READER = """
import sys
sys.path.insert(0, sys.argv[1])
from tailor.v1 import registration_pb2
bodies = set()
for line in sys.stdin:
    message = registration_pb2.AgentMessage()
    message.ParseFromString(bytes.fromhex(line))
    body = message.WhichOneof("body")
    if message.tsc == 0 or (body is None) == (message.payload_bytes == 0):
        sys.exit(f"unknown to that daemon: {message}")
    bodies.add(body or "payload")
print(" ".join(sorted(bodies)))
"""


def conversation():
    """All packets of this version's engine, which is told the words of an older daemon."""
    packets = []
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        path = os.path.join(folder, "agent.sock")
        listener.bind(path)
        listener.listen(1)
        engine = subprocess.Popen([BUILD / "targets/conversation_engine"], env={**os.environ, "TAILOR_SOCKET": path})
        agent, _ = listener.accept()
        with agent:
            while True:
                data, descriptors, _, _ = socket.recv_fds(agent, 64 * 1024, 4)
                if not data:
                    break
                if b"\x08" == data[:1] and len(data) < 64 and descriptors:  # an announcement, or an arena
                    content = os.pread(descriptors[0], 1 << 20, 0)
                    if not content.startswith(b"TALARENA"):
                        packets.append(content)
                packets.append(data)
                for fd in descriptors:
                    os.close(fd)
                for answer in answers(data, "0.1.0"):
                    agent.send(answer)
        check(engine.wait(timeout=60) == 0, "the engine went through to its end with the answers of daemon 0.1")
    return packets


packets = conversation()
versions = sorted(path.parent for path in (ROOT / "tests/fixtures").glob("*/registration.proto"))
check(versions, "there are older versions")
for version in versions:
    with tempfile.TemporaryDirectory() as name:
        source = pathlib.Path(name) / "source/tailor/v1"
        source.mkdir(parents=True)
        for proto in version.glob("*.proto"):
            (source / proto.name).write_bytes(proto.read_bytes())
        generate(pathlib.Path(name) / "source", [f"tailor/v1/{p.name}" for p in version.glob("*.proto")], name)
        done = subprocess.run([sys.executable, "-c", READER, name], input="\n".join(p.hex() for p in packets), text=True,
                              capture_output=True)
        check(done.returncode == 0, f"daemon {version.name} knows: {done.stdout.strip()}{done.stderr[-2000:]}")
        check("code_load" in done.stdout and "execution_begin" in done.stdout, "that is the whole conversation")
