# shellcheck shell=dash disable=SC2034
# Sourced by init: the daemon records an engine of known shape under the module's clock, and an ordinary user is
# told why he may not, under the perf_event_paranoid that the kernel came with.
/bin/busybox --install -s /bin
export PATH=/bin TAILOR_PAGER=
mkdir -p /run/tailor /var/lib/tailor /etc /tmp
chmod 1777 /tmp
echo 'root:x:0:0::/:/bin/sh
nobody:x:65534:65534::/tmp:/bin/sh' >/etc/passwd
bad=0
check() { # check NAME COMMAND...
  name=$1
  shift
  if "$@"; then echo "ok $name"; else echo "not ok $name"; bad=1; fi
}
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
check "perf_event_paranoid is Debian's 3" [ "$paranoid" = 3 ]

check insmod insmod /tailor_clock.ko
tailord --frequency 1000 >/tmp/tailord.log 2>&1 &
daemon=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  [ -S /run/tailor/agent.sock ] && break
  sleep 1
done
check "the engine runs" known_shares 1 8 60
check "status" tailor status --ascii
check "the daemon's clock is the module" sh -c "tailor status --ascii | grep 'clock  *module'"
echo "REPORT BEGIN"
tailor report --json
echo "REPORT END"
check "the module is busy while the daemon uses it" sh -c '! rmmod tailor_clock 2>/dev/null'
kill -TERM $daemon
wait $daemon
check "the daemon ends as asked" [ $? = 0 ]
check "rmmod after the daemon" rmmod tailor_clock

su -s /bin/sh nobody -c 'export PATH=/bin; cd /tmp && tailor record -o mine.tailor -- known_shares 1 1 1' >/tmp/denied 2>&1
check "an ordinary user is refused" [ $? != 0 ]
check "and told which setting it is" grep -q perf_event_paranoid /tmp/denied
cat /tmp/denied
[ $bad = 0 ] || cat /tmp/tailord.log
