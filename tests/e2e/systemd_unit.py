"""The unit under a real systemd: it boots in namespaces of its own, on a copy of this host's files that nobody else sees, with the
packages' files where packages put them. tailord becomes ready, records an engine of another user that was there first, is
watched, and ends."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from tailor_env import BIN, ROOT, check, run, sampling_denied, skip

INSIDE = r"""#!/bin/bash
# Runs as a unit of the systemd inside, and ends it.
exec >/out/log 2>&1
set -x
systemd-sysusers tailord.conf
useradd --system engine
systemctl start tailord.socket && echo socket-listens
runuser -u engine -- env HOME=/tmp LD_LIBRARY_PATH=/out/lib /usr/bin/weft --data /out/data --repeat 1000000 --quiet --tpch 6 &
engine=$!
sleep 2
if ! systemctl start tailord.service; then
  systemctl status tailord.service
  systemctl show tailord.service -p Result -p ExecMainStatus
  kill $engine
  echo the-end
  systemctl exit
  exit
fi
echo service-is-ready
systemctl show tailord.service -p ActiveState -p SubState -p NotifyAccess -p WatchdogTimestampMonotonic -p WatchdogUSec -p MainPID
pid=$(systemctl show tailord.service -p MainPID --value)
grep -E 'Cap|NoNewPrivs|Seccomp:|^Uid' /proc/$pid/status
for i in $(seq 300); do
  tailor report --json >/out/report.json && grep -q '"Scan lineitem"' /out/report.json && break
  sleep 1
done
tailor status
ls -la /run/tailor /var/lib/tailor
watchdog=$(systemctl show tailord.service -p WatchdogTimestampMonotonic --value)
for i in $(seq 120); do
  [ "$(systemctl show tailord.service -p WatchdogTimestampMonotonic --value)" != "$watchdog" ] && echo watchdog-was-pinged && break
  sleep 1
done
systemctl kill --signal=STOP tailord.service
for i in $(seq 200); do
  [ "$(systemctl show tailord.service -p NRestarts --value)" = 1 ] && echo hung-one-was-started-again && break
  sleep 1
done
for i in $(seq 60); do systemctl is-active tailord.service && break; sleep 1; done
for i in $(seq 120); do tailor status | grep -q weft && echo engine-is-back && break; sleep 1; done
systemctl reload tailord.service && echo service-was-reloaded
systemctl stop tailord.service && echo stopped-beside-an-engine
# The engine tries again in less time than that.
for i in $(seq 5); do sleep 1; systemctl is-active tailord.service tailord.socket; done >/out/after_stop
grep -qx active /out/after_stop || echo stays-stopped
# As somebody does who knows the service alone.
systemctl start tailord.service && systemctl is-active --quiet tailord.socket && echo socket-came-with-the-service
stat -c 'mode-of-the-socket-%a' /run/tailor/agent.sock
for i in $(seq 120); do tailor status | grep -q weft && echo engine-registers-again && break; sleep 1; done
runuser -u engine -- tailor status 2>&1 | sed 's/^/as-another-user: /'
kill $engine
systemctl stop tailord.service && echo service-stopped
echo 'listen = ["127.0.0.1:9"]' >>/etc/tailor/tailord.toml
systemctl start tailord.service || echo wrong-configuration-fails
systemctl show tailord.service -p NRestarts -p ExecMainStatus | sed 's/^/wrong-/'
sed -i '$d' /etc/tailor/tailord.toml
systemctl reset-failed tailord.service
systemctl start tailord.service && systemctl stop tailord.service && echo service-ended-well
systemctl show tailord.service -p Result -p ExecMainStatus
ls -la /run/tailor
journalctl -u tailord -u tailord.socket --no-pager -o cat 2>/dev/null | tail -n 40
echo the-end
systemctl exit
"""
UNIT = """[Unit]
DefaultDependencies=no
[Service]
ExecStart=/out/inside
StandardOutput=null
"""
# The runtime folder keeps no journal here: the daemon's words go to a file. A hung daemon is found sooner than in a minute.
DROP_IN = "[Service]\nStandardError=append:/out/tailord.log\nWatchdogSec=10s\n"
BOOT = r"""set -e
mount --make-rprivate /
mount -t tmpfs tmpfs {work}
mkdir -p {work}/up {work}/tmp {work}/root
mount -t overlay overlay -o lowerdir=/,upperdir={work}/up,workdir={work}/tmp {work}/root
cd {work}/root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/shm dev/pts dev/mqueue dev/hugepages
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
for each in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 dev/${{each%:*}} c 1 ${{each#*:}}; done
mknod -m 666 dev/tty c 5 0
mkdir -p out old
mount --bind {out} out
rm -f etc/systemd/system/*.wants/* etc/machine-id
echo 0123456789abcdef0123456789abcdef >etc/machine-id
cp -r {staged}/. .
pivot_root . old
umount -l old
exec env -i container=tailor-test /lib/systemd/systemd --system --unit=inside.service --log-target=console --show-status=no
"""

if reason := sampling_denied():
    skip(reason)
if os.geteuid() != 0 or not pathlib.Path("/lib/systemd/systemd").exists():
    skip("it takes root, and systemd, to boot one")
if subprocess.run(["unshare", "--fork", "--kill-child", "-p", "-m", "-u", "-i", "-n", "-C", "true"], capture_output=True).returncode != 0:
    skip("new namespaces are not allowed here")

def own_group():
    """A new group of the unified hierarchy for the systemd inside."""
    for line in open("/proc/self/mountinfo"):
        fields = line.split()
        if fields[fields.index("-") + 1] != "cgroup2":
            continue
        inside = next(l.strip().split("::", 1)[1] for l in open("/proc/self/cgroup") if l.startswith("0::"))
        group = pathlib.Path(fields[4] + inside) / f"tailor-systemd-{os.getpid()}"
        try:
            group.mkdir()
        except OSError as problem:
            skip(f"no control group can be made here: {problem}")
        return group
    skip("there is no unified hierarchy of control groups")


def remove_group(group):
    for each in sorted(group.rglob("*"), key=lambda path: len(path.parts), reverse=True):
        if each.is_dir():
            each.rmdir()
    group.rmdir()


def stage(folder):
    """What the packages would install, and the reference engine."""
    run("cmake", "--install", BIN.parent, "--prefix", folder / "usr", "--component", "daemon", "--strip")
    run("cmake", "--install", BIN.parent, "--prefix", folder / "usr", "--component", "cli", "--strip")
    shutil.move(folder / "usr/etc", folder / "etc")
    shutil.copy(BIN / "weft", folder / "usr/bin")
    (folder / "etc/systemd/system/tailord.service.d").mkdir(parents=True)
    (folder / "etc/systemd/system/tailord.service.d/test.conf").write_text(DROP_IN)
    (folder / "etc/systemd/system/inside.service").write_text(UNIT)

def boot(folder):
    staged, out, work = (folder / name for name in ("staged", "out", "work"))
    for each in (staged, out, work):
        each.mkdir()
        each.chmod(0o755)
    stage(staged)
    run(BIN / "weft", "--sf", "0.01", "--quiet", "--tpch", "6")
    shutil.copytree(pathlib.Path(os.environ.get("WEFT_DATA", pathlib.Path.home() / ".cache/weft")) / "tpch-sf0.01", out / "data")
    (out / "lib").mkdir()
    for library in (BIN.parent / "lib").glob("libtailor_agent.so*"):
        shutil.copy(library, out / "lib")
    run("chmod", "-R", "a+rX", out)
    (out / "inside").write_text(INSIDE)
    (out / "inside").chmod(0o755)
    group = own_group()
    (folder / "boot").write_text(BOOT.format(work=work, out=out, staged=staged))
    start = f"echo $$ >{group}/cgroup.procs && exec unshare --fork --kill-child -p -m -u -i -n -C bash {folder}/boot"
    try:
        console = subprocess.run(["sh", "-c", start], capture_output=True, text=True, timeout=1500)
    finally:
        remove_group(group)
    log = (out / "log").read_text() if (out / "log").exists() else ""
    if "the-end" not in log:
        print(console.stdout[-3000:], console.stderr[-3000:], log[-5000:], sep="\n")
        skip("systemd does not boot in namespaces here") if not log else check(False, "the script inside comes to its end")
    if "service-is-ready" not in log:
        print(log[-3000:], console.stdout[-6000:], console.stderr[-3000:], sep="\n")
    own = out / "tailord.log"
    return log, own.read_text() if own.exists() else "", out

with tempfile.TemporaryDirectory(prefix="tailor-systemd-") as folder:
    folder = pathlib.Path(folder)
    folder.chmod(0o755)
    log, own, out = boot(folder)
    if os.environ.get("TAILOR_SHOW"):
        print(log, own, sep="\n")
    for word in ("socket-listens", "service-is-ready", "watchdog-was-pinged", "hung-one-was-started-again", "engine-is-back", "service-was-reloaded", "stopped-beside-an-engine",
                 "stays-stopped", "socket-came-with-the-service", "mode-of-the-socket-666", "engine-registers-again", "service-stopped",
                 "wrong-configuration-fails", "wrong-NRestarts=0", "wrong-ExecMainStatus=2", "service-ended-well"):
        check(re.search(rf"(?m)^{word}$", log), word.replace("-", " "))
    check("as-another-user: tailor: no daemon at /tmp/tailor-" in log and re.search(r"nor at /run/tailor/control.sock: Permission denied .*group tailor", log),
          "who may not ask the daemon is told where it is and why")
    check(re.search(r"(?m)^ActiveState=active$", log) and re.search(r"(?m)^Result=success$", log), "systemd saw it come up and end well")
    check(re.search(r"(?m)^NoNewPrivs:\s*1$", log) and re.search(r"(?m)^Seccomp:\s*2$", log), "behind its limits")
    uid = re.search(r"(?m)^Uid:\s*(\d+)", log).group(1)
    bounding = int(re.search(r"(?m)^CapBnd:\s*(\S+)", log).group(1), 16)
    service = (ROOT / "deploy/systemd/tailord.service").read_text()
    wanted = len(re.search(r"(?m)^CapabilityBoundingSet=(.*)$", service).group(1).split())
    check(uid != "0" and bin(bounding).count("1") == wanted, f"as user {uid}, with {wanted} capabilities")
    check('"Scan lineitem"' in (out / "report.json").read_text(), "an engine of another user is recorded, with its operators")
    check(all(re.search(rf"(?m)^srw-rw-{others}- +1 tailor tailor .*{name}\.sock$", log) for others, name in (("rw", "agent"), ("--", "control"))), "all may register, the daemon's group may ask")
