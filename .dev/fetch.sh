# shellcheck shell=bash
dev_fetch() {
  need build data test kernel full lint
  need_venv
  if [ -x tests/kernel/fetch ]; then tests/kernel/fetch || say "kernel images: not fetched; the kernel tests will be skipped"; fi
  say "Everything is here: ./dev demo, test, bench and lint now work with --offline."
}
