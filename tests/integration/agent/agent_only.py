"""The agent alone: configured without any of Tailor's libraries, built, installed, and used by an engine in C."""
import pathlib
import subprocess
import tempfile

from tailor_env import ROOT, check, run

HEADERS = ["agent.h", "dictionary.h", "export.h", "scopes.h", "tag.h", "tag_scope.h"]
EXAMPLE = ROOT / "tests/integration/agent_example/example_engine.c"
# A package that is asked for, required, in spite of this ends the configuration.
ABSENT = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("PkgConfig", "Protobuf", "fmt", "GTest", "LLVM")]

with tempfile.TemporaryDirectory() as name:
    build, prefix = pathlib.Path(name) / "build", pathlib.Path(name) / "usr"
    run("cmake", "-S", ROOT, "-B", build, "-DTAILOR_AGENT_ONLY=ON", f"-DCMAKE_INSTALL_PREFIX={prefix}",
        "-DCMAKE_INSTALL_LIBDIR=lib", *ABSENT)
    run("cmake", "--build", build)
    run("cmake", "--install", build)
    headers = sorted(str(path.relative_to(prefix / "include")) for path in prefix.rglob("*.h"))
    check(headers == [f"tailor/{header}" for header in HEADERS], f"installed headers: {' '.join(headers)}")
    libraries = {path.name for path in (prefix / "lib").iterdir()}
    check({"libtailor_agent.so", "libtailor_agent.so.2", "libtailor_agent.a"} <= libraries, "shared and static library")
    env = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"), "TAILOR_SOCKET": "/nonexistent"}
    for how, flags in {"shared": ["--cflags", "--libs"], "static": ["--cflags", "--libs", "--static"]}.items():
        words = run("pkg-config", *flags, "tailor-agent", env=env).split()
        if how == "static":
            words = [str(prefix / "lib/libtailor_agent.a") if word == "-ltailor_agent" else word for word in words]
        engine = pathlib.Path(name) / how
        run("cc", "-std=c11", EXAMPLE, "-o", engine, *words)
        output = run(engine, env={**env, "LD_LIBRARY_PATH": str(prefix / "lib")})
        check(output == "499500\n", f"an engine in C runs with the {how} library")
    linked = subprocess.run(["readelf", "-d", pathlib.Path(name) / "static"], capture_output=True, text=True).stdout
    check("libtailor_agent" not in linked, "the second one without the shared library")
