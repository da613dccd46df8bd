// Fields of perf.data that headers and records share.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "daemon/formats/perf_file.h"

namespace tailor::formats {

// A read past the end gives zeros and makes ok() false for good: check once, after the last field.
class PerfCursor {
 public:
  explicit PerfCursor(PerfBytes bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  PerfBytes rest() const { return bytes_; }
  PerfBytes take(std::uint64_t size) {
    if (size > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const PerfBytes taken = bytes_.first(static_cast<std::size_t>(size));
    bytes_ = bytes_.subspan(static_cast<std::size_t>(size));
    return taken;
  }
  template <typename T>
  T fixed() {
    T value{};
    const PerfBytes bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

 private:
  PerfBytes bytes_;
  bool ok_ = true;
};

// Up to the first 0.
std::string perf_text(PerfBytes bytes);
// A length of four bytes, then as much text, filled up with 0.
std::string take_perf_string(PerfCursor& cursor);
// The size the attribute states of itself decides how much of it there is; what is newer than ours is cut.
std::optional<perf_event_attr> take_perf_attr(PerfCursor& cursor);
std::vector<std::uint64_t> take_perf_ids(PerfBytes bytes);
// `payload` follows the header of a build id's record.
std::optional<PerfBuildId> parse_perf_build_id(PerfBytes payload, std::uint16_t misc);
// One feature by its number (HEADER_*); those that are not known here change nothing.
void describe_perf_feature(unsigned feature, PerfBytes content, PerfDescription& out);
// (id, name) of the feature that describes events.
std::vector<std::pair<std::uint64_t, std::string>> parse_perf_event_names(PerfBytes content);

}  // namespace tailor::formats
