# shellcheck shell=bash
# Every check prints what it looked at; the first that fails does not hide the others.
dev_lint() {
  local failed=0 files
  shopt -s nullglob
  need lint build test
  # shellcheck source=/dev/null
  . .dev/abi.sh
  if [ "${1:-}" = --update-abi ]; then
    dev_lint_abi --update
    return
  fi
  # The module and the header it shares keep the kernel's style.
  mapfile -t files < <(git ls-files '*.cc' '*.h' '*.c' ':!kmod' ':!tests/kernel' ':!proto/include/tailor/clock_page.h')
  say "clang-format (${#files[@]} files)"
  clang-format-19 --dry-run --Werror "${files[@]}" || failed=1
  say "folder rules"
  python3 .dev/check_folders.py || failed=1
  say "links of the docs"
  python3 .dev/check_links.py || failed=1
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
  if [ $# -gt 0 ]; then
    say "clang-tidy"
    dev_lint_tidy "$@" || failed=1
  fi
  [ $failed = 0 ] && say "lint: clean"
  return $failed
}

shell_scripts() {
  local file
  git ls-files | while read -r file; do
    [[ "$file" = *.sh || "$(head -c 30 "$file" | tr -d '\0')" =~ ^#!.*(bash|/sh) ]] && echo "$file"
  done
}

# A source takes seconds, one with LLVM's headers a minute: --tidy analyses what reads bytes
# from outside and what runs inside engines, --tidy-all everything.
dev_lint_tidy() {
  local sources=(agent/*.cc daemon/{capture/decode,capture/select,capture/host,formats,foreign,registration,store,journal,pipeline,process,attribute}/*.cc)
  [ "${1:-}" = --tidy-all ] && mapfile -t sources < <(git ls-files '*.cc' ':!tests/integration')
  # The commands of the development preset name every source; those of the release preset name several together.
  cmake --preset dev >"$CACHE/configure-dev.log"
  ninja -C build-dev tailor_proto >/dev/null
  echo "${#sources[@]} files"
  printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy-19 -p build-dev --quiet --warnings-as-errors='*' --extra-arg=-Wno-deprecated-declarations \
    >"$CACHE/tidy.log" 2>/dev/null || { grep -E 'error:|warning:' "$CACHE/tidy.log" | sort -u | sed -n 1,40p; return 1; }
}
