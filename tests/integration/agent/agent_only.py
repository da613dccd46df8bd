"""The agent alone: configured without any of Tailor's libraries and without a C compiler, built, installed, and used by engines in C."""
import pathlib
import re
import subprocess
import tempfile

from tailor_env import ROOT, check, run

HEADERS = ["agent.h", "dictionary.h", "export.h", "objects.h", "scopes.h", "tag.h", "tag_scope.h"]
EXAMPLE = ROOT / "tests/integration/agent_example/example_engine.c"
OBJECTS = pathlib.Path(__file__).with_name("objects_engine.c")
# A package that is asked for, required, in spite of this ends the configuration.
ABSENT = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("PkgConfig", "Protobuf", "fmt", "GTest", "LLVM")]
NO_C_COMPILER = {"CC": "/nonexistent/cc"}


def abi_version():
    header = (ROOT / "agent/include/tailor/agent.h").read_text()
    return [re.search(rf"#define TAILOR_AGENT_ABI_{part} (\d+)u", header)[1] for part in ("MAJOR", "MINOR")]


with tempfile.TemporaryDirectory() as name:
    build, prefix = pathlib.Path(name) / "build", pathlib.Path(name) / "usr"
    run("cmake", "-S", ROOT, "-B", build, "-DTAILOR_AGENT_ONLY=ON", f"-DCMAKE_INSTALL_PREFIX={prefix}",
        "-DCMAKE_INSTALL_LIBDIR=lib", *ABSENT, env=NO_C_COMPILER)
    check("CMAKE_C_COMPILER:" not in (build / "CMakeCache.txt").read_text(), "no C compiler was asked for")
    check("tailor_pg" not in (build / "CMakeCache.txt").read_text() and not [*build.rglob("*tailor_pg*")],
          "nothing was configured for PostgreSQL")
    run("cmake", "--build", build, "--parallel", "2")
    run("cmake", "--install", build)
    headers = sorted(str(path.relative_to(prefix / "include")) for path in prefix.rglob("*.h"))
    check(headers == [f"tailor/{header}" for header in HEADERS], f"installed headers: {' '.join(headers)}")
    libraries = {path.name for path in (prefix / "lib").iterdir()}
    major, minor = abi_version()
    for library in ("libtailor_agent.so", f"libtailor_agent.so.{major}", f"libtailor_agent.so.{major}.{minor}.0", "libtailor_agent.a"):
        check(library in libraries, f"{library} is installed")
    env = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"), "TAILOR_SOCKET": "/nonexistent"}
    for how, flags in {"shared": ["--cflags", "--libs"], "static": ["--cflags", "--libs", "--static"]}.items():
        words = run("pkg-config", *flags, "tailor-agent", env=env).split()
        if how == "static":
            words = [str(prefix / "lib/libtailor_agent.a") if word == "-ltailor_agent" else word for word in words]
        for source, wanted in {EXAMPLE: "499500\n", OBJECTS: "published\n"}.items():
            engine = pathlib.Path(name) / f"{source.stem}_{how}"
            run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o", engine, *words)
            output = run(engine, env={**env, "LD_LIBRARY_PATH": str(prefix / "lib")})
            check(output == wanted, f"{source.name}, an engine in C, runs with the {how} library")
    linked = subprocess.run(["readelf", "-d", pathlib.Path(name) / "example_engine_static"], capture_output=True, text=True).stdout
    check("libtailor_agent" not in linked, "the one with the static library needs no shared one")
