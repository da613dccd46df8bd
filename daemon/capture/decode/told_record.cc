#include "daemon/capture/decode/told_record.h"

#include <linux/perf_event.h>

#include <cstring>
#include <utility>

#include "daemon/capture/decode/sample_view.h"

namespace tailor::capture {
namespace {

std::uint64_t first_id(const RingLayout& layout) {
  return layout.ids.empty() ? 0 : layout.ids.front().id;
}

// `words` begin with one for the header; adds who, when and where (struct sample_id of perf_event.h).
std::vector<std::byte> finished(const RingLayout& layout, TimeNs time, std::uint32_t record_type,
                                std::vector<std::uint64_t> words) {
  const EventFormat& format = layout.formats.front();
  const std::uint64_t type = format.sample_id_all ? format.sample_type : 0;
  const std::uint64_t id = first_id(layout);
  if (type & PERF_SAMPLE_TID) words.push_back(static_cast<std::uint32_t>(layout.pid));
  if (type & PERF_SAMPLE_TIME) words.push_back(static_cast<std::uint64_t>(time));
  if (type & PERF_SAMPLE_ID) words.push_back(id);
  if (type & PERF_SAMPLE_STREAM_ID) words.push_back(id);
  if (type & PERF_SAMPLE_CPU) words.push_back(layout.cpu);
  if (type & PERF_SAMPLE_IDENTIFIER) words.push_back(id);

  std::vector<std::byte> bytes(words.size() * sizeof(std::uint64_t));
  const perf_event_header header{record_type, 0, static_cast<std::uint16_t>(bytes.size())};
  std::memcpy(words.data(), &header, sizeof header);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

}  // namespace

std::vector<std::byte> lost_record(const RingLayout& layout, TimeNs time, std::uint64_t lost) {
  return finished(layout, time, PERF_RECORD_LOST, {0, first_id(layout), lost});
}

std::vector<std::byte> not_drawn_record(const RingLayout& layout, TimeNs time, std::uint64_t samples,
                                        std::uint64_t on_cpu_ns) {
  return finished(layout, time, kNotDrawnRecord, {0, samples, on_cpu_ns});
}

std::vector<std::byte> symbol_record(const RingLayout& layout, TimeNs time, const KernelFunction& function,
                                     std::uint16_t type) {
  // Header, address, then size, type and flags in one word.
  std::vector<std::uint64_t> words = {0, function.address, function.size | std::uint64_t{type} << 32};
  const std::size_t text = words.size();
  words.resize(text + function.name.size() / sizeof(std::uint64_t) + 1);  // with a zero behind
  std::memcpy(words.data() + text, function.name.data(), function.name.size());
  return finished(layout, time, PERF_RECORD_KSYMBOL, std::move(words));
}

}  // namespace tailor::capture
