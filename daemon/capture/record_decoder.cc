#include "daemon/capture/record_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "daemon/capture/sample_view.h"

namespace tailor::capture {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

std::size_t fields(std::uint64_t sample_type, std::uint64_t which) {
  return static_cast<std::size_t>(std::popcount(sample_type & which));
}

}  // namespace

Result<RecordDecoder::IdPosition> RecordDecoder::id_position(const EventFormat& format) {
  std::uint64_t type = format.sample_type;
  if (!format.sample_id_all) return Error{"several events share a ring without sample_id_all"};
  if (type & PERF_SAMPLE_IDENTIFIER) return IdPosition{0, 1};
  if (!(type & PERF_SAMPLE_ID)) return Error{"several events share a ring and their records carry no id"};
  constexpr std::uint64_t kBefore = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
  constexpr std::uint64_t kAfter = PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
  return IdPosition{fields(type, kBefore), fields(type, kAfter) + 1};
}

Result<RecordDecoder::Lookup> RecordDecoder::index(const RingLayout& layout) {
  if (layout.formats.empty()) return Error{"a ring layout without any event format"};
  for (const EventFormat& format : layout.formats) {
    if (format.sample_type & ~kKnownSampleTypes) {
      return Error{fmt::format("sample_type {:#x} has fields newer than this decoder", format.sample_type)};
    }
  }
  Lookup lookup;
  for (const EventFormat& format : layout.formats) lookup.fixed.push_back(FixedSample::of(format));
  if (layout.formats.size() == 1) return lookup;
  for (const EventFormat& format : layout.formats) {
    auto position = id_position(format);
    if (!position) return position.error();
    if (&format != &layout.formats.front() && *position != lookup.position) {
      return Error{"events of one ring keep their ids at different places"};
    }
    lookup.position = *position;
  }
  for (const EventIdEntry& entry : layout.ids) {
    if (entry.format >= layout.formats.size()) {
      return Error{
          fmt::format("event id {} names format {} of {}", entry.id, entry.format, layout.formats.size())};
    }
  }
  lookup.ids = layout.ids;
  std::ranges::sort(lookup.ids, {}, &EventIdEntry::id);
  return lookup;
}

Result<RecordDecoder> RecordDecoder::create(RingLayout layout) {
  auto lookup = index(layout);
  if (!lookup) return lookup.error();
  return RecordDecoder(std::move(layout), std::move(*lookup));
}

Status RecordDecoder::update(RingLayout layout) {
  auto lookup = index(layout);
  if (!lookup) return lookup.error();
  layout_ = std::move(layout);
  lookup_ = std::move(*lookup);
  last_ = {};
  return Ok{};
}

std::size_t RecordDecoder::format_of(const RecordView& record) {
  if (lookup_.fixed.size() == 1) return 0;
  std::size_t words = record.payload.size() / kWord;
  bool sample = record.type == PERF_RECORD_SAMPLE;
  std::size_t needed = sample ? lookup_.position.from_start + 1 : lookup_.position.from_end;
  if (words < needed) return kNoFormat;
  std::uint64_t id = WordView(record.payload.data(), words)[sample ? needed - 1 : words - needed];
  // perf itself writes records of what was there before the recording, without an id.
  if (id == 0 && !sample) return 0;
  if (id != last_.id || id == 0) {
    auto found = std::ranges::lower_bound(lookup_.ids, id, {}, &EventIdEntry::id);
    if (found == lookup_.ids.end() || found->id != id) return kNoFormat;
    last_ = *found;
  }
  return last_.format;
}

void RecordDecoder::count_losses(const Event& event) {
  if (event.kind == Kind::kSample) ++counts_.samples;
  if (event.kind == Kind::kLost) counts_.lost += event.weight;
  if (event.kind == Kind::kLostSamples) counts_.lost_samples += event.weight;
}

RecordOutcome RecordDecoder::decode_by(std::size_t number, const RecordView& record, Batch& out) {
  const EventFormat& format = layout_.formats[number];
  if (record.type != PERF_RECORD_SAMPLE) return decode_sideband(format, layout_.cpu, record, out);
  const auto& fixed = lookup_.fixed[number];
  if (fixed && fixed->append(record, layout_.cpu, out)) return RecordOutcome::kDecoded;
  return decode_sample(format, layout_.cpu, record, out);
}

void RecordDecoder::decode_record(const RecordView& record, Batch& out) {
  const std::size_t format = format_of(record);
  if (format == kNoFormat) {
    ++counts_.unknown_id;
    return;
  }
  switch (decode_by(format, record, out)) {
    case RecordOutcome::kDecoded:
      ++counts_.decoded;
      count_losses(out.events.back());
      break;
    case RecordOutcome::kMalformed:
      ++counts_.malformed;
      break;
    case RecordOutcome::kUnknownType:
      ++counts_.unknown_type;
      break;
  }
}

void RecordDecoder::decode(std::span<const std::byte> bytes, Batch& out) {
  counts_.bytes += bytes.size();
  while (!bytes.empty()) {
    ByteCursor cursor(bytes);
    RecordView record;
    record.type = cursor.u32();
    record.misc = cursor.u16();
    std::size_t size = cursor.u16();
    if (!cursor.ok() || size < sizeof(perf_event_header) || size > bytes.size()) {
      counts_.cut_bytes += bytes.size();
      return;
    }
    record.payload = cursor.take(size - sizeof(perf_event_header));
    ++counts_.records;
    decode_record(record, out);
    bytes = bytes.subspan(size);
  }
}

}  // namespace tailor::capture
