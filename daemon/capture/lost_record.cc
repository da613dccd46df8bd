#include "daemon/capture/lost_record.h"

#include <linux/perf_event.h>

#include <cstring>

#include "daemon/capture/sample_view.h"

namespace tailor::capture {

std::vector<std::byte> lost_record(const RingLayout& layout, TimeNs time, std::uint64_t lost) {
  const EventFormat& format = layout.formats.front();
  std::uint64_t type = format.sample_id_all ? format.sample_type : 0;
  std::uint64_t id = layout.ids.empty() ? 0 : layout.ids.front().id;
  std::vector<std::uint64_t> words = {0, id, lost};
  if (type & PERF_SAMPLE_TID) words.push_back(static_cast<std::uint32_t>(layout.pid));
  if (type & PERF_SAMPLE_TIME) words.push_back(static_cast<std::uint64_t>(time));
  if (type & PERF_SAMPLE_ID) words.push_back(id);
  if (type & PERF_SAMPLE_STREAM_ID) words.push_back(id);
  if (type & PERF_SAMPLE_CPU) words.push_back(layout.cpu);
  if (type & PERF_SAMPLE_IDENTIFIER) words.push_back(id);

  std::vector<std::byte> bytes(words.size() * sizeof(std::uint64_t));
  perf_event_header header{PERF_RECORD_LOST, 0, static_cast<std::uint16_t>(bytes.size())};
  std::memcpy(words.data(), &header, sizeof header);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

}  // namespace tailor::capture
