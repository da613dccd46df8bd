#include "daemon/formats/perf_event_of.h"

#include <cstring>

namespace tailor::formats {

// The place of the id is the same for all events, else nobody could say of which event a record is.
void PerfEventOf::add(const PerfAttr& event) {
  for (const std::uint64_t id : event.ids) event_of_id_.try_emplace(id, events_);
  if (events_++ != 0) return;
  const std::uint64_t type = event.attr.sample_type;
  if (type & PERF_SAMPLE_IDENTIFIER) {
    id_from_start_ = id_from_end_ = 1;
  } else if (type & PERF_SAMPLE_ID) {
    id_from_start_ = perf_fields(type, kFieldsBeforeId) + 1;
    id_from_end_ = perf_fields(type, kFieldsAfterId) + 1;
  }
}

std::optional<std::size_t> PerfEventOf::of(const perf_event_header& header, PerfBytes payload,
                                           ByteOrder order) const {
  if (events_ == 1) return 0;
  const bool sample = header.type == PERF_RECORD_SAMPLE;
  const std::size_t words = payload.size() / sizeof(std::uint64_t);
  const std::size_t needed = sample ? id_from_start_ : id_from_end_;
  if (events_ == 0 || needed == 0 || words < needed) return std::nullopt;
  std::uint64_t id = 0;
  std::memcpy(&id, payload.data() + (sample ? needed - 1 : words - needed) * sizeof id, sizeof id);
  id = from_order(order, id);
  // perf itself writes records of what was there before the recording, without an id.
  if (id == 0 && !sample) return 0;
  const auto known = event_of_id_.find(id);
  if (known == event_of_id_.end()) return std::nullopt;
  return known->second;
}

}  // namespace tailor::formats
