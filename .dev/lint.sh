# Every check prints what it looked at; the first that fails does not hide the others.
dev_lint() {
  local failed=0 files
  need lint build test
  mapfile -t files < <(git ls-files '*.cc' '*.h' '*.c' ':!kmod' ':!tests/fuzz/corpus')
  say "clang-format (${#files[@]} files)"
  clang-format-19 --dry-run --Werror "${files[@]}" || failed=1
  say "folder rules"
  python3 .dev/check_folders.py || failed=1
  say "shellcheck"
  git ls-files | while read -r f; do head -c 30 "$f" | grep -aqE '^#!.*(bash|/sh)' && echo "$f"; done |
    xargs -r shellcheck -x -S warning .dev/*.sh || failed=1
  say "clang-tidy"
  dev_lint_tidy "$@" || failed=1
  [ $failed = 0 ] && say "lint: clean"
  return $failed
}

# Sources that pull LLVM headers in take minutes each: they are checked with --all only.
dev_lint_tidy() {
  local pattern='compiler/(llvm|weft/(codegen|exec))/|tests/(unit/(llvm|weft)|bench|fuzz)' sources
  [ "${1:-}" = --all ] && pattern='^$'
  [ -f build/compile_commands.json ] || { cmake --preset release >"$CACHE/configure-release.log" && ninja -C build tailor_proto >/dev/null; }
  mapfile -t sources < <(git ls-files '*.cc' | grep -vE "$pattern")
  echo "${#sources[@]} files"
  printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy-19 -p build --quiet --warnings-as-errors='*' \
    >"$CACHE/tidy.log" 2>/dev/null || { grep -E 'error:|warning:' "$CACHE/tidy.log" | sort -u | head -40; return 1; }
}
