"""The programs of the guide, built from the page's own text on an installed agent, run and profiled."""
import json
import pathlib
import tempfile

import page
from tailor_env import BIN, BUILD, check, operators, run, sampling_denied, skip, until_enough

# For each program: its plan's operators, top first.
PLANS = {"scopes_engine": ["Group by", "Filter", "Scan numbers"], "c_engine": ["Checksum", "Filter", "Scan numbers"]}


def samples_of(profile):
    return {each["name"]: each["samples"] for each in operators(profile)}


def shows_the_plan(profile, names):
    """Whether the report has the operators of the plan, and they have nearly all samples taken inside of its execution."""
    inside = profile["windows"]
    return (sorted(samples_of(profile)) == sorted(names) and inside["samples"] > 0
            and inside["in_operators"] / inside["samples"] > 0.9)


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    prefix, source = folder / "installed", folder / "source"
    source.mkdir()
    for component in ("agent", "agent_dev"):
        run("cmake", "--install", BUILD, "--prefix", prefix, "--component", component)
    library = next(prefix.rglob("libtailor_agent.so")).parent
    for program in page.programs():
        (source / program.name).write_text(program.text)
    check({file.name for file in source.iterdir()} == {"CMakeLists.txt", *(f"{n}.{e}" for n, e in zip(PLANS, ("cc", "c")))},
          "the page has the two programs and how they are built")

    run("cmake", "-S", source, "-B", folder / "cmake", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror",
        "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    run("cmake", "--build", folder / "cmake")
    commands = "".join(block.text for block in page.of_kind("commands"))
    run("sh", "-e", "-c", f"cd '{source}'\n{commands}", env={"PKG_CONFIG_PATH": str(library / "pkgconfig")})
    loader = {"LD_LIBRARY_PATH": str(library)}
    for name in PLANS:
        said = {run(where / name, env={**loader, **env}) for where in (folder / "cmake", source)
                for env in ({"TAILOR_SOCKET": "/nonexistent"}, {"TAILOR_DISABLE": "1"})}
        check(len(said) == 1 and int(said.pop()) > 0, f"{name} runs without a daemon and with the agent off, whichever way it was built")

    if reason := sampling_denied():
        skip(reason)

    def recorded(name, env=None):
        def measure(work):
            profile = folder / "engine.tailor"
            run(BIN / "tailor", "record", "-F", "5000", "-o", profile, "--", folder / "cmake" / name, 200 * work,
                env={**loader, **(env or {})})
            return json.loads(run(BIN / "tailor", "report", profile, "--json"))
        return measure

    for name, plan in PLANS.items():
        profile = until_enough(300, lambda found: sum(samples_of(found).values()), recorded(name))
        print(name, samples_of(profile), profile["windows"])
        check(shows_the_plan(profile, plan), f"{name}: the report has the operators of the plan, and they have the samples")
        # In the small loop of the C program all samples may point at what waits for one operator's instruction.
        check(name == "c_engine" or all(samples_of(profile).values()), f"{name}: each of them has some")
    off = recorded("c_engine", {"TAILOR_DISABLE": "1"})(1)
    check(not shows_the_plan(off, PLANS["c_engine"]), "the broken twin: with the agent off there is no such plan")
