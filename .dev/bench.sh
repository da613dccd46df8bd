# shellcheck shell=bash
dev_bench() {
  need build data demo test
  need_venv
  build release
  exec "$VENV/bin/python3" tests/bench/run "$@"
}
