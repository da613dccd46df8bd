# shellcheck shell=bash
dev_bench() {
  need build data test
  need_venv
  build release
  exec tests/bench/run "$@"
}
