# shellcheck shell=bash
dev_build() {
  local preset=release targets=()
  while [ $# -gt 0 ]; do
    case $1 in
      --preset) preset=${2:?--preset needs a name}; shift ;;
      --target) targets+=("${2:?--target needs a name}"); shift ;;
      *) die 2 "build: unknown option '$1'" ;;
    esac
    shift
  done
  need build test jvm
  web_build
  build "$preset" ${targets[@]+"${targets[@]}"}
  [ "$preset" = release ] && say "built: build/bin/{tailord,tailor,weft}, build/lib/tailor-jvm.jar"
  return 0
}
