# shellcheck shell=bash disable=SC2016,SC2034
# Sourced by fetch: the newest Debian kernel, which this system's package lists do not have. It comes from the next
# release's backports through package lists of our own; the system's are not touched and nothing is installed. Its
# build tools and its compiler were made for a newer C library: they run with that one, unpacked beside them.

next_debian=trixie
newest_failed= # why, if something did

# newest_lists DIR: from here on apt-get and apt-cache see the next Debian, with lists kept in DIR.
newest_lists() {
  local dir=$1 uri keyring=/usr/share/keyrings/debian-archive-keyring.gpg stamp=$1/updated
  newest_failed="no $keyring"
  [ -f "$keyring" ] || return 1
  mkdir -p "$dir"/lists "$dir"/cache
  : >"$dir/status" # nothing is installed: dependencies are those of the next Debian alone
  uri=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    sed -n 's|^Debian \(.*/debian/\)$|\1|p' | sed -n 1p)
  newest_failed="the package lists of this system name no Debian mirror"
  [ -n "$uri" ] || return 1
  printf 'deb [arch=amd64 target=Packages signed-by=%s] %s %s main\n' \
    "$keyring" "$uri" "$next_debian-backports" \
    "$keyring" "$uri" "$next_debian" >"$dir/sources.list"
  cat >"$dir/apt.conf" <<CONF
Dir::State "$dir";
Dir::State::lists "$dir/lists";
Dir::State::status "$dir/status";
Dir::Cache "$dir/cache";
Dir::Etc::sourcelist "$dir/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Default-Release "$next_debian-backports";
APT::Sandbox::User "root";
CONF
  export APT_CONFIG=$dir/apt.conf
  # Once a day is enough for 10 MB.
  [ -z "$(find "$stamp" -mtime -1 2>/dev/null)" ] || return 0
  if apt-get update -o APT::Update::Error-Mode=any >"$dir/log" 2>&1; then
    touch "$stamp"
  else
    newest_failed=$(grep -m1 -E '^[EW]:' "$dir/log" || echo "apt-get update failed")
    return 1
  fi
}

# newest_tools ROOT: the compiler that the headers in ROOT ask for and the libraries of all build tools.
newest_tools() {
  local root=$1 headers compiler tool deb
  headers=$(basename "$root"/usr/src/linux-headers-*-cloud-amd64)
  compiler=$(dependency "$headers" 'gcc-[0-9]*-for-host' | sed 's/-for-host//')
  newest_failed="the headers name no compiler"
  [ -n "$compiler" ] || return 1
  newest_failed="see $root/log"
  mkdir -p "$root/debs"
  (cd "$root/debs" && apt-get download "$compiler-x86-64-linux-gnu" "cpp-${compiler#gcc-}-x86-64-linux-gnu" \
    libc6 libgmp10 libisl23 libmpc3 libmpfr6 libzstd1 zlib1g libelf1t64) >>"$root/log" 2>&1 || return 1
  for deb in "$root"/debs/*.deb; do dpkg -x "$deb" "$root" 2>>"$root/log" || return 1; done
  rm -r "$root/debs"
  find "$root"/usr/bin "$root"/usr/libexec "$root"/usr/lib/linux-kbuild-* -type f -perm /111 ! -name '*.so*' |
    while read -r tool; do run_beside "$(realpath "$root")" "$tool"; done
  for tool in "$root/usr/bin/x86_64-linux-gnu-$compiler" "$root"/usr/lib/linux-kbuild-*/tools/objtool/objtool; do
    newest_failed="$(basename "$tool") does not run with the libraries in $root"
    runs "$tool" || return 1
  done
}

# runs PROGRAM: whether the loader finds all that it needs. Its own status says too little: a library that is too old
# ends a program with 1, and objtool, which wants variables, with 2 where all is well.
runs() {
  local said status=0
  said=$("$1" --help 2>&1) || status=$?
  [ "$status" -lt 126 ] && [[ "$said" != *'error while loading'* && "$said" != *'not found (required by'* ]]
}

# run_beside ROOT PROGRAM: lets a program that lacks something here run with the libraries in ROOT.
run_beside() {
  [ "$(head -c 4 "$2")" = $'\x7fELF' ] || return 0
  [[ "$(ldd "$2" 2>&1)" = *'not found'* ]] || return 0
  mv "$2" "$2.elf"
  # The name stays that of the program: gcc finds its parts relative to it.
  printf '#!/bin/sh\nexec %s --library-path %s --argv0 "$0" "$0.elf" "$@"\n' \
    "$1/usr/lib64/ld-linux-x86-64.so.2" "$1/usr/lib/x86_64-linux-gnu" >"$2"
  chmod 755 "$2"
}
