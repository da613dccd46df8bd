"""What a server's backends tell the daemon, for tests of texts and names: a Listener that keeps plans and executions.

Numbers of messages and fields: proto/tailor/v1/registration.proto and dictionary.proto.
"""
import dataclasses
import os
import socket
import threading
import time

from pg_server import Listener
from tailor_env import check

PAYLOAD_BYTES, PLAN_LOAD, EXECUTION_BEGIN, EXECUTION_END = 2, 14, 18, 19
PLAN_ID, PLAN_NAME, PLAN_LEVELS, PLAN_ATTACHMENTS = 1, 4, 5, 7


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift, last = at + 1, shift + 7, data[at] < 0x80
        if last:
            return value, at


def fields(data):
    """{number: its values}: bytes, or numbers."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value, at = data[at:at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def packed(data):
    """Its numbers."""
    found, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def text(message, number):
    return message.get(number, [b""])[0].decode(errors="backslashreplace")


@dataclasses.dataclass
class Plan:
    """As it was told last under its id."""
    name: str
    sql: str
    operators: list
    conditions: list = dataclasses.field(default_factory=list)  # of nodes that have some
    relations: list = dataclasses.field(default_factory=list)  # of each node: its schema, table and index, "" for none


def plan_of(message):
    attached = {text(each, 1): text(each, 3) for each in map(fields, message.get(PLAN_ATTACHMENTS, []))}
    components = [fields(each) for each in fields(message[PLAN_LEVELS][0]).get(3, [])]
    attributes = [[fields(each) for each in component.get(5, [])] for component in components]
    said = [{text(each, 1): text(each, 2) for each in of_node} for of_node in attributes]
    return Plan(text(message, PLAN_NAME), attached.get("sql", ""), [text(each, 2) for each in components],
                [of_node["condition"] for of_node in said if "condition" in of_node],
                [tuple(of_node.get(key, "") for key in ("schema", "table", "index")) for of_node in said])


@dataclasses.dataclass
class AddedRuns:
    """Times in ns."""
    runs: int
    failed: int
    elapsed: int
    shortest: int
    longest: int
    in_buckets: int
    rows: int


@dataclasses.dataclass(eq=False)
class Execution:
    plan: Plan
    backend: int   # a number for its session or worker
    began_as: str  # the text of its plan at its begin
    labels: dict
    ended: bool = False
    end: dict = dataclasses.field(default_factory=dict)  # fields of its ExecutionEnd

    def added_runs(self):
        """What its end says of the runs that share it, None for one run."""
        if 4 not in self.end:
            return None
        said = fields(self.end[4][0])
        numbers = [said.get(field, [0])[0] for field in range(1, 6)]
        return AddedRuns(*numbers, sum(packed(said.get(7, [b""])[0])), self.end.get(2, [0])[0])


class Told(Listener):
    """By backend, the plans it told and its executions, in their order."""

    def __init__(self, path):
        self.lock = threading.Lock()
        self.executions = []
        self.marks = 0
        super().__init__(path)

    def drain(self, connection):
        plans, handles, backend = {}, {}, connection.fileno()
        try:
            while True:
                packet, descriptors, _, _ = socket.recv_fds(connection, 1 << 16, 4)
                if not packet:
                    return
                self.packets += 1
                self.take(self.whole(fields(packet), descriptors), plans, handles, backend)
        except OSError:
            pass

    @staticmethod
    def whole(message, descriptors):
        """A large message lies in a file."""
        if size := message.get(PAYLOAD_BYTES, [0])[0]:
            message = fields(os.pread(descriptors[0], size, 0))
        for descriptor in descriptors:
            os.close(descriptor)
        return message

    def take(self, message, plans, handles, backend):
        with self.lock:
            for plan in map(fields, message.get(PLAN_LOAD, [])):
                plans.setdefault(plan[PLAN_ID][0], Plan("", "", [])).__dict__.update(plan_of(plan).__dict__)
            for begun in map(fields, message.get(EXECUTION_BEGIN, [])):
                labels = {text(label, 1): text(label, 2) for label in map(fields, begun.get(4, []))}
                plan = plans[begun[3][0]]
                handles[begun[1][0]] = Execution(plan, backend, plan.sql, labels)
                self.executions.append(handles[begun[1][0]])
            for ended in map(fields, message.get(EXECUTION_END, [])):
                if ended[1][0] in handles:
                    handles[ended[1][0]].end = ended
                    handles[ended[1][0]].ended = True

    def of(self, session, work):
        """The session's executions of what `work` does in it, as soon as all are told: its messages come in order. So a mark before it
        shows that what the session did until then is told, too."""
        first = self.mark(session)
        work()
        last = self.mark(session)
        with self.lock:
            since = self.executions[self.executions.index(first) + 1:self.executions.index(last)]
        return [execution for execution in since if execution.backend == last.backend]

    def mark(self, session):
        """An execution of the session that is known by its name, once it is told."""
        self.marks += 1
        mark = f"mark_{self.marks}"
        session.sql(f"set application_name = '{mark}'; select 1; set application_name = 'psql'")
        return self.first(lambda execution: execution.labels["application"] == mark and execution.ended, f"of {mark}")

    def first(self, is_it, what):
        """The first execution that is it, as soon as one is."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            with self.lock:
                found = next(filter(is_it, self.executions), None)
            if found:
                return found
            time.sleep(0.01)
        check(False, f"an execution is told: {what}")
