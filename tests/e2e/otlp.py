"""OTLP profiles, read by the published descriptors: no unknown fields, every index leads to an entry, and totals and operators are
those of the report.

The profile is replayed from a journal, so that neither a kernel nor an engine takes part."""
import json
import lzma
import pathlib
import sys
import tempfile

import perf_file
import published_messages
from tailor_env import BIN, check, run, skip

ProfilesData = published_messages.profiles_data()
if ProfilesData is None:
    skip("opentelemetry-proto is not installed")

JOURNAL = pathlib.Path(__file__).resolve().parent / "journals/tpch-3.journal.xz"


def profiles(data):
    return [profile for of in data.resource_profiles for scope in of.scope_profiles for profile in scope.profiles]


# What a field refers to, by the begin of its name. All other indices of the published messages end in _strindex.
TABLES = {"mapping": "mapping_table", "location": "location_table", "function": "function_table", "link": "link_table",
          "attribute": "attribute_table", "stack": "stack_table"}


def table_of(field):
    """The name of the table that a field of a message has indices of; None: it has none."""
    if field.name.endswith("_strindex"):
        return "string_table"
    begin, _, end = field.name.rpartition("_")
    return TABLES[begin] if end in ("index", "indices") else None


def strays(data):
    """Indices that lead nowhere, by message and field. All fields of all messages are looked at, as the descriptors have them."""
    out = set()

    def look(message):
        for field, value in message.ListFields():
            many = field.label == field.LABEL_REPEATED
            table = table_of(field)
            if field.message_type:
                for each in value if many else [value]:
                    look(each)
            elif table and not all(0 <= index < len(getattr(data.dictionary, table)) for index in (value if many else [value])):
                out.add(f"{message.DESCRIPTOR.name}.{field.name}")

    look(data)
    return out


def indices_of(descriptor, seen):
    """Fields with indices in a message and in those that it consists of."""
    if descriptor.full_name not in seen:
        seen.add(descriptor.full_name)
        for field in descriptor.fields:
            if table_of(field):
                yield f"{descriptor.name}.{field.name}"
            if field.message_type:
                yield from indices_of(field.message_type, seen)


def build_ids(data):
    """Of the files, by their name."""
    known = data.dictionary
    return {known.string_table[each.filename_strindex]: attributes(data, each).get("process.executable.build_id.gnu")
            for each in known.mapping_table[1:]}


def attributes(data, of):
    known = data.dictionary
    entries = (known.attribute_table[index] for index in of.attribute_indices)
    return {known.string_table[each.key_strindex]: each.value.string_value or each.value.int_value for each in entries}


def frames(data, sample):
    """(name, what it is), the innermost first."""
    known = data.dictionary
    for index in known.stack_table[sample.stack_index].location_indices:
        location = known.location_table[index]
        kind = attributes(data, location)
        name = known.string_table[known.function_table[location.lines[0].function_index].name_strindex]
        yield name, kind.get("tailor.frame.type") or kind["profile.frame.type"]


def unknown_bytes(raw):
    data = ProfilesData.FromString(raw)
    whole = data.ByteSize()
    data.DiscardUnknownFields()
    return whole - data.ByteSize()


def judge_form(data, raw):
    check(unknown_bytes(raw) == 0, f"{len(raw)} bytes, all of them in fields that are published")
    check(unknown_bytes(raw + b"\x7a\x01x") > 0, "a field that is not is noticed")
    known = data.dictionary
    for name in ("mapping", "location", "function", "link", "attribute", "stack"):
        table = getattr(known, name + "_table")
        nothing = type(table[0])()
        if name == "link":
            nothing.trace_id, nothing.span_id = bytes(16), bytes(8)
        check(len(table) > 0 and table[0] == nothing, f"the first {name} says nothing")
        entries = [entry.SerializeToString() for entry in table]
        check(len(set(entries)) == len(entries), f"each {name} is there once")
    check(known.string_table[0] == "" and len(set(known.string_table)) == len(known.string_table), "and so is each text")
    check(not strays(data), "every index leads to an entry")
    keyed = [[known.attribute_table[index].key_strindex for index in of.attribute_indices]
             for of in [*known.location_table, *known.mapping_table, *(sample for profile in profiles(data) for sample in profile.samples)]]
    check(all(len(set(keys)) == len(keys) for keys in keyed), "nothing has two attributes of one key")


def judge_twins(data, raw):
    """Each kind of index that the export has, broken."""
    known, broken = data.dictionary, set()
    places = {"Sample": lambda it: profiles(it)[0].samples[0], "ValueType": lambda it: profiles(it)[0].sample_type,
              "Profile": lambda it: profiles(it)[0], "Stack": lambda it: it.dictionary.stack_table[-1],
              "Location": lambda it: it.dictionary.location_table[-1], "Line": lambda it: it.dictionary.location_table[-1].lines[0],
              "Function": lambda it: it.dictionary.function_table[-1], "Mapping": lambda it: it.dictionary.mapping_table[-1],
              "KeyValueAndUnit": lambda it: it.dictionary.attribute_table[-1], "KeyValue": lambda it: it.resource_profiles[0].resource.attributes[0],
              "AnyValue": lambda it: it.dictionary.attribute_table[-1].value}
    fields = set(indices_of(ProfilesData.DESCRIPTOR, set()))
    for name in sorted(fields):
        twin = ProfilesData.FromString(raw)
        kind, field = name.split(".")
        at, beyond = places[kind](twin), len(getattr(known, table_of(type(places[kind](twin)).DESCRIPTOR.fields_by_name[field])))
        if field.endswith("indices"):
            getattr(at, field).append(beyond)
        else:
            setattr(at, field, beyond)
        broken |= strays(twin)
        check(name in strays(twin), f"a {name} that leads nowhere is noticed")
    check(broken == fields and len(fields) >= 19, f"{len(fields)} kinds of indices")


def judge_names(data, listed):
    """What the conventions of OpenTelemetry have names for."""
    process = data.resource_profiles[0].resource
    found = {each.key: each.value.string_value or each.value.int_value for each in process.attributes}
    check(found["service.name"] == "weft" and found["service.version"] and found["process.pid"] > 0, f"the process is named: {found}")
    of_execution = {}
    for profile in profiles(data):
        for sample in profile.samples:
            mine = attributes(data, sample)
            if "tailor.execution" in mine:
                of_execution.setdefault(mine["tailor.execution"], set()).add(mine.get("tailor.fingerprint", ""))
    wanted = {each["id"]: {each["fingerprint"]} for each in listed["executions"]}
    check(of_execution and all(wanted[each] == prints for each, prints in of_execution.items()), f"executions have the fingerprint of their query: {of_execution}")


def judge_times(data):
    for profile in profiles(data):
        end = profile.time_unix_nano + profile.duration_nano
        check(len(profile.profile_id) == 16 and any(profile.profile_id), "a profile has an id")
        check(all(len(sample.values) == len(sample.timestamps_unix_nano) > 0 for sample in profile.samples), "values and times come in pairs")
        check(all(profile.time_unix_nano <= time < end for sample in profile.samples for time in sample.timestamps_unix_nano),
              "times lie within the profile")


def operator_weights(data, event):
    """By the attribute of the samples; each of several owners has an even part."""
    out = {}
    for profile in profiles(data):
        if attributes(data, profile)["tailor.event"] != event:
            continue
        for sample in profile.samples:
            names = [name for name in attributes(data, sample).get("tailor.operator", "").split(" + ") if name]
            for name in names:
                out[name] = out.get(name, 0) + sum(sample.values) / len(names)
    return out


def judge_sums(data, report):
    event, total = report["source"]["name"], report["all"]["weight"]
    mine = [profile for profile in profiles(data) if attributes(data, profile)["tailor.event"] == event]
    values = [value for profile in mine for sample in profile.samples for value in sample.values]
    check(len(values) == report["samples"] and sum(values) == round(total), f"all {len(values)} samples with their weight {sum(values)}")
    kind = {(data.dictionary.string_table[each.sample_type.type_strindex], data.dictionary.string_table[each.sample_type.unit_strindex]) for each in mine}
    check(kind == {("cpu", "nanoseconds")}, f"of {kind}")
    wanted = {}
    for row in (row for plan in report["plans"] for row in plan["operators"] if row["weight"] > 0):
        wanted[row["name"]] = wanted.get(row["name"], 0) + row["weight"]
    found, room = operator_weights(data, event), report["all"]["shared_weight"] + 1e-6 * total
    check(max(abs(found.get(name, 0) - weight) for name, weight in wanted.items()) <= room,
          f"{len(wanted)} operators are attributes with their weight (within what is shared, {room:.0f} ns)")
    moved = dict(zip(wanted, list(found.values())[1:] + list(found.values())[:1]))
    check(max(abs(moved.get(name, 0) - weight) for name, weight in wanted.items()) > room, "exchanged ones are noticed")
    framed = {name for profile in mine for sample in profile.samples for name, kind in frames(data, sample) if kind == "operator"}
    check(set(wanted) <= {part for name in framed for part in name.split(" + ")}, "and frames")


def judge_build_ids(folder):
    """A recording of perf says them."""
    begin, pid, wanted = 1_000_000_000, 77, "00c0ffee" * 5
    records = [perf_file.comm(begin, pid, "engine")]
    for i, name in enumerate(("engine", "libnone.so")):
        records += [perf_file.mmap2(begin + 1, pid, 0x400000 + i * 0x100000, 0x10000, "/nowhere/" + name),
                    perf_file.sample(begin + 2 + i, pid, pid, 0x400010 + i * 0x100000)]
    perf_file.write(folder / "perf.data", [*records, perf_file.build_id("/nowhere/engine", wanted), perf_file.FINISHED_ROUND])
    run(BIN / "tailor", "import", folder / "perf.data", "-o", folder / "perf.tailor")
    run(BIN / "tailor", "export", folder / "perf.tailor", "--format", "otlp", "-o", folder / "perf.otlp")
    found = build_ids(ProfilesData.FromString((folder / "perf.otlp").read_bytes()))
    check(found == {"engine": wanted, "libnone.so": None}, f"a file has the build id that perf says, and none if it says none: {found}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        raw, profile, output = folder / "journal", folder / "profile.tailor", folder / "profile.otlp"
        raw.write_bytes(lzma.decompress(JOURNAL.read_bytes()))
        run(BIN / "tailor", "replay", raw, "-o", profile)
        run(BIN / "tailor", "export", profile, "--format", "otlp", "-o", output)
        data = ProfilesData.FromString(output.read_bytes())
        judge_form(data, output.read_bytes())
        judge_twins(data, output.read_bytes())
        judge_names(data, json.loads(run(BIN / "tailor", "list", profile, "--json", "-n", 1000)))
        judge_times(data)
        judge_sums(data, json.loads(run(BIN / "tailor", "report", profile, "--json")))
        judge_build_ids(folder)
        again = folder / "again.otlp"
        run(BIN / "tailor", "export", profile, "--format", "otlp", "-o", again)
        check(again.read_bytes() == output.read_bytes(), "the same profile gives the same bytes, ids included")
    return 0


if __name__ == "__main__":
    sys.exit(main())
