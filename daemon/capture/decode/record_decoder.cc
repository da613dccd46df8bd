#include "daemon/capture/decode/record_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "daemon/capture/decode/sample_view.h"
#include "proto/base/errors.h"

namespace tailor::capture {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
// Bytes of a ring that are copied at a time, a multiple of words.
constexpr std::size_t kPiece = 16384;
// Copied bytes beyond this that are no packed sample's are not kept for them.
constexpr std::size_t kMostWordsAnEvent = 64;

// By hand: for as much as this the C library, and compilers, take the processor's string instruction, which
// is half as fast from memory that is not in the cache.
void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kLine = 64, kAhead = 32 * kLine;
  std::size_t at = 0;
  for (; at + kLine <= bytes; at += kLine) {
    __builtin_prefetch(from + at + kAhead);
    std::memcpy(to + at, from + at, kLine);
  }
  std::memcpy(to + at, from + at, bytes - at);
}

std::size_t fields(std::uint64_t sample_type, std::uint64_t which) {
  return static_cast<std::size_t>(std::popcount(sample_type & which));
}

}  // namespace

Result<RecordDecoder::IdPosition> RecordDecoder::id_position(const EventFormat& format) {
  std::uint64_t type = format.sample_type;
  if (!format.sample_id_all) return internal("several events share a ring without sample_id_all");
  if (type & PERF_SAMPLE_IDENTIFIER) return IdPosition{0, 1};
  if (!(type & PERF_SAMPLE_ID)) return internal("several events share a ring and their records carry no id");
  constexpr std::uint64_t kBefore = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
  constexpr std::uint64_t kAfter = PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
  return IdPosition{fields(type, kBefore), fields(type, kAfter) + 1};
}

Result<RecordDecoder::Lookup> RecordDecoder::index(const RingLayout& layout) {
  if (layout.formats.empty()) return internal("a ring layout without any event format");
  for (const EventFormat& format : layout.formats) {
    if (format.sample_type & ~kKnownSampleTypes) {
      return internal(
          fmt::format("sample_type {:#x} has fields newer than this decoder", format.sample_type));
    }
  }
  Lookup lookup;
  FixedFormats fixed;
  for (const EventFormat& format : layout.formats) fixed.push_back(FixedSample::of(format, layout.cpu));
  lookup.any_fixed = std::ranges::any_of(fixed, [](const auto& each) { return each.has_value(); });
  lookup.fixed = std::make_shared<const FixedFormats>(std::move(fixed));
  if (layout.formats.size() == 1) return lookup;
  for (const EventFormat& format : layout.formats) {
    auto position = id_position(format);
    if (!position) return position.error();
    if (&format != &layout.formats.front() && *position != lookup.position) {
      return internal("events of one ring keep their ids at different places");
    }
    lookup.position = *position;
  }
  for (const EventIdEntry& entry : layout.ids) {
    if (entry.format >= layout.formats.size()) {
      return internal(
          fmt::format("event id {} names format {} of {}", entry.id, entry.format, layout.formats.size()));
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
  if (lookup_.fixed->size() == 1) return 0;
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

inline const FixedSample* RecordDecoder::fixed_of(std::size_t format, const RecordView& record) const {
  if (record.type != PERF_RECORD_SAMPLE || format == kNoFormat) return nullptr;
  const auto& fixed = (*lookup_.fixed)[format];
  return fixed && fixed->fits(record.misc, record.payload) ? &*fixed : nullptr;
}

RecordOutcome RecordDecoder::decode_by(std::size_t number, const RecordView& record, Batch& out) {
  const EventFormat& format = layout_.formats[number];
  if (record.type != PERF_RECORD_SAMPLE) return decode_sideband(format, layout_.cpu, record, out);
  const FixedSample* fixed = fixed_of(number, record);
  if (fixed == nullptr) return decode_sample(format, layout_.cpu, record, out);
  const std::size_t at = out.words.size();
  out.words.resize(at + record.payload.size() / kWord);
  std::memcpy(out.words.data() + at, record.payload.data(), record.payload.size());
  out.events.push_back(fixed->unpack(out.words.data() + at, static_cast<std::uint32_t>(at)));
  return RecordOutcome::kDecoded;
}

bool RecordDecoder::decode_record(std::size_t format, const RecordView& record, Batch& out) {
  if (format == kNoFormat) {
    ++counts_.unknown_id;
    return false;
  }
  switch (decode_by(format, record, out)) {
    case RecordOutcome::kDecoded:
      ++counts_.decoded;
      count_losses(out.events.back());
      return true;
    case RecordOutcome::kMalformed:
      ++counts_.malformed;
      return false;
    case RecordOutcome::kUnknownType:
      ++counts_.unknown_type;
      return false;
  }
  return false;
}

// False at bytes that are no record.
bool RecordDecoder::read_record(std::span<const std::byte> bytes, RecordView& record) {
  perf_event_header header{};
  if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  if (header.size < sizeof header || header.size > bytes.size()) {
    counts_.cut_bytes += bytes.size();
    return false;
  }
  ++counts_.records;
  record = {header.type, header.misc, bytes.subspan(sizeof header, header.size - sizeof header)};
  return true;
}

void RecordDecoder::decode(std::span<const std::byte> bytes, Batch& out) {
  counts_.bytes += bytes.size();
  RecordView record;
  while (!bytes.empty() && read_record(bytes, record)) {
    decode_record(format_of(record), record, out);
    bytes = bytes.subspan(sizeof(perf_event_header) + record.payload.size());
  }
}

void RecordDecoder::decode(std::span<const std::byte> bytes, Intake& out) {
  counts_.bytes += bytes.size();
  // Copied in pieces, each looked at while it is in the nearest cache.
  const std::size_t words = lookup_.any_fixed ? bytes.size() / kWord : 0;
  std::size_t copied = 0;
  const auto copy_up_to = [&](std::size_t byte) {
    const std::size_t end = std::min(byte / kWord, words);
    if (end <= copied) return;
    copy(reinterpret_cast<std::byte*>(&out.batch.words[copied]), &bytes[copied * kWord],
         (end - copied) * kWord);
    copied = end;
  };
  out.batch.words.resize(words);
  out.formats = lookup_.fixed;
  std::size_t packed = 0;
  RecordView record;
  for (std::size_t at = 0; at < bytes.size();) {
    copy_up_to(at + kPiece);
    packed += pack_run(at, copied, out);
    if (copied < words && copied * kWord < at + kPiece / 2) continue;
    if (at >= bytes.size() || !read_record(bytes.subspan(at), record)) break;
    copy_up_to(at + sizeof(perf_event_header) + record.payload.size());
    packed += take_record(at, record, out);
    at += sizeof(perf_event_header) + record.payload.size();
  }
  if (words > 2 * packed + kMostWordsAnEvent * out.batch.events.size()) out.unpack_all();
}

// Nearly all records are samples, one after the other. Moves `at` behind those before word `end`; returns how
// many words these are. Where several events share the ring each record says which one it is of:
// take_record().
std::size_t RecordDecoder::pack_run(std::size_t& at, std::size_t end, Intake& out) {
  const FixedFormats& formats = *lookup_.fixed;
  if (formats.size() != 1 || !formats[0] || at % kWord != 0 || at / kWord >= end) return 0;
  const std::size_t first = at / kWord;
  Words& words = out.batch.words;
  const std::size_t count = formats[0]->for_each_fitting(
      std::span(words).first(end).subspan(first), [&](std::size_t payload, TimeNs time) {
        words[first + payload - 1] = 0;
        out.order.push_back({time, static_cast<std::uint32_t>(first + payload) | Arrival::kPacked});
      });
  counts_.records += count;
  counts_.decoded += count;
  counts_.samples += count;
  const std::size_t taken = count * formats[0]->record_words();
  at += taken * kWord;
  return taken;
}

// The record at `at`, which is packed if it fits; returns how many words stay packed.
std::size_t RecordDecoder::take_record(std::size_t at, const RecordView& record, Intake& out) {
  const std::size_t format = format_of(record);
  const FixedSample* fixed = at % kWord == 0 ? fixed_of(format, record) : nullptr;
  if (fixed != nullptr) {
    std::uint64_t* payload = out.batch.words.data() + at / kWord + 1;
    // The layout knows the process where the kernel no longer does: Pipeline::adopt_nameless().
    if (fixed->named(payload)) {
      *(payload - 1) = format;
      out.order.push_back(
          {fixed->time(payload), static_cast<std::uint32_t>(at / kWord + 1) | Arrival::kPacked});
      ++counts_.decoded;
      ++counts_.samples;
      return fixed->record_words();
    }
  }
  if (decode_record(format, record, out.batch)) {
    const auto event = static_cast<std::uint32_t>(out.batch.events.size() - 1);
    out.order.push_back({out.batch.events.back().time, event});
  }
  return 0;
}

}  // namespace tailor::capture
