# shellcheck shell=bash
dev_fetch() {
  need build data demo test full jvm maven service packages postgres browser kernel lint
  need_venv
  web_packages || true
  if [ -x tests/kernel/fetch ]; then tests/kernel/fetch || say "kernel images: not fetched; the kernel tests will be skipped"; fi
  tests/jvm/fetch >/dev/null || say "JDK 21 or Janino: not fetched; their tests will be skipped"
  tests/spark/fetch || say "PySpark: not fetched; the tests of Spark will be skipped"
  tests/postgres/fetch >/dev/null || say "PostgreSQL 16: not fetched; its tests, of --full, will be left out"
  say "Everything is here: ./dev demo, test, bench and lint now work with --offline."
}
