"""The units: systemd takes every line of them, what they leave open is what docs/deploy.md explains, and no more than
level 3; what else gives tailord its rights, the container's files, names the same capabilities, and starts the same."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

from tailor_env import BIN, ROOT, check, run, skip

UNITS = ROOT / "deploy/systemd"
HIGHEST = 3.0
ANALYZE = shutil.which("systemd-analyze")
if ANALYZE is None:
    skip("systemd-analyze is missing (package systemd): the units are not checked")


def complaints(folder):
    """What systemd says of the units in a folder; it exits with 0 where it only does not know a line."""
    done = subprocess.run([ANALYZE, "verify", "--man=no", folder / "tailord.service", folder / "tailord.socket"],
                          capture_output=True, text=True)
    return "\n".join(line for line in done.stderr.splitlines() if "tailord." in line)


def exposure(unit):
    """The level of a unit, and the keys of what it leaves open."""
    found = subprocess.run([ANALYZE, "security", "--offline=true", "--no-pager", unit], capture_output=True, text=True)
    level = re.search(r"Overall exposure level for \S+: ([0-9.]+)", found.stdout)
    if level is None:
        skip(f"this systemd-analyze cannot look at a unit that is not installed: {found.stderr.strip()}")
    return float(level.group(1)), [line.split()[1] for line in found.stdout.splitlines() if line.startswith("✗")]


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    service = (UNITS / "tailord.service").read_text()
    shutil.copy(UNITS / "tailord.socket", folder)
    here = service.replace("/usr/bin/tailord", str(BIN / "tailord"))
    (folder / "tailord.service").write_text(here)
    check(complaints(folder) == "", f"systemd takes the units {complaints(folder)}")
    (folder / "tailord.service").write_text(here.replace("ProtectHostname=", "ProtectHostnames="))
    check("ProtectHostnames" in complaints(folder), "a line that it does not know would be found")

    level, open_ = exposure(UNITS / "tailord.service")
    check(level <= HIGHEST, f"exposure {level}")
    explained = (ROOT / "docs/deploy.md").read_text()
    missing = [key for key in open_ if f"`{key}`" not in explained]
    check(not missing, f"docs/deploy.md explains each of the {len(open_)} that stay open {missing}")
    bare = re.sub(r"(?m)^(System|Protect|Private|Restrict|Capability|Ambient|NoNew).*\n", "", here)
    (folder / "tailord.service").write_text(bare)
    check(exposure(folder / "tailord.service")[0] > HIGHEST, "without its limits the unit would fail")

unit = {key: re.findall(rf"(?m)^{key}=(.*)$", service) for key in ("Requires", "After", "Also", "PropagatesStopTo", "ExecReload", "RestartPreventExitStatus")}
check(all(unit[key] == ["tailord.socket"] for key in ("Requires", "After", "Also", "PropagatesStopTo")), "the service has its socket, and stops it")
check(not any("/bin/kill" in line for line in unit["ExecReload"]), "no program is needed that a host may not have")
wrong = subprocess.run([BIN / "tailord", "--listen", "127.0.0.1:0"], capture_output=True, text=True)
check([str(wrong.returncode)] == unit["RestartPreventExitStatus"], f"a wrong configuration is not started again: {wrong.stderr.strip()}")
wanted = set(re.search(r"^CapabilityBoundingSet=(.*)$", service, re.M).group(1).split())
check(wanted == set(re.search(r"^AmbientCapabilities=(.*)$", service, re.M).group(1).split()), f"its capabilities: {wanted}")
pod = ROOT / "deploy/kubernetes/daemonset.yaml"
added = re.search(r"add: \[([^]]*)\]", pod.read_text()).group(1)
check({f"CAP_{name.strip()}" for name in added.split(",")} == wanted, "the pod's are the same")
image = (ROOT / "deploy/container/Containerfile").read_text()
entry = json.loads(re.search(r"(?m)^ENTRYPOINT (\[.*\])$", image).group(1))
started = re.search(r"(?m)^ExecStart=(.*)$", service).group(1).split()
check(entry == started, f"the image starts what the unit starts: {entry}")
volumes = json.loads(re.search(r"(?m)^VOLUME (\[.*\])$", image).group(1))
kept = re.findall(r"TAILOR_\w+=(\S+)", image)
check(len(kept) == 3 and all(path.startswith(tuple(each + "/" for each in volumes)) for path in kept), f"sockets and store lie in its volumes: {kept}")
mounts = re.findall(r"mountPath: ([^,}]+)", pod.read_text())
check(set(volumes) <= set(mounts), f"the pod mounts them: {mounts}")
settings = (UNITS / "tailord.toml").read_text()
with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
    file.write(re.sub(r"(?m)^# (?=[a-z-]+ = |\[)", "", settings))
    file.flush()
    check(file.name in run(BIN / "tailord", "--check-config", file.name), "every line of the configuration that is shipped can be used")
