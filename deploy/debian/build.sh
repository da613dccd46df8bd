#!/bin/sh
# build.sh BUILD OUTPUT [VERSION]: makes the packages of a build folder that is ready, into OUTPUT.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
output=$(cd "$2" && pwd)
# For /usr, where CMake knows the folder of the architecture.
cmake -S "$here/../.." -B "$build/packaged_agent" -G Ninja -DTAILOR_AGENT_ONLY=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_INSTALL_PREFIX=/usr >/dev/null
cmake --build "$build/packaged_agent"
cd "$build"
cpack -G DEB -B "$output" ${3:+-D CPACK_PACKAGE_VERSION="$3"}
rm -rf "$output/_CPack_Packages"
