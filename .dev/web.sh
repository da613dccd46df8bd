# shellcheck shell=bash
# The web page: npm's packages by their lock file, and viewer/web/dist made of the sources when they changed.

WEB=$TAILOR_ROOT/viewer/web

web_npm() { (cd "$WEB" && PATH=$VENV/bin:$PATH npm_config_cache=$CACHE/npm npm --no-audit --no-fund --loglevel=error "$@"); }

# What a build is made of, as one number.
web_sources() {
  (cd "$WEB" && find src build index.html package.json package-lock.json tsconfig.json vite.config.ts -type f -print0 |
    sort -z | xargs -0 sha256sum | sha256sum)
}

# web_packages: the packages of the lock file. Fails, and says so, where they cannot be had.
web_packages() {
  local stamp=$WEB/node_modules/.lock.sha256 wanted
  wanted=$(sha256sum <"$WEB/package-lock.json")
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && return 0
  if [ -n "$TAILOR_OFFLINE" ]; then
    say "the web page's packages are missing, and --offline forbids to download them: run ./dev fetch"
    return 1
  fi
  say "Packages of the web page (npm, into viewer/web/node_modules)"
  # No script of a package runs here.
  web_npm ci --ignore-scripts >"$CACHE/npm.log" 2>&1 || web_npm ci --ignore-scripts >"$CACHE/npm.log" 2>&1 ||
    { tail -n 3 "$CACHE/npm.log" >&2; return 1; }
  echo "$wanted" >"$stamp"
}

# web_build: makes the page. Without its packages the programs are built all the same, and say that they have no page.
web_build() {
  local stamp=$WEB/node_modules/.sources.sha256 sources
  sources=$(web_sources)
  [ -f "$WEB/dist/report.html" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$sources" ] && return 0
  need_tools  # node and npm are in it
  if ! web_packages; then
    say "the web page is not built: tailord and tailor will have none"
    return 0
  fi
  web_npm run build >"$CACHE/web-build.log" 2>&1 || { tail -n 20 "$CACHE/web-build.log" >&2; die 1 "the web page's build failed: see $CACHE/web-build.log"; }
  echo "$sources" >"$stamp"
}

# web_check: types, unused names and the like.
web_check() {
  need_venv
  web_packages || { say "the web page is not checked: its packages are missing"; return 0; }
  web_npm run check
}
