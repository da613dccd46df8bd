# shellcheck shell=bash
. .dev/fuzz.sh

# What each failed test of a ctest log printed: the checks that failed, and its end.
show_failures() {
  local number rest
  { grep -oE 'Test +#[0-9]+: .*\*\*\*(Failed|Timeout|Exception|Not Run)' "$1" || true; } | while read -r _ number rest; do
    number=${number#\#}
    say "failed: ${rest%% *}"
    { grep -E "^${number%:}: " "$1" | cut -c1-400 | grep -A8 -E ': Failure$|Error|Traceback' | sed -n 1,60p
      echo '...'
      grep -E "^${number%:}: " "$1" | cut -c1-400 | tail -n 25; } || true
  done
}

FAILURE='\*\*\*(Failed|Timeout|Exception|Not Run)'

# count EXPRESSION FILE: its lines that fit.
count() { grep -cE "$1" "$2" || true; }

suite() { python3 .dev/suite.py "$@"; }

# Only tests with the label live may run a second time: they ask how much of a share a host's samples find. What is named here
# failed, and everything of it that is live is named for ctest, as an expression; nothing if there is none.
live_again() {
  local names
  names=$(comm -12 <(suite failed "$1" | sort) \
    <(ctest --test-dir build -N -L '^live$' | sed -nE 's/^ *Test +#[0-9]+: ([^ ]+)$/\1/p' | sort) | paste -sd'|')
  [ -z "$names" ] || printf '^(%s)$' "$names"
}

# A process for each CPU that uses it, and one that writes to the disk: a host with other work.
make_busy() {
  BUSY=$(mktemp -d "${TMPDIR:-/tmp}/tailor-busy.XXXXXX")
  BUSY_PIDS=()
  for _ in $(seq "$(nproc)"); do
    (while :; do :; done) &
    BUSY_PIDS+=($!)
  done
  (while :; do dd if=/dev/zero of="$BUSY/file" bs=1M count=64 conv=fdatasync 2>/dev/null; done) &
  BUSY_PIDS+=($!)
  trap make_quiet EXIT
}

make_quiet() {
  kill "${BUSY_PIDS[@]}" 2>/dev/null || true
  wait "${BUSY_PIDS[@]}" 2>/dev/null || true
  rm -rf "$BUSY"
}

# The live tests, RUNS times beside other work. Nothing is tried again: which tests failed, and how often, is what is asked.
dev_test_busy() {
  local runs=$1 only=$2 run group log failed=$CACHE/busy-failed
  shift 2
  : >"$failed"
  make_busy
  for run in $(seq "$runs"); do
    for group in integration e2e jvm spark postgres browser; do
      [ -n "$only" ] && [ "$only" != "$group" ] && continue
      log=$CACHE/busy-$group-$run.log
      ctest --test-dir build -L "^$group\$" -L '^live$' "$@" -j 1 --verbose --no-tests=ignore >"$log" 2>&1 || true
      show_failures "$log"
      suite failed "$log" >>"$failed"
      say "run $run of $runs, $group: $(suite passed "$log" | wc -l) passed, $(suite failed "$log" | wc -l) failed," \
        "$(count '\*\*\*Skipped' "$log") skipped"
    done
  done
  make_quiet
  trap - EXIT
  sort "$failed" | uniq -c | sort -rn | while read -r times test; do say "unsteady: $test failed in $times of $runs runs"; done
  echo "$(sort -u "$failed" | wc -l) unsteady tests in $runs runs beside a busy process for each CPU and a writer"
  [ ! -s "$failed" ]
}

# Runs the tests group by group, so that a slow group shows. A test that cannot run here skips with its reason.
dev_test() {
  local full='' only='' busy='' filter=() group start failed=0 ran=0 skipped=0 bad=0 log cpu tests wrong test again unsteady=() logs=() over=() groups=()
  while [ $# -gt 0 ]; do
    case $1 in
      --full) full=1 ;;
      --group) only=${2:?--group needs a name}; shift ;;
      --busy) busy=${2:?--busy needs a number of runs}; shift ;;
      --filter) filter=(-R "${2:?--filter needs an expression}"); shift ;;
      *) die 2 "test: unknown option '$1'" ;;
    esac
    shift
  done
  need build data demo test jvm maven service packages postgres browser kernel ${full:+full}
  need_venv
  web_build
  # Recordings of other machines, where they lie beside the checkout. The tests say where they are missing.
  [ -d ../shared/data/perf ] && export TAILOR_PERF_DATA_SAMPLES=${TAILOR_PERF_DATA_SAMPLES:-$PWD/../shared/data/perf}
  if [ -x tests/kernel/fetch ]; then tests/kernel/fetch || true; fi
  case $only in '' | jvm | full) tests/jvm/fetch >/dev/null || true ;; esac
  case $only in '' | spark) tests/spark/fetch || true ;; esac
  # PostgreSQL 16 is tested by --full only.
  if [ -n "$full" ] || [ "$only" = full ]; then tests/postgres/fetch >/dev/null || true; fi
  start=$SECONDS
  # The cross-checks need what the virtual environment holds.
  cmake --preset release -DPython3_EXECUTABLE="$VENV/bin/python3" >"$CACHE/configure-release.log" 2>&1 ||
    { tail -n 20 "$CACHE/configure-release.log" >&2; die 1 "cmake failed: see $CACHE/configure-release.log"; }
  [ "$only" = asan ] || build release
  say "build: $((SECONDS - start)) s"
  if [ -n "$busy" ]; then
    dev_test_busy "$busy" "$only" ${filter[@]+"${filter[@]}"}
    return
  fi
  for group in unit asan fuzz integration e2e jvm spark postgres browser kernel ${full:+full}; do
    [ -n "$only" ] && [ "$only" != "$group" ] && continue
    # Compiled for the first time it takes longer than any other group.
    [ "$group" = asan ] && [ -z "$full$only" ] && continue
    start=$SECONDS
    log=$CACHE/test-$group.log
    cpu=$CACHE/test-$group.cpu
    rm -f "$cpu"
    say "$group"
    tests=(--test-dir build -L "^$group\$" -j 1)
    case $group in
      # A Spark waits for itself much of its time.
      spark) tests=(--test-dir build -L '^spark$' -j 2) ;;
      # Those of them that are live run alone all the same (tailor_live in CMakeLists.txt).
      unit | integration | e2e) tests=(--test-dir build -L "^$group\$" -j "$(nproc)") ;;
      asan)
        # What does not compile is a failure of this group, and not the end of the others.
        (build asan tailor_unit_tests_without_llvm) || { failed=1 bad=$((bad + 1)); continue; }
        tests=(--test-dir build-asan -L '^without-llvm$' -j "$(nproc)")
        ;;
    esac
    wrong=''
    suite run "$cpu" "$log" ctest "${tests[@]}" ${filter[@]+"${filter[@]}"} --verbose --no-tests=ignore || wrong=1
    logs+=("$log") groups+=("$group")
    # Skips with their reasons, and failures, are what a reader wants to see; the rest is in the log.
    grep -hE "SKIP: |\[  (SKIPPED|FAILED ) \].*ms\)|$FAILURE" "$log" | sort -u | sed -n 1,60p || true
    show_failures "$log"
    ran=$((ran + $(count ' Passed ' "$log")))
    skipped=$((skipped + $(count '\*\*\*Skipped' "$log")))
    bad=$((bad + $(count "$FAILURE" "$log")))
    again=$([ -z "$wrong" ] || live_again "$log")
    if [ -n "$again" ]; then
      # What it used the second time is its own, but does not count: the budget is of a run that passes.
      ctest --test-dir build -R "$again" -j 1 --verbose >"$log.again" 2>&1 || true
      show_failures "$log.again"
      mapfile -t -O "${#unsteady[@]}" unsteady < <(suite passed "$log.again")
      test=$(suite passed "$log.again" | wc -l)
      ran=$((ran + test)) bad=$((bad - test))
      [ -n "$(comm -23 <(suite failed "$log" | sort) <(suite passed "$log.again" | sort))" ] || wrong=''
    fi
    [ -z "$wrong" ] || failed=1
    printf '%s    %-12s %4d s, %s%s\n' "$DIM" "$group" $((SECONDS - start)) "$(suite budget "$group" "$(cat "$cpu")")" "$RESET"
    suite budget "$group" "$(cat "$cpu")" >/dev/null || { failed=1 over+=("$group"); }
  done
  if [ -n "$full" ] && [ -z "$only" ]; then
    say "fuzzers, 30 s each"
    fuzz_all 30 || failed=1
  fi
  if [ ${#logs[@]} -gt 0 ]; then
    say "the ten dearest tests"
    suite dearest "${logs[@]}"
  fi
  # `./dev bench` keeps the figures of a whole run that passed.
  [ -n "$full$only${filter[*]-}" ] || [ $bad != 0 ] || suite record build/suite.json "$CACHE" "${groups[@]}"
  for group in ${over[@]+"${over[@]}"}; do say "too dear: $group (.dev/budgets)"; done
  for test in ${unsteady[@]+"${unsteady[@]}"}; do
    say "failed once and then passed: $test (what it said is above; a test that stands here often is a defect)"
  done
  echo "$ran passed, $bad failed, $skipped skipped"
  return $failed
}
