"""How many connections and live streams tailord serves is what its options say; who comes on top is told 429. One token has half of the
streams at most, and leaves the others to others."""
import contextlib
import hashlib
import json
import pathlib
import socket
import tempfile

from tailor_env import Daemon, check


def status(path, target, token=""):
    """The status of the answer, and the connection, which stays open."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    connection.connect(str(path))
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may be refused before it asks
        header = f"Authorization: Bearer {token}\r\n" if token else ""
        connection.sendall(f"GET /api/v1/{target} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode())
    return int(connection.recv(12).split()[1]), connection


def statuses(target, count, *options, askers=None, look=None):
    """Of each of these connections; `askers`: their tokens. `look` is called while they are open."""
    with Daemon(options=options) as daemon, contextlib.ExitStack() as stack:
        answers = []
        for token in askers or [""] * count:
            answer, connection = status(daemon.control.parent / "http.sock", target, token)
            stack.enter_context(connection)
            answers.append(answer)
        if look:
            look(daemon)
        return answers


def shares():
    with tempfile.TemporaryDirectory() as folder:
        tokens = pathlib.Path(folder) / "tokens.toml"
        tokens.write_text("".join(f'[[token]]\nname = "{name}"\nsha256 = "{hashlib.sha256(name.encode()).hexdigest()}"\nsee = "all"\n'
                                  for name in ("anna", "ben")))
        tokens.chmod(0o600)
        askers = ["anna", "anna", "anna", "ben", "ben", ""]
        return statuses("live", len(askers), "--http-streams", 4, "--tokens", tokens, askers=askers, look=status_names_them)


def status_names_them(daemon):
    http = {each["who"]: each for each in json.loads(daemon.tailor("status", "--json"))["http"]}
    check({who: (int(http[who]["streams"]), int(http[who]["refused"])) for who in ("token anna", "token ben")}
          == {"token anna": (2, 1), "token ben": (1, 1)}, "tailor status says who has which streams, and who was refused")
    check(any(int(each["connections"]) >= 4 for each in http.values()), "and who has connections")
    check("token anna" in daemon.tailor("status"), "and its text too")


# A stream stays as long as its reader does; a connection that asks for nothing more is closed after a while.
check(statuses("live", 2, "--http-streams", 1) == [200, 429], "one live stream is served, and the second one refused")
check(statuses("live", 3, "--http-connections", 2) == [200, 200, 429], "two connections are served, and the third one refused")
check(shares() == [200, 200, 429, 200, 429, 200], "of four streams a token has two, all tokens three, and the daemon's user the last one")
check(statuses("live", 3) == [200, 200, 200], "the broken twin: without the options there is room for three")
