"""How many connections and live streams tailord serves is what its options say; who comes on top is told 429."""
import contextlib
import socket

from tailor_env import Daemon, check


def status(path, target):
    """The status of the answer, and the connection, which stays open."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    connection.connect(str(path))
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may be refused before it asks
        connection.sendall(f"GET /api/v1/{target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return int(connection.recv(12).split()[1]), connection


def statuses(target, count, *options):
    with Daemon(options=options) as daemon, contextlib.ExitStack() as stack:
        answers = []
        for _ in range(count):
            answer, connection = status(daemon.control.parent / "http.sock", target)
            stack.enter_context(connection)
            answers.append(answer)
        return answers


# A stream stays as long as its reader does; a connection that asks for nothing more is closed after a while.
check(statuses("live", 2, "--http-streams", 1) == [200, 429], "one live stream is served, and the second one refused")
check(statuses("live", 3, "--http-connections", 2) == [200, 200, 429], "two connections are served, and the third one refused")
check(statuses("live", 3) == [200, 200, 200], "the broken twin: without the options there is room for three")
