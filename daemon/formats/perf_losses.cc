#include "daemon/formats/perf_losses.h"

#include <bit>

#include "daemon/formats/perf_fields.h"

namespace tailor::formats {
namespace {

constexpr std::uint16_t kByFilter = 1 << 15;  // PERF_RECORD_MISC_LOST_SAMPLES_BPF, of Linux 6.6
constexpr std::uint64_t kWhoAndWhen = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
constexpr std::uint64_t kBehind =
    PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

}  // namespace

bool PerfLosses::take(PerfBytes record, const perf_event_attr& attr) {
  PerfCursor cursor(record);
  const auto header = cursor.record_header();
  const auto samples = cursor.fixed<std::uint64_t>();
  const int told = std::popcount(attr.sample_type & kWhoAndWhen);
  if (header.type != PERF_RECORD_LOST_SAMPLES || told == 0) return false;
  std::uint64_t any = 0;
  for (int i = 0; i < told; ++i) any |= cursor.fixed<std::uint64_t>();
  const auto behind = static_cast<std::size_t>(std::popcount(attr.sample_type & kBehind));
  if (!cursor.ok() || any != 0 || cursor.rest().size() != behind * sizeof(std::uint64_t)) return false;
  (header.misc & kByFilter ? filtered_ : lost_) += samples;
  return true;
}

}  // namespace tailor::formats
