"""The client in plain Python is understood by the daemon's registration as an agent is."""
import pathlib
import subprocess
import sys
import tempfile

from generated import generate
from tailor_env import BUILD, ROOT, check

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    generate(ROOT / "proto", ["tailor/v1/dictionary.proto", "tailor/v1/registration.proto"], folder)
    server = subprocess.Popen([BUILD / "targets/print_server", folder / "socket"], stdout=subprocess.PIPE, text=True)
    check(server.stdout.readline() == "listening\n", "the server listens")
    client = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("plain_client.py"), folder / "socket", folder],
                            timeout=100)
    if client.returncode != 0:
        server.kill()
    said = server.communicate(timeout=60)[0].splitlines()
    check(client.returncode == 0, "the client went through to its end")
    check(not [line for line in said if line.startswith("rejected")], "nothing was rejected\n" + "\n".join(said))
    for line in ["connected plain python", "message thread_add", "message plan_load", "message code_load",
                 "message execution_begin", "message execution_end", "message code_unload", "message plan_unload",
                 "records 10 lost 0", "gone goodbye"]:
        check(line in said, line)
