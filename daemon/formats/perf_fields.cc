#include "daemon/formats/perf_fields.h"

#include "daemon/formats/perf_swap.h"
#include "proto/base/hex.h"

namespace tailor::formats {
namespace {

constexpr unsigned kBuildIds = 2, kHostname = 3, kKernel = 4, kArch = 6, kCpus = 7, kCpu = 8,
                   kCommandLine = 11, kClock = 29;
constexpr std::size_t kMostText = 65536;
constexpr std::uint32_t kMostItems = 1u << 20;
constexpr std::uint16_t kMiscBuildIdSize = 1u << 15;
constexpr std::size_t kBuildIdRoom = 24, kBuildIdBytes = 20;

}  // namespace

std::string perf_text(PerfBytes bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return {text, ::strnlen(text, std::min(bytes.size(), kMostText))};
}

std::string take_perf_string(PerfCursor& cursor) {
  return perf_text(cursor.take(cursor.fixed<std::uint32_t>()));
}

std::optional<perf_event_attr> take_perf_attr(PerfCursor& cursor) {
  PerfCursor ahead = cursor;
  ahead.fixed<std::uint32_t>();  // type
  std::size_t size = ahead.fixed<std::uint32_t>();
  if (size == 0) size = PERF_ATTR_SIZE_VER0;
  if (!ahead.ok() || size < PERF_ATTR_SIZE_VER0) return std::nullopt;
  const PerfBytes bytes = cursor.take(size);
  if (!cursor.ok()) return std::nullopt;
  perf_event_attr attr{};
  size = std::min(size, sizeof attr);
  std::memcpy(&attr, bytes.data(), size);
  if (cursor.order() == ByteOrder::kOther)
    swap_perf_attr(std::as_writable_bytes(std::span(&attr, 1)).first(size));
  return attr;
}

std::vector<std::uint64_t> take_perf_ids(PerfCursor cursor) {
  std::vector<std::uint64_t> ids(cursor.rest().size() / sizeof(std::uint64_t));
  for (std::uint64_t& id : ids) id = cursor.fixed<std::uint64_t>();
  return ids;
}

std::optional<PerfBuildId> parse_perf_build_id(PerfCursor cursor, std::uint16_t misc) {
  PerfBuildId out;
  out.pid = cursor.fixed<std::int32_t>();
  const PerfBytes id = cursor.take(kBuildIdRoom);
  if (!cursor.ok()) return std::nullopt;
  std::size_t size = kBuildIdBytes;
  if (misc & kMiscBuildIdSize) size = std::min(kBuildIdBytes, static_cast<std::size_t>(id[kBuildIdBytes]));
  out.build_id = hex_text(id.first(size));
  out.path = perf_text(cursor.rest());
  return out;
}

void describe_perf_feature(unsigned feature, PerfCursor cursor, PerfDescription& out) {
  switch (feature) {
    case kBuildIds:
      while (cursor.rest().size() > sizeof(perf_event_header) && out.build_ids.size() < kMostItems) {
        const auto header = cursor.record_header();
        if (header.size < sizeof header) return;
        const PerfBytes content = cursor.take(header.size - sizeof header);
        auto one = parse_perf_build_id(PerfCursor(content, cursor.order()), header.misc);
        if (!cursor.ok() || !one) return;
        out.build_ids.push_back(*std::move(one));
      }
      return;
    case kHostname:
      out.host = take_perf_string(cursor);
      return;
    case kKernel:
      out.kernel = take_perf_string(cursor);
      return;
    case kArch:
      out.arch = take_perf_string(cursor);
      return;
    case kCpus:
      cursor.fixed<std::uint32_t>();  // that the host could have
      out.cpus = cursor.fixed<std::uint32_t>();
      return;
    case kCpu:
      out.cpu = take_perf_string(cursor);
      return;
    case kCommandLine: {
      const auto words = std::min(cursor.fixed<std::uint32_t>(), kMostItems);
      for (std::uint32_t i = 0; i < words && cursor.ok() && out.command.size() < kMostText; ++i)
        out.command += (i == 0 ? "" : " ") + take_perf_string(cursor);
      return;
    }
    case kClock:
      cursor.fixed<std::uint32_t>();  // version
      out.clock_id = cursor.fixed<std::int32_t>();
      out.wall_ns = cursor.fixed<std::uint64_t>();
      out.clock_ns = cursor.fixed<std::uint64_t>();
      return;
    default:
      return;
  }
}

std::vector<std::pair<std::uint64_t, std::string>> parse_perf_event_names(PerfCursor cursor) {
  constexpr std::size_t kLongestName = 256;
  std::vector<std::pair<std::uint64_t, std::string>> out;
  const auto count = cursor.fixed<std::uint32_t>();
  const auto attr_size = cursor.fixed<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && cursor.ok(); ++i) {
    cursor.take(attr_size);
    const auto ids = cursor.fixed<std::uint32_t>();
    const std::string name = take_perf_string(cursor).substr(0, kLongestName);
    if (ids > kMostPerfIds - out.size()) break;
    const PerfBytes id_bytes = cursor.take(std::uint64_t{ids} * sizeof(std::uint64_t));
    for (std::uint64_t id : take_perf_ids(PerfCursor(id_bytes, cursor.order()))) out.emplace_back(id, name);
    // An event without ids is known by its number.
    if (ids == 0 && cursor.ok() && out.size() < kMostPerfIds) out.emplace_back(~std::uint64_t{i}, name);
  }
  return out;
}

}  // namespace tailor::formats
