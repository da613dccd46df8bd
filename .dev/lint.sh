# shellcheck shell=bash
# Every check prints what it looked at; the first that fails does not hide the others.
dev_lint() {
  local failed=0 files tidy=()
  shopt -s nullglob
  need lint build test jvm postgres
  # shellcheck source=/dev/null
  . .dev/abi.sh
  if [ "${1:-}" = --update-abi ]; then
    dev_lint_abi --update
    return
  fi
  case ${1:-} in
    '') ;;
    --tidy-all) tidy=(--update) ;;
    --ci) tidy=(--ci) ;;
    *) die 2 "lint: unknown option '$1'" ;;
  esac
  # The module and the header it shares keep the kernel's style.
  mapfile -t files < <(git ls-files '*.cc' '*.h' '*.c' ':!kmod' ':!tests/kernel' ':!proto/include/tailor/clock_page.h')
  say "clang-format (${#files[@]} files)"
  clang-format-19 --dry-run --Werror "${files[@]}" || failed=1
  say "folder rules"
  python3 .dev/check_folders.py || failed=1
  say "links of the docs"
  python3 .dev/check_links.py || failed=1
  say "kinds of errors"
  python3 .dev/check_errors.py || failed=1
  say "the HTTP interface: its contract, its page, its types"
  python3 .dev/check_api.py || failed=1
  say "columns of reports, formats of exports"
  python3 .dev/check_tables.py || failed=1
  say "plain English"
  python3 .dev/check_words.py || failed=1
  say "figures of the benchmarks"
  python3 tests/bench/figures.py --check || failed=1
  say "the version"
  python3 .dev/check_version.py || failed=1
  say "ABI of the agent"
  dev_lint_abi || failed=1
  say "shellcheck"
  mapfile -t files < <(shell_scripts)
  shellcheck -x -S warning "${files[@]}" || failed=1
  # Under pipefail such a pipe fails at times although it found: its reader ends before its writer has.
  if grep -nE '\| *(grep( -[a-zA-Z]+)* -[a-zA-Z]*q|head( |$))' "${files[@]}"; then
    say "lint: a reader that ends early, in a pipe whose status may count"
    failed=1
  fi
  say "web page: types"
  web_check || failed=1
  say "clang-tidy"
  dev_lint_tidy ${tidy[@]+"${tidy[@]}"} || failed=1
  [ $failed = 0 ] && say "lint: clean"
  return $failed
}

shell_scripts() {
  local file
  git ls-files | while read -r file; do
    [[ "$file" = *.sh || "$(head -c 30 "$file" | tr -d '\0')" =~ ^#!.*(bash|/sh) ]] && echo "$file"
  done
}

# Only what is not known to be clean is analysed (.dev/tidy.py), and only then the headers that the build makes are needed.
dev_lint_tidy() {
  local stale
  stale=$(python3 .dev/tidy.py --stale "$@") || return 1
  if [ -n "$stale" ]; then
    cmake --preset release >"$CACHE/configure-release.log" 2>&1 ||
      { tail -n 20 "$CACHE/configure-release.log" >&2; return 1; }
    ninja -C build -t targets all | sed -n 's/^\([^/].*\.\(h\|inc\)\): CUSTOM_COMMAND$/\1/p' |
      xargs ninja -C build >"$CACHE/tidy-headers.log" || { tail -n 20 "$CACHE/tidy-headers.log" >&2; return 1; }
  fi
  python3 .dev/tidy.py "$@"
}
