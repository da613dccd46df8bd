#include <fmt/format.h>

#include <bit>
#include <unordered_map>

#include "daemon/formats/perf_fields.h"
#include "proto/base/errors.h"

namespace tailor::formats {
namespace {

constexpr std::uint64_t kMagic = 0x32454C4946524550;         // "PERFILE2"
constexpr std::uint64_t kMagicSwapped = 0x50455246494C4532;  // the same on a big-endian machine
constexpr std::uint64_t kPipeHeaderSize = 16;
constexpr unsigned kEventDescriptions = 12, kFeatures = 64, kHostname = 3;
// Sections of attributes and features are small; what claims to be larger is not read.
constexpr std::uint64_t kMostOfASection = std::uint64_t{64} << 20;

PerfSection take_section(PerfCursor& cursor) {
  PerfSection section;
  section.offset = cursor.fixed<std::uint64_t>();
  section.size = cursor.fixed<std::uint64_t>();
  return section;
}

Error damaged(const char* what) {
  return internal(fmt::format("perf.data: {} does not fit the file", what));
}

// All of it, or nothing.
std::optional<std::vector<std::byte>> read_section(const PerfReadAt& read, const PerfSection& section) {
  if (section.size > kMostOfASection) return std::nullopt;
  auto bytes = read(section.offset, section.size);
  if (!bytes.ok() || bytes->size() != section.size) return std::nullopt;
  return *std::move(bytes);
}

// Feature sections lie after the records in the order of their bits, found through a table of their own.
std::optional<std::vector<std::byte>> read_feature(const PerfHeader& header, const PerfReadAt& read,
                                                   unsigned feature) {
  if (!(header.features >> feature & 1)) return std::nullopt;
  const auto before =
      static_cast<unsigned>(std::popcount(header.features & ((std::uint64_t{1} << feature) - 1)));
  const std::uint64_t table = header.records.offset + header.records.size;
  const auto entry = read_section(read, {table + before * sizeof(PerfSection), sizeof(PerfSection)});
  if (!entry) return std::nullopt;
  PerfCursor cursor(*entry, header.order);
  return read_section(read, take_section(cursor));
}

// The bits are in numbers of the machine's `unsigned long`. Those of 32 bits and the other order come in
// reversed places; the name of the host, which every recorder writes, tells them, as perf has it.
std::uint64_t take_features(PerfCursor& cursor) {
  const auto features = cursor.fixed<std::uint64_t>();
  const auto halves = std::rotl(features, 32);
  const bool narrow = !(features >> kHostname & 1) && halves >> kHostname & 1;
  return cursor.order() == ByteOrder::kOther && narrow ? halves : features;
}

}  // namespace

bool is_perf_data(PerfBytes first_bytes) {
  PerfCursor cursor(first_bytes);
  const auto magic = cursor.fixed<std::uint64_t>();
  return cursor.ok() && (magic == kMagic || magic == kMagicSwapped);
}

Result<PerfHeader> parse_perf_header(PerfBytes bytes) {
  PerfHeader header;
  if (PerfCursor(bytes).fixed<std::uint64_t>() == kMagicSwapped) header.order = ByteOrder::kOther;
  PerfCursor cursor(bytes, header.order);
  const auto magic = cursor.fixed<std::uint64_t>();
  const auto size = cursor.fixed<std::uint64_t>();
  if (!cursor.ok() || magic != kMagic)
    return invalid("not a perf.data file (its first bytes are not PERFILE2)");
  if (size == kPipeHeaderSize) {
    header.pipe = true;
    header.records = {kPipeHeaderSize, UINT64_MAX - kPipeHeaderSize};
    return header;
  }
  header.attr_size = cursor.fixed<std::uint64_t>();
  header.attrs = take_section(cursor);
  header.records = take_section(cursor);
  take_section(cursor);  // event types, unused since 2013
  header.features = take_features(cursor);
  if (!cursor.ok()) return damaged("the header");
  if (header.records.offset > UINT64_MAX - header.records.size) return damaged("the section of records");
  // The size is written at the end, and before it a recorder writes none of its features.
  if (header.records.size == 0) {
    header.unfinished = true;
    header.records.size = UINT64_MAX - header.records.offset;
    header.features = 0;
  }
  return header;
}

Status check_perf_counts(std::size_t events, std::size_t ids) {
  if (events <= kMostPerfEvents && ids <= kMostPerfIds) return Ok{};
  return exhausted(
      fmt::format("perf.data: it has more than {} events or {} ids of them: no recorder writes such a file",
                  kMostPerfEvents, kMostPerfIds));
}

Result<std::vector<PerfAttr>> read_perf_attrs(const PerfHeader& header, const PerfReadAt& read) {
  std::vector<PerfAttr> out;
  std::size_t all_ids = 0;
  const auto table = read_section(read, header.attrs);
  if (!table || header.attr_size < PERF_ATTR_SIZE_VER0 + sizeof(PerfSection))
    return damaged("the table of events");
  for (PerfBytes rest = *table; rest.size() >= header.attr_size; rest = rest.subspan(header.attr_size)) {
    const PerfBytes entry = rest.first(header.attr_size);
    PerfCursor attr_bytes(entry.first(entry.size() - sizeof(PerfSection)), header.order);
    PerfCursor ids_at(entry.last(sizeof(PerfSection)), header.order);
    auto attr = take_perf_attr(attr_bytes);
    const auto ids = read_section(read, take_section(ids_at));
    if (!attr || !ids) return damaged("an event");
    all_ids += ids->size() / sizeof(std::uint64_t);
    if (Status few = check_perf_counts(out.size() + 1, all_ids); !few) return few.error();
    out.push_back({*attr, take_perf_ids(PerfCursor(*ids, header.order)), {}});
  }
  return out;
}

PerfDescription read_perf_description(const PerfHeader& header, const PerfReadAt& read,
                                      std::vector<PerfAttr>& attrs) {
  PerfDescription out;
  for (unsigned feature = 0; feature < kFeatures; ++feature) {
    const auto content = read_feature(header, read, feature);
    if (!content) continue;
    if (feature != kEventDescriptions) {
      describe_perf_feature(feature, PerfCursor(*content, header.order), out);
      continue;
    }
    // An id is one event's. A file that gives it to a thousand would have each name set a thousand times.
    std::unordered_map<std::uint64_t, std::size_t> event_of;
    for (std::size_t i = 0; i < attrs.size(); ++i) {
      if (attrs[i].ids.empty()) event_of.try_emplace(~std::uint64_t{i}, i);
      for (std::uint64_t id : attrs[i].ids) event_of.try_emplace(id, i);
    }
    for (auto& [id, name] : parse_perf_event_names(PerfCursor(*content, header.order))) {
      const auto known = event_of.find(id);
      if (known != event_of.end() && !name.empty()) attrs[known->second].name = name;
    }
  }
  return out;
}

}  // namespace tailor::formats
