# shellcheck shell=bash
dev_fetch() {
  need build data demo test jvm service packages postgres browser kernel lint
  need_venv
  web_packages || true
  if [ -x tests/kernel/fetch ]; then tests/kernel/fetch || say "kernel images: not fetched; the kernel tests will be skipped"; fi
  tests/spark/fetch || say "PySpark: not fetched; the tests of Spark will be skipped"
  say "Everything is here: ./dev demo, test, bench and lint now work with --offline."
}
