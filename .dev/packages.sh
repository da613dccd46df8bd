# shellcheck shell=bash
# The Debian packages, from the release build.
dev_packages() {
  local output=${1:-build/packages}
  need build test jvm postgres packages
  web_build
  # Which packages there are follows from the servers and the JDK that are installed now.
  cmake --preset release >"$CACHE/configure-release.log" 2>&1 ||
    { tail -n 20 "$CACHE/configure-release.log" >&2; die 1 "cmake failed: see $CACHE/configure-release.log"; }
  build release tailor_packaged
  deploy/debian/build.sh build "$output" >"$CACHE/packages.log" 2>&1 ||
    { tail -n 20 "$CACHE/packages.log" >&2; die 1 "cpack failed: see $CACHE/packages.log"; }
  say "packages, in $output"
  find "$output" -maxdepth 1 -name '*.deb' -printf '%f %kK\n' | sort
}
