# shellcheck shell=bash
# The agent's ABI against what is stored of it: only additions are allowed, and they are stored too.

# dev_lint_abi [--update]
dev_lint_abi() {
  local baseline=agent/abi/libtailor_agent.abi folder status=0
  local what=(--no-show-locs)
  # The functions that do nothing have the interface of those that do, and no types of an implementation beside it. Names
  # of functions are compared with the installed library by a test (abi_2.txt).
  folder=$(mktemp -d)
  g++ -std=c++20 -g -O0 -shared -fPIC -Iagent/include -Iproto/include agent/noop.cc \
    -Wl,--version-script=agent/exports.map -Wl,-soname,libtailor_agent.so.2 -o "$folder/agent.so" || return 1
  if [ "${1:-}" = --update ]; then
    mkdir -p "$(dirname "$baseline")"
    abidw "${what[@]}" --no-corpus-path --no-comp-dir-path \
      --type-id-style hash --out-file "$baseline" "$folder/agent.so" || status=$?
    say "abi: $baseline written"
  elif ! abidiff "${what[@]}" --no-added-syms "$baseline" "$folder/agent.so"; then
    say "abi: what engines were built against has changed. Only functions, and fields at the end of structs that carry their size, may be added; then run ./dev lint --update-abi"
    status=1
  elif ! abidiff "${what[@]}" "$baseline" "$folder/agent.so" >/dev/null; then
    say "abi: functions were added: run './dev lint --update-abi' and commit $baseline"
    status=1
  fi
  rm -r "$folder"
  return "$status"
}
