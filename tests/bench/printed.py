"""Figures in what a program prints: the cells of its tables, and its other lines as they are."""
import re

NUMBER = re.compile(r"([+-]?[\d,]*\.?\d+) ?(\D*)")
RUNS = re.compile(r"\[ RUN      \] \S+?(?:/(\w+))?$")  # GoogleTest's line; the group is the parameter of the test
NOISE = re.compile(r"\[[ =A-Z-]+\]|Running main|Note: |$")  # what GoogleTest says of itself
LONG_TABLE = 15  # rows; of a longer one only the sums are for the page
SUMS = ("all", "all samples", "mean of the queries", "the sum")


def value_of(text):
    """A number with its unit, or the text as it is."""
    found = NUMBER.fullmatch(text)
    if not found:
        return {"value": text}
    digits = found[1].replace(",", "")
    return {"value": float(digits) if "." in digits else int(digits), **({"unit": found[2].strip()} if found[2].strip() else {})}


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def facts_of_table(lines, prefix):
    head, *rows = [cells_of(line) for line in lines if not re.fullmatch(r"[|\s:-]+", line)]
    for row in rows:
        detail = {"detail": True} if len(rows) >= LONG_TABLE and row[0] not in SUMS else {}
        for column, text in zip(head[1:], row[1:]):
            if text:
                yield {"what": ", ".join([*prefix, row[0], column]), **value_of(text), **detail}


def facts_printed(lines):
    """Rows of figures, without their origin. What stands twice counts once."""
    table, prefix, found, texts = [], [], {}, 0
    for line in [*lines, ""]:
        if line.startswith("|"):
            table.append(line)
            continue
        for fact in facts_of_table(table, prefix) if len(table) > 1 else ():
            found.setdefault(fact["what"], fact)
        table = []
        if begins := RUNS.match(line):
            prefix = [begins[1].replace("_", ", ")] if begins[1] else []
        elif not NOISE.match(line):
            texts += 1
            what = ", ".join([*prefix, f"printed, {texts}"])
            found[what] = {"what": what, "value": line.strip()}
    return list(found.values())
