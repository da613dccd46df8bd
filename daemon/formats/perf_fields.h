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
  explicit PerfCursor(PerfBytes bytes, ByteOrder order = ByteOrder::kOurs) : bytes_(bytes), order_(order) {}

  bool ok() const { return ok_; }
  ByteOrder order() const { return order_; }
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
    return from_order(order_, value);
  }
  perf_event_header record_header() {
    perf_event_header header{};
    header.type = fixed<std::uint32_t>();
    header.misc = fixed<std::uint16_t>();
    header.size = fixed<std::uint16_t>();
    return header;
  }

 private:
  PerfBytes bytes_;
  ByteOrder order_;
  bool ok_ = true;
};

// Up to the first 0.
std::string perf_text(PerfBytes bytes);
// A length of four bytes, then as much text, filled up with 0.
std::string take_perf_string(PerfCursor& cursor);
// The size the attribute states of itself decides how much of it there is; what is newer than ours is cut.
std::optional<perf_event_attr> take_perf_attr(PerfCursor& cursor);
// As many as there are.
std::vector<std::uint64_t> take_perf_ids(PerfCursor cursor);
// What follows the header of a build id's record.
std::optional<PerfBuildId> parse_perf_build_id(PerfCursor cursor, std::uint16_t misc);
// One feature by its number (HEADER_*); those that are not known here change nothing.
void describe_perf_feature(unsigned feature, PerfCursor cursor, PerfDescription& out);
// (id, name) of the feature that describes events.
std::vector<std::pair<std::uint64_t, std::string>> parse_perf_event_names(PerfCursor cursor);

}  // namespace tailor::formats
