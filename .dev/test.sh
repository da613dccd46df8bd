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

# Tests of these groups judge shares of samples. Each asks many questions whose right answer chance hides about once in 400
# times, so one of all these tests fails now and then. Nothing else gets a second try.
samples_live() {
  case $1 in unit | asan | fuzz) return 1 ;; esac
}

passed() { sed -nE 's/^ *[0-9]+\/[0-9]+ +Test +#[0-9]+: ([^ ]+) .* Passed .*/\1/p' "$1"; }

# Runs the tests group by group, so that a slow group shows. A test that cannot run here skips with its reason.
dev_test() {
  local full='' only='' filter=() group start failed=0 ran=0 skipped=0 bad=0 log tests wrong test unsteady=()
  while [ $# -gt 0 ]; do
    case $1 in
      --full) full=1 ;;
      --group) only=${2:?--group needs a name}; shift ;;
      --filter) filter=(-R "${2:?--filter needs an expression}"); shift ;;
      *) die 2 "test: unknown option '$1'" ;;
    esac
    shift
  done
  need build data test jvm maven service packages postgres browser kernel ${full:+full}
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
  for group in unit asan fuzz integration e2e jvm spark postgres browser kernel ${full:+full}; do
    [ -n "$only" ] && [ "$only" != "$group" ] && continue
    # Compiled for the first time it takes longer than any other group.
    [ "$group" = asan ] && [ -z "$full$only" ] && continue
    start=$SECONDS
    log=$CACHE/test-$group.log
    say "$group"
    tests=(--test-dir build -L "^$group\$" -j 1)
    case $group in
      # A Spark waits for itself much of its time.
      spark) tests=(--test-dir build -L '^spark$' -j 2) ;;
      unit) tests=(--test-dir build -L '^unit$' -j "$(nproc)") ;;
      asan)
        # What does not compile is a failure of this group, and not the end of the others.
        (build asan tailor_unit_tests_without_llvm) || { failed=1 bad=$((bad + 1)); continue; }
        tests=(--test-dir build-asan -L '^without-llvm$' -j "$(nproc)")
        ;;
    esac
    wrong=''
    ctest "${tests[@]}" ${filter[@]+"${filter[@]}"} --verbose --no-tests=ignore >"$log" 2>&1 || wrong=1
    # Skips with their reasons, and failures, are what a reader wants to see; the rest is in the log.
    grep -hE "SKIP: |\[  (SKIPPED|FAILED ) \].*ms\)|$FAILURE" "$log" | sort -u | sed -n 1,60p || true
    show_failures "$log"
    ran=$((ran + $(count ' Passed ' "$log")))
    skipped=$((skipped + $(count '\*\*\*Skipped' "$log")))
    if [ "$(count "$FAILURE" "$log")" -gt 0 ] && samples_live "$group"; then
      ctest "${tests[@]}" --rerun-failed --verbose --no-tests=ignore >"$log.again" 2>&1 && wrong=''
      log=$log.again
      show_failures "$log"
      mapfile -t -O "${#unsteady[@]}" unsteady < <(passed "$log")
      ran=$((ran + $(count ' Passed ' "$log")))
    fi
    [ -z "$wrong" ] || failed=1
    bad=$((bad + $(count "$FAILURE" "$log")))
    printf '%s    %-12s %4d s%s\n' "$DIM" "$group" $((SECONDS - start)) "$RESET"
  done
  if [ -n "$full" ] && [ -z "$only" ]; then
    say "fuzzers, 30 s each"
    fuzz_all 30 || failed=1
  fi
  for test in ${unsteady[@]+"${unsteady[@]}"}; do
    say "failed once and then passed: $test (what it said is above; a test that stands here often is a defect)"
  done
  echo "$ran passed, $bad failed, $skipped skipped"
  return $failed
}
