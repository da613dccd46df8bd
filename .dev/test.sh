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

# Runs the tests group by group, so that a slow group shows. A test that cannot run here skips with its reason.
dev_test() {
  local full='' only='' filter=() group start failed=0 ran=0 skipped=0 bad=0 log tests
  while [ $# -gt 0 ]; do
    case $1 in
      --full) full=1 ;;
      --group) only=${2:?--group needs a name}; shift ;;
      --filter) filter=(-R "${2:?--filter needs an expression}"); shift ;;
      *) die 2 "test: unknown option '$1'" ;;
    esac
    shift
  done
  need build data test jvm service packages postgres browser kernel ${full:+full}
  need_venv
  web_build
  # Recordings of other machines, where they lie beside the checkout. The tests say where they are missing.
  [ -d ../shared/data/perf ] && export TAILOR_PERF_DATA_SAMPLES=${TAILOR_PERF_DATA_SAMPLES:-$PWD/../shared/data/perf}
  if [ -x tests/kernel/fetch ]; then tests/kernel/fetch || true; fi
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
      unit) tests=(--test-dir build -L '^unit$' -j "$(nproc)") ;;
      asan)
        build asan tailor_unit_tests_without_llvm
        tests=(--test-dir build-asan -L '^without-llvm$' -j "$(nproc)")
        ;;
    esac
    ctest "${tests[@]}" ${filter[@]+"${filter[@]}"} --verbose --no-tests=ignore >"$log" 2>&1 || failed=1
    # Skips with their reasons, and failures, are what a reader wants to see; the rest is in the log.
    grep -hE 'SKIP: |\[  (SKIPPED|FAILED ) \].*ms\)|\*\*\*(Failed|Timeout|Exception|Not Run)' "$log" | sort -u | sed -n 1,60p || true
    show_failures "$log"
    ran=$((ran + $(grep -cE ' Passed ' "$log" || true)))
    skipped=$((skipped + $(grep -cE '\*\*\*Skipped' "$log" || true)))
    bad=$((bad + $(grep -cE '\*\*\*(Failed|Timeout|Exception|Not Run)' "$log" || true)))
    printf '%s    %-12s %4d s%s\n' "$DIM" "$group" $((SECONDS - start)) "$RESET"
  done
  if [ -n "$full" ] && [ -z "$only" ]; then
    say "fuzzers, 30 s each"
    fuzz_all 30 || failed=1
  fi
  echo "$ran passed, $bad failed, $skipped skipped"
  return $failed
}
