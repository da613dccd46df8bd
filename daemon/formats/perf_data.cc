#include "daemon/formats/perf_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "daemon/capture/decode/byte_cursor.h"
#include "daemon/capture/select/event_spec.h"
#include "daemon/formats/perf_event_name.h"

namespace tailor::formats {
namespace {

using capture::ByteCursor;
using capture::EventSpec;
using capture::RecordClock;
using capture::RecordDecoder;
using capture::RingLayout;
using capture::WordView;

constexpr std::uint64_t kMagic = 0x32454C4946524550;         // "PERFILE2"
constexpr std::uint64_t kMagicSwapped = 0x50455246494C4532;  // the same on a big-endian machine
constexpr std::uint64_t kPipeHeaderSize = 16;
constexpr unsigned kFeatureEventDescriptions = 12;
constexpr std::size_t kAttrSizeFirst = PERF_ATTR_SIZE_VER0;

// Records of perf itself (tools/perf/util/event.h). Two of them carry bytes after the record.
enum : std::uint32_t {
  kToolRecords = 64,
  kToolAttr = 64,
  kToolTracingData = 66,
  kToolAuxTrace = 71,
  kToolCompressed = 81,
  kToolCompressed2 = 83,
};

struct Section {
  std::uint64_t offset = 0, size = 0;
};

struct Header {
  std::uint64_t size = 0, attr_size = 0;
  Section attrs, data;
  std::uint64_t features = 0;  // the first 64 of 256 bits
};

using Bytes = std::span<const std::byte>;

std::optional<Bytes> section_of(Bytes file, const Section& section) {
  if (section.offset > file.size() || section.size > file.size() - section.offset) return std::nullopt;
  return file.subspan(section.offset, section.size);
}

Section take_section(ByteCursor& cursor) {
  Section section;
  section.offset = cursor.u64();
  section.size = cursor.u64();
  return section;
}

// The size the attribute states of itself decides how much of it there is; what is newer than ours is cut.
std::optional<perf_event_attr> take_attr(ByteCursor& cursor) {
  ByteCursor ahead = cursor;
  ahead.u32();  // type
  std::size_t size = ahead.u32();
  if (size == 0) size = kAttrSizeFirst;
  if (!ahead.ok() || size < kAttrSizeFirst) return std::nullopt;
  Bytes bytes = cursor.take(size);
  if (!cursor.ok()) return std::nullopt;
  perf_event_attr attr{};
  std::memcpy(&attr, bytes.data(), std::min(size, sizeof attr));
  return attr;
}

std::vector<std::uint64_t> take_ids(Bytes bytes) {
  std::vector<std::uint64_t> ids;
  WordView words(bytes.data(), bytes.size() / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < words.size(); ++i) ids.push_back(words[i]);
  return ids;
}

Error damaged(const char* what) {
  return Error{fmt::format("perf.data: {} does not fit the file", what)};
}

Status read_attr_table(Bytes file, const Header& header, PerfData& out) {
  auto table = section_of(file, header.attrs);
  if (!table || header.attr_size < kAttrSizeFirst + sizeof(Section)) return damaged("the table of events");
  for (Bytes rest = *table; rest.size() >= header.attr_size; rest = rest.subspan(header.attr_size)) {
    Bytes entry = rest.first(header.attr_size);
    ByteCursor attr_bytes(entry.first(entry.size() - sizeof(Section)));
    ByteCursor ids_at(entry.last(sizeof(Section)));
    auto attr = take_attr(attr_bytes);
    auto ids = section_of(file, take_section(ids_at));
    if (!attr || !ids) return damaged("an event");
    out.events.push_back({*attr, take_ids(*ids), event_name(*attr)});
  }
  return Ok{};
}

// Feature sections lie after the data in the order of their bits, found through a table of their own.
std::optional<Bytes> feature_section(Bytes file, const Header& header, unsigned feature) {
  if (!(header.features >> feature & 1)) return std::nullopt;
  auto before = static_cast<unsigned>(std::popcount(header.features & ((std::uint64_t{1} << feature) - 1)));
  auto at =
      section_of(file, {header.data.offset + header.data.size + before * sizeof(Section), sizeof(Section)});
  if (!at) return std::nullopt;
  ByteCursor cursor(*at);
  return section_of(file, take_section(cursor));
}

// Names are an extra: where the section is odd, the made-up ones stay.
void read_names(Bytes file, const Header& header, PerfData& out) {
  auto section = feature_section(file, header, kFeatureEventDescriptions);
  if (!section) return;
  ByteCursor cursor(*section);
  std::uint32_t count = cursor.u32();
  std::uint32_t attr_size = cursor.u32();
  for (std::uint32_t i = 0; i < count && i < out.events.size(); ++i) {
    cursor.take(attr_size);
    std::uint64_t ids = cursor.u32();
    ByteCursor name(cursor.take(cursor.u32()));
    cursor.words(ids);
    std::string_view text = name.rest_as_text();
    if (!cursor.ok() || !name.ok()) return;
    if (!text.empty()) out.events[i].name = text;
  }
}

RingLayout layout_of(PerfData& data, std::uint8_t tag_register) {
  RingLayout layout;
  layout.pid = -1;
  layout.clock = RecordClock::kPerf;
  data.sources.clear();
  for (const PerfDataEvent& event : data.events) {
    auto index = static_cast<std::uint16_t>(layout.formats.size());
    EventSpec spec;
    spec.period = event.attr.freq ? 0 : event.attr.sample_period;
    layout.formats.push_back(capture::format_of(event.attr, spec, index, tag_register));
    for (std::uint64_t id : event.ids) layout.ids.push_back({id, index});
    bool time = event.attr.type == PERF_TYPE_SOFTWARE && event.attr.config <= PERF_COUNT_SW_TASK_CLOCK;
    data.sources.push_back({index, event.name, time ? profile::Unit::kNsOnCpu : profile::Unit::kEvents,
                            spec.period, event.attr.precise_ip > 0});
  }
  return layout;
}

// Goes through the records: the kernel's to the decoder, perf's own are passed over, but for those that
// announce an event (pipe mode).
class RecordReader {
 public:
  RecordReader(PerfData& data, std::uint8_t tag_register) : data_(data), tag_register_(tag_register) {}

  Status use_events() {
    auto layout = layout_of(data_, tag_register_);
    if (decoder_) return decoder_->update(std::move(layout));
    auto decoder = RecordDecoder::create(std::move(layout));
    if (!decoder) return decoder.error();
    decoder_ = std::move(*decoder);
    return Ok{};
  }

  Status read(Bytes bytes) {
    while (!bytes.empty()) {
      ByteCursor cursor(bytes);
      std::uint32_t type = cursor.u32();
      cursor.u16();
      std::size_t size = cursor.u16();
      if (!cursor.ok() || size < sizeof(perf_event_header) || size > bytes.size()) {
        cut_bytes_ += bytes.size();
        break;
      }
      auto used = read_record(type, bytes, size);
      if (!used) return used.error();
      bytes = bytes.subspan(*used);
    }
    if (decoder_) data_.counts = decoder_->counts();
    data_.counts.cut_bytes += cut_bytes_;
    return Ok{};
  }

 private:
  Result<std::size_t> read_record(std::uint32_t type, Bytes bytes, std::size_t size) {
    Bytes payload = bytes.subspan(sizeof(perf_event_header), size - sizeof(perf_event_header));
    if (type < kToolRecords) {
      if (!decoder_) return Error{"perf.data: a record comes before the event it belongs to"};
      decoder_->decode(bytes.first(size), data_.batch);
      return size;
    }
    ++data_.tool_records;
    if (type == kToolCompressed || type == kToolCompressed2) {
      return Error{"perf.data: the recording is compressed; make it with 'perf record' without -z"};
    }
    if (type == kToolAttr) {
      auto added = add_event(payload);
      if (!added) return added.error();
    }
    return size + std::min<std::uint64_t>(bytes_after(type, payload), bytes.size() - size);
  }

  Status add_event(Bytes payload) {
    ByteCursor cursor(payload);
    auto attr = take_attr(cursor);
    if (!attr) return damaged("an event");
    data_.events.push_back({*attr, take_ids(cursor.take(cursor.remaining())), event_name(*attr)});
    return use_events();
  }

  static std::uint64_t bytes_after(std::uint32_t type, Bytes payload) {
    ByteCursor cursor(payload);
    if (type == kToolTracingData) return (std::uint64_t{cursor.u32()} + 7) & ~std::uint64_t{7};
    if (type == kToolAuxTrace) return cursor.u64();
    return 0;
  }

  PerfData& data_;
  std::uint8_t tag_register_;
  std::optional<RecordDecoder> decoder_;
  std::uint64_t cut_bytes_ = 0;
};

Result<Header> read_header(Bytes file) {
  ByteCursor cursor(file);
  std::uint64_t magic = cursor.u64();
  Header header;
  header.size = cursor.u64();
  if (magic == kMagicSwapped) return Error{"perf.data: recorded on a machine of the other byte order"};
  if (!cursor.ok() || magic != kMagic)
    return Error{"not a perf.data file (its first bytes are not PERFILE2)"};
  if (header.size == kPipeHeaderSize) return header;
  header.attr_size = cursor.u64();
  header.attrs = take_section(cursor);
  header.data = take_section(cursor);
  take_section(cursor);  // event types, unused since 2013
  header.features = cursor.u64();
  if (!cursor.ok()) return damaged("the header");
  return header;
}

}  // namespace

Result<PerfData> read_perf_data(Bytes file, std::uint8_t tag_register) {
  auto header = read_header(file);
  if (!header) return header.error();
  PerfData data;
  RecordReader reader(data, tag_register);
  if (header->size == kPipeHeaderSize) {
    auto read = reader.read(file.subspan(kPipeHeaderSize));
    if (!read) return read.error();
    return data;
  }
  auto attrs = read_attr_table(file, *header, data);
  if (!attrs) return attrs.error();
  read_names(file, *header, data);
  auto used = reader.use_events();
  if (!used) return used.error();
  auto records = section_of(file, header->data);
  if (!records) return damaged("the section of records");
  auto read = reader.read(*records);
  if (!read) return read.error();
  return data;
}

}  // namespace tailor::formats
