"""The Debian packages in a root of their own: what they hold and need, that they install, upgrade, go and are purged; the
installed programs run, and a changed configuration stays."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from installed_root import LIBRARY, NAMES, PG, TOOLS, Root, packages
from tailor_env import BUILD, ROOT, check, run, sampling_denied, skip
from to_a_dashboard import to_a_dashboard

MODULE = "usr/src/tailor-clock-" + re.search(r'^MODULE_VERSION\("(.*)"\)', (ROOT / "kmod/main.c").read_text(), re.M).group(1)
FILES = {
    "tailord": ["usr/bin/tailord", "etc/tailor/tailord.toml", "usr/lib/systemd/system/tailord.service", "usr/lib/systemd/system/tailord.socket",
                "usr/lib/sysusers.d/tailord.conf", "usr/share/man/man8/tailord.8.gz", "usr/share/bash-completion/completions/tailord",
                "usr/share/tailor/prometheus/tailor.yml", "usr/share/tailor/prometheus/tailor.rules.yml", "usr/share/tailor/grafana/tailor.json"],
    "tailor": ["usr/bin/tailor", "usr/share/man/man1/tailor.1.gz", "usr/share/man/man1/tailor-report.1.gz",
               "usr/share/bash-completion/completions/tailor", "usr/share/tailor/rules/duckdb.toml", "usr/share/tailor/rules/postgres.toml",
               "usr/share/doc/tailor/security.md", "usr/share/doc/tailor/deploy.md"],
    "libtailor-agent2": [f"{LIBRARY}/libtailor_agent.so.2"],
    "libtailor-agent-dev": [f"{LIBRARY}/libtailor_agent.so", f"{LIBRARY}/libtailor_agent.a", f"{LIBRARY}/pkgconfig/tailor-agent.pc",
                            f"{LIBRARY}/cmake/TailorAgent/TailorAgentConfig.cmake", "usr/include/tailor/agent.h", "usr/include/tailor/tag.h",
                            "usr/share/tailor/proto/tailor/v1/registration.proto"],
    "tailor-jvm": ["usr/share/tailor/tailor-jvm.jar"],
    PG: ["usr/lib/postgresql/15/lib/tailor_pg.so", "usr/share/postgresql/15/extension/tailor_pg.control",
         "usr/share/postgresql/15/extension/tailor_pg--1.0.sql", "usr/share/postgresql/15/extension/tailor_pg--1.0--1.1.sql"],
    "tailor-clock-dkms": [f"{MODULE}/dkms.conf", f"{MODULE}/main.c", f"{MODULE}/include/tailor/clock_page.h",
                          "usr/lib/udev/rules.d/60-tailor-clock.rules"],
}

if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
    skip(f"missing: {', '.join(missing)}")
if os.geteuid() != 0:
    skip("dpkg installs into a root of its own for root only")


def look_at(name, file):
    """One package, as a reviewer looks at it."""
    listed = [line.split(None, 5) for line in run("dpkg-deb", "-c", file).splitlines()]
    paths = {fields[5].split(" -> ")[0].removeprefix("./").rstrip("/") for fields in listed}
    check(not (absent := [path for path in FILES[name] if path not in paths]), f"{name} holds what it should {absent}")
    check({f"usr/share/doc/{name}/{each}" for each in ("copyright", "changelog.gz")} <= paths, "and whose it is, and what is new")
    check(all(fields[1] == "root/root" for fields in listed), "all of it root's")
    check(all(fields[0][0] in "dl" or fields[0] in ("-rw-r--r--", "-rwxr-xr-x") for fields in listed), "open to read, not to write")
    check(not [path for path in paths if path.startswith(("usr/etc", "usr/local", "run", "var"))], "nothing lies where it must not")
    described = run("dpkg-deb", "-f", file, "Description")
    check("\n" in described.strip() and "built using CMake" not in described, f"its description: {described.splitlines()[0]}")
    return run("dpkg-deb", "-f", file, "Depends")


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    first, second = packages(folder / "first"), packages(folder / "second", "99.0")
    needs = {name: look_at(name, file) for name, file in first.items()}
    check(all(library in needs["tailord"] for library in ("libc6 (>=", "libprotobuf", "libbpf", "libsqlite3")), f"libraries are found: {needs['tailord']}")
    check("tailor" not in needs["libtailor-agent2"] and "libstdc++" not in needs["libtailor-agent2"], "the agent needs the C library only")
    check(re.search(r"libtailor-agent2 \(= [^)]+\)", needs["libtailor-agent-dev"]), f"and who compiles against it that version: {needs['libtailor-agent-dev']}")
    check("postgresql-15" in needs[PG] and "libc6" in needs[PG], f"the extension needs its server: {needs[PG]}")
    check("libc6" in needs["tailor-jvm"], f"the agent for JVMs needs the C library: {needs['tailor-jvm']}")
    check("dkms" in needs["tailor-clock-dkms"] and run("dpkg-deb", "-f", first["tailor-clock-dkms"], "Architecture").strip() == "all", "the module is built there")
    shlibs = run("dpkg-deb", "-I", first["libtailor-agent2"], "shlibs")
    check(re.match(r"libtailor_agent 2 libtailor-agent2", shlibs), f"engines that are packaged will depend on it: {shlibs.strip()}")

    root = Root(folder / "root")
    root.dpkg("--install", *first.values())
    version = run("dpkg-deb", "-f", first["tailord"], "Version").strip()
    check(all(root.state(name) == f"install ok installed {version}" for name in NAMES), f"{version} is installed")
    passwd = (root.path / "etc/passwd").read_text()
    check(re.search(r"^tailor:.*:/var/lib/tailor:/usr/sbin/nologin$", passwd, re.M), "the daemon has its user, who cannot log in")
    check(not list((root.path / "etc").glob("systemd/system/*.wants/*")), "nothing is enabled")
    check(root.run("usr/bin/tailord", "--version").startswith("tailord ") and root.run("usr/bin/tailor", "--version").startswith("tailor "), "the programs run")
    page = subprocess.run(["grep", "-c", "<!doctype html>", root.path / "usr/bin/tailord"], capture_output=True, text=True).stdout
    check(int(page) > 0, "the web page is in the daemon")
    settings = root.path / "etc/tailor/tailord.toml"
    check("right" in root.run("usr/bin/tailord", "--check-config", settings), "and the daemon takes its configuration")
    libraries = run("ldd", root.path / "usr/bin/tailord")
    check(str(BUILD) not in libraries and "not found" not in libraries, "no library is missing, none is the build's")
    check("not stripped" not in run("file", root.path / "usr/bin/tailord"), "debug information stays out")
    flags = run("pkg-config", "--cflags", "--libs", "tailor-agent", env={
        "PKG_CONFIG_PATH": str(root.path / LIBRARY / "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": str(root.path), "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1",
        "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1"}).split()
    (folder / "engine.c").write_text("#include <tailor/agent.h>\nint main(void) { return tailor_agent_abi_version() >> 16 != 2; }\n")
    run("cc", "-o", folder / "engine", folder / "engine.c", *flags)
    run(folder / "engine", env={"LD_LIBRARY_PATH": str(root.path / LIBRARY)})
    check(True, "an engine compiles with it and runs")

    to_a_dashboard(root, settings, folder, denied=sampling_denied())
    settings.write_text(settings.read_text() + "keep-days = 3\n")
    store = root.path / "var/lib/tailor/store"
    store.mkdir(parents=True)
    (store / "segment").write_text("kept")
    root.dpkg("--install", *second.values())
    check(all(root.state(name) == "install ok installed 99.0-1" for name in NAMES), "an upgrade takes the place of what was there")
    check("keep-days = 3" in settings.read_text() and (store / "segment").exists(), "configuration and store stay")
    root.dpkg("--remove", *NAMES)
    check(not (root.path / "usr/bin/tailord").exists() and settings.exists() and (store / "segment").exists(), "so they do when it is removed")
    root.dpkg("--purge", *NAMES)
    left = [str(path.relative_to(root.path)) for path in root.path.rglob("*")
            if ("tailor" in path.name and not path.is_relative_to(root.path / "var/lib/dpkg"))]
    check(left == [], f"nothing is left when it is purged {left}")
