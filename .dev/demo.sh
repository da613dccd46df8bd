# shellcheck shell=bash
# Installs what is missing, builds, and shows what Tailor is for, on TPC-H data.
dev_demo() {
  local scale=1 start
  while [ $# -gt 0 ]; do
    case $1 in
      --sf) scale=${2:?--sf needs a scale factor}; shift ;;
      *) die 2 "demo: unknown option '$1'" ;;
    esac
    shift
  done
  need build data demo
  need_tools
  start=$SECONDS
  say "Building"
  web_build
  build_programs tailord tailor weft
  say "Built in $((SECONDS - start)) s"
  PATH=$TAILOR_ROOT/build/bin:$PATH
  export TAILOR_PAGER=  # the demo runs through
  DEMO=$(mktemp -d "${TMPDIR:-/tmp}/tailor-demo.XXXXXX")
  export TAILOR_SOCKET=$DEMO/agent.sock TAILOR_CONTROL=$DEMO/control.sock TAILOR_STORE=$DEMO/store
  trap demo_end EXIT
  demo_first_plan
  demo_six_queries "$scale"
  demo_perf_alone "$scale"
  demo_next "$scale"
  demo_pictures
}

demo_end() {
  [ -n "${TAILORD_PID:-}" ] && kill "$TAILORD_PID" 2>/dev/null && wait "$TAILORD_PID" 2>/dev/null
  return 0
}

# show COMMAND...: prints a command as a user would type it, then runs it.
show() {
  printf '%s$ %s%s\n' "$BOLD" "$*" "$RESET"
  "$@"
}

demo_daemon() {
  tailord --frequency 1000 >"$DEMO/tailord.log" 2>&1 &
  TAILORD_PID=$!
  for _ in $(seq 100); do
    tailor status >/dev/null 2>&1 && return
    kill -0 "$TAILORD_PID" 2>/dev/null || break
    sleep 0.1
  done
  cat "$DEMO/tailord.log" >&2
  die 1 "tailord did not come up"
}

demo_first_plan() {
  say "TPC-H at scale factor 0.1 (about 100 MB as text, generated once)"
  weft load-tpch --sf 0.1
  say "The daemon that samples every engine which registers"
  printf '%s$ tailord &%s\n' "$BOLD" "$RESET"
  demo_daemon
  say "weft, the reference engine, runs a query; the profile is there when it ends"
  show weft --sf 0.1 --threads 2 --repeat 20 --quiet --query figure-9
  show tailor report --last 20
}

demo_six_queries() {
  local query
  say "Now scale factor $1: six queries on two threads"
  weft load-tpch --sf "$1"
  for query in tpch-1 tpch-3 tpch-6 tpch-18 sfja figure-9; do
    show weft --sf "$1" --threads 2 --repeat 3 --quiet --query "$query"
  done
  say "Where did the time of the last query go?"
  show tailor report --last 3
}

demo_perf_alone() {
  local perf
  perf=$(command -v perf) || { say "perf is not installed: no comparison"; return; }
  say "The same query as perf alone shows it: the generated code has no names, and no operators"
  printf '%s$ perf record -e cpu-clock -- weft ... ; perf report --sort dso,symbol%s\n' "$BOLD" "$RESET"
  TAILOR_DISABLE=1 "$perf" record -q -e cpu-clock -F 1000 -o "$DEMO/perf.data" -- \
    weft --sf "$1" --threads 2 --repeat 3 --quiet --query figure-9 >/dev/null 2>"$DEMO/perf.log" ||
    { say "perf record failed: $(tail -n 1 "$DEMO/perf.log")"; return; }
  "$perf" report -i "$DEMO/perf.data" --stdio --sort dso,symbol 2>/dev/null | sed -nE '/^(#|$)/d; s/ +(- +)*$//; p' | sed -n '1,12p'
}

# What a browser shows of the last query: a file, and on a terminal the page itself until Ctrl-C.
demo_pictures() {
  say "The same in pictures, as one file that opens in any browser"
  show tailor report --last 3 --html "$DEMO/report.html" || { say "no pictures: see above"; return 0; }
  [ -t 0 ] && [ -t 1 ] || return 0
  say "And all executions, live, until Ctrl-C"
  printf '%s$ tailor web%s\n' "$BOLD" "$RESET"
  trap : INT
  tailor web || true
  trap - INT
}

demo_next() {
  local scale=$1
  say "Every execution was recorded:"
  show tailor list
  cat <<TXT

Try next, in a shell where this folder's build/bin is in PATH:
  tailor record -o q18.tailor -- weft --sf $scale --threads 2 --query tpch-18    a recording without the daemon
  tailor report q18.tailor --level task         what each operator did in each pipeline
  tailor annotate q18.tailor                    the generated IR, line by line, with its owners
  tailor report q18.tailor --json               the same for programs
  weft explain --sf $scale --query tpch-18      the plan itself
README.md says how to use Tailor with an engine of your own.
TXT
}
