// What the name after -o, --html or --journal stands for.
#pragma once

#include <string>

#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::store {

// Either a file, or something that is written to as it is.
struct OutputTarget {
  std::string path;     // of the file; links are followed
  bool exists = false;  // a regular file of that name is there
  UniqueFd stream;      // of what is no file: a pipe, a device, a descriptor of this process
  bool standard_output = false;
};

// "-" and /dev/stdout are standard output, /dev/fd/N is descriptor N. A symbolic link leads to what it names,
// which need not be there. A named pipe is opened once somebody reads it. Fails for a directory, a block
// device and a socket, and for a link that the kernel would not follow either: one that another user has put
// into a directory where everybody may write (sysctl fs.protected_symlinks).
Result<OutputTarget> find_output_target(const std::string& path);

// Whether the name leads to standard output. Opens nothing.
bool is_standard_output(const std::string& path);

// Where the file lies: "." for a name without a directory.
std::string directory_of(const std::string& path);

// "standard output" for "-", else the path. For messages; it may be hostile.
std::string output_name(const std::string& path);

}  // namespace tailor::store
