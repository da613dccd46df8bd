"""OTLP profiles, read by the published descriptors: no unknown fields, every index leads to an entry, and totals and operators are
those of the report.

The profile is replayed from a journal, so that neither a kernel nor an engine takes part."""
import json
import lzma
import pathlib
import sys
import tempfile

import published_messages
from tailor_env import BIN, check, run, skip

ProfilesData = published_messages.profiles_data()
if ProfilesData is None:
    skip("opentelemetry-proto is not installed")

JOURNAL = pathlib.Path(__file__).resolve().parent / "journals/tpch-3.journal.xz"


def profiles(data):
    return [profile for of in data.resource_profiles for scope in of.scope_profiles for profile in scope.profiles]


def strays(data):
    """Indices that lead nowhere, by where they stand."""
    known, out = data.dictionary, set()

    def follow(where, index, table):
        if not 0 <= index < len(table):
            out.add(where)

    for profile in profiles(data):
        for kind in (profile.sample_type, profile.period_type):
            follow("type", kind.type_strindex, known.string_table)
            follow("unit", kind.unit_strindex, known.string_table)
        for sample in profile.samples:
            follow("stack", sample.stack_index, known.stack_table)
            follow("link", sample.link_index, known.link_table)
        for each in [profile, *profile.samples, *known.location_table]:
            for index in each.attribute_indices:
                follow("attribute", index, known.attribute_table)
    for stack in known.stack_table:
        for index in stack.location_indices:
            follow("location", index, known.location_table)
    for location in known.location_table:
        follow("mapping", location.mapping_index, known.mapping_table)
        for line in location.lines:
            follow("function", line.function_index, known.function_table)
    for function in known.function_table:
        follow("name", function.name_strindex, known.string_table)
    for attribute in known.attribute_table:
        follow("key", attribute.key_strindex, known.string_table)
    return out


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
        check(len(table) > 0 and table[0].ByteSize() == 0, f"the first {name} says nothing")
        entries = [entry.SerializeToString() for entry in table]
        check(len(set(entries)) == len(entries), f"each {name} is there once")
    check(known.string_table[0] == "" and len(set(known.string_table)) == len(known.string_table), "and so is each text")
    check(not strays(data), "every index leads to an entry")
    twin = ProfilesData.FromString(raw)
    profiles(twin)[0].samples[0].stack_index = len(known.stack_table)
    check(strays(twin) == {"stack"}, "one that leads nowhere is noticed")


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


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        raw, profile, output = folder / "journal", folder / "profile.tailor", folder / "profile.otlp"
        raw.write_bytes(lzma.decompress(JOURNAL.read_bytes()))
        run(BIN / "tailor", "replay", raw, "-o", profile)
        run(BIN / "tailor", "export", profile, "--format", "otlp", "-o", output)
        data = ProfilesData.FromString(output.read_bytes())
        judge_form(data, output.read_bytes())
        judge_times(data)
        judge_sums(data, json.loads(run(BIN / "tailor", "report", profile, "--json")))
        again = folder / "again.otlp"
        run(BIN / "tailor", "export", profile, "--format", "otlp", "-o", again)
        check(again.read_bytes() == output.read_bytes(), "the same profile gives the same bytes, ids included")
    return 0


if __name__ == "__main__":
    sys.exit(main())
