// The directory of the sockets. Without XDG_RUNTIME_DIR it lies in /tmp, where anybody may have made one of
// that name before: who binds or connects there first asks whether it is the user's own.
#pragma once

#include <string>

#include "proto/base/result.h"

namespace tailor::control {

// Fails if `directory` is a symbolic link, no directory, of another user, or open to others (any mode but
// 0700).
Status check_private_directory(const std::string& directory);

// Before binding `socket`: makes its directory where that is missing (0755 for root, 0700 for others,
// whatever the umask), with its parents. One below /tmp that is the user's default must be private.
Status make_socket_directory(const std::string& socket);

// Before connecting to `socket`: the user's default below /tmp must be private. Others are taken as they are.
Status check_socket_directory(const std::string& socket);

}  // namespace tailor::control
