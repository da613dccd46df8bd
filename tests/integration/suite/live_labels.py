"""Each test that asks whether this host lets it sample has the label `live`: the expression of tailor_live in CMakeLists.txt finds it."""
import re

from tailor_env import ROOT, check

GROUPS = ("integration", "e2e", "jvm", "spark", "postgres", "browser")
ASKS = re.compile(r'\b(?:\w+_denied|samplingDenied)\(|record_fixture\.h|"perf record')
# These only play what a host does.
PLAY = {"tests/integration/suite/undisturbed_test.cc", "tests/integration/suite/broken_recorder.py"}


def unlabelled(expression):
    """Sources that ask, and in which no line fits."""
    files = [path for group in GROUPS for path in (ROOT / "tests" / group).rglob("*") if path.suffix in (".py", ".cc", ".mjs")]
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in sorted(files)}
    found = [name for name, text in texts.items() if name not in PLAY and ASKS.search(text)]
    return len(found), [name for name in found if not re.search(expression, texts[name])]


text = (ROOT / "CMakeLists.txt").read_text()
expression = re.search(r'file\(STRINGS \$\{file\} asks REGEX "((?:\\.|[^"\\])*)"', text)[1].replace('\\"', '"')
count, without = unlabelled(expression)
check(count > 100 and not without, f"all of {count} sources that ask make their test live {without or ''}")
for word, name in (("bpf_denied|", "bpf/loaded_programs_test.cc"), ('|"perf record', "capture/perf_script_test.cc")):
    check(f"tests/integration/{name}" in unlabelled(expression.replace(word, ""))[1], f"without a word of it {name} would have no label")
