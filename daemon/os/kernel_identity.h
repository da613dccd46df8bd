// Which kernel runs, and where its code lies: what tells whether addresses of a recording are its.
#pragma once

#include <filesystem>
#include <string>

namespace tailor::os {

// "": it cannot be read.
struct KernelIdentity {
  std::string release;   // as uname says it
  std::string machine;   // "x86_64"
  std::string boot_id;   // of this boot alone
  std::string build_id;  // of the kernel, in hexadecimal
  std::string anchor;    // where it has its code: "_text=ffffffff81000000"; needs the right to see addresses
};

KernelIdentity kernel_identity(const std::filesystem::path& proc, const std::filesystem::path& sys);

}  // namespace tailor::os
