# shellcheck shell=bash
# Every decoder of bytes from outside, for a while, with libFuzzer and the sanitizers, from its corpus on.
dev_fuzz() {
  local seconds=30
  while [ $# -gt 0 ]; do
    case $1 in
      --seconds) seconds=${2:?--seconds needs a number}; shift ;;
      *) die 2 "fuzz: unknown option '$1'" ;;
    esac
    shift
  done
  need build test
  fuzz_all "$seconds"
}

# fuzz_all SECONDS: of each. What is found lies in build-fuzz/found; add it to the corpus with what mends it.
fuzz_all() {
  local seconds=$1 fuzzer name failed=0 found=$TAILOR_ROOT/build-fuzz/found targets
  mapfile -t targets < <(sed -n 's/^tailor_fuzzer(\([a-z_]*\).*/\1/p' tests/fuzz/*/CMakeLists.txt)
  build fuzz "${targets[@]}"
  mkdir -p "$found"
  for fuzzer in build-fuzz/fuzz/*_fuzz; do
    name=$(basename "$fuzzer")
    mkdir -p "build-fuzz/corpus/$name"
    if "$fuzzer" -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=10 -print_final_stats=1 \
      -artifact_prefix="$found/$name-" "build-fuzz/corpus/$name" tests/fuzz/*/corpus/"$name" \
      >"$CACHE/fuzz-$name.log" 2>&1; then
      printf '    %-20s %s inputs\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$CACHE/fuzz-$name.log")"
    else
      failed=1
      printf '    %-20s failed, see %s\n' "$name" "$CACHE/fuzz-$name.log"
      grep -E 'ERROR|SUMMARY|runtime error|Test unit' "$CACHE/fuzz-$name.log" | sed -n 1,5p
    fi
  done
  return $failed
}
