# shellcheck shell=bash
# The Debian packages, from the release build.
dev_packages() {
  local output=${1:-build/packages}
  need build test packages
  web_build
  build release tailord tailor tailor_help
  deploy/debian/build.sh build "$output" >"$CACHE/packages.log" 2>&1 ||
    { tail -n 20 "$CACHE/packages.log" >&2; die 1 "cpack failed: see $CACHE/packages.log"; }
  say "packages, in $output"
  find "$output" -maxdepth 1 -name '*.deb' -printf '%f %kK\n' | sort
}
