// Of which event of the recording a record is: an id in it says so, at a place that all events share.
#pragma once

#include <linux/perf_event.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "daemon/formats/perf_file.h"

namespace tailor::formats {

// Fields of a sample, in their order, around its id.
inline constexpr std::uint64_t kFieldsBeforeId =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
inline constexpr std::uint64_t kFieldsAfterId = PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
// Of the identity behind all other records.
inline constexpr std::uint64_t kFieldsOfTrailer =
    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | kFieldsAfterId | PERF_SAMPLE_IDENTIFIER;

inline std::size_t perf_fields(std::uint64_t type, std::uint64_t which) {
  return static_cast<std::size_t>(std::popcount(type & which));
}

class PerfEventOf {
 public:
  void clear() { *this = {}; }
  void add(const PerfAttr& event);
  std::size_t events() const { return events_; }
  bool any_ids() const { return !event_of_id_.empty(); }
  bool has_id(std::uint64_t id) const { return event_of_id_.contains(id); }
  // `payload`: behind the header, in the given order. The number of the event as they were added; none: of no
  // event that is known.
  std::optional<std::size_t> of(const perf_event_header& header, PerfBytes payload,
                                ByteOrder order = ByteOrder::kOurs) const;

 private:
  std::size_t events_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> event_of_id_;
  std::size_t id_from_start_ = 0, id_from_end_ = 0;  // words, 0: records carry none
};

}  // namespace tailor::formats
