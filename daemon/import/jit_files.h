// Files beside a recording that name generated code: anybody may write such a file into /tmp, so whose it is
// decides whether it is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::importer {

// Users whose files are believed.
using Owners = std::set<std::uint32_t>;

struct JitFile {
  UniqueFd file;
  std::uint64_t size = 0;
  std::int64_t written_ns = 0;  // CLOCK_REALTIME
  std::uint64_t device = 0, inode = 0;

  // As many bytes as there are.
  std::size_t read_at(std::uint64_t offset, std::span<char> to) const;
};

// A regular file; where `path` itself is a symbolic link, it is not followed (one of its directories may be
// one). `owners` NULL: whose it is does not matter. Fails with what is wrong with it; where there is none,
// with ErrorKind::kNotFound.
Result<JitFile> open_jit_file(const std::string& path, const Owners* owners);

// Root, and who runs this program.
Owners common_owners();
// The owner of the process, where one of that number runs here now and began before both moments: by
// CLOCK_REALTIME, and by the time since this machine was started.
std::optional<std::uint32_t> owner_of_running(std::int32_t pid, std::int64_t before_ns,
                                              std::int64_t before_since_boot_ns);
// This machine's name for itself, as perf writes it.
std::string name_of_this_host();

}  // namespace tailor::importer
