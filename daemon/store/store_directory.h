// Where the files of a store lie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/store/block.h"
#include "proto/base/result.h"

namespace tailor::store {

// The default store of the daemon.
inline constexpr const char* kDefaultStore = "/var/lib/tailor/store";

std::string segment_path(const std::string& directory, std::uint64_t number, FileKind kind);
std::string catalogue_path(const std::string& directory);

struct SegmentFile {
  std::uint64_t number = 0;
  FileKind kind = FileKind::kDataSegment;
  std::uint64_t bytes = 0;
};
// The segments that lie in `directory`, by number. Files of other names are not looked at.
Result<std::vector<SegmentFile>> list_segments(const std::string& directory);

// Creates the directory (mode 0750) with its parents where it is missing. Takes rights away from one that is
// open to others; fails for one of another user.
Status make_store_directory(const std::string& directory);

// Creates the file where it is missing, and takes away what rights it gives beyond 0640.
Status make_private_file(const std::string& path);

}  // namespace tailor::store
