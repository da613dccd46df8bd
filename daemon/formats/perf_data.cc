#include "daemon/formats/perf_data.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/capture/select/event_spec.h"
#include "daemon/formats/perf_event_name.h"
#include "daemon/profile/accounting.h"
#include "proto/base/errors.h"

namespace tailor::formats {
namespace {

using capture::EventSpec;
using capture::RecordDecoder;
using capture::RingLayout;

// The kernel's records to the decoder; events as they are announced (pipe mode).
class Decoding : public PerfRecords::Taker {
 public:
  Decoding(PerfData& data, std::uint8_t tag_register) : data_(data), tag_register_(tag_register) {}

  Status use_events() {
    RingLayout layout = perf_data_layout(data_.events, tag_register_, data_.sources);
    if (decoder_) return decoder_->update(std::move(layout));
    auto decoder = RecordDecoder::create(std::move(layout));
    if (!decoder) return decoder.error();
    decoder_ = std::move(*decoder);
    return Ok{};
  }
  Status kernel_records(PerfBytes bytes) override {
    if (!decoder_) return internal("perf.data: a record comes before the event it belongs to");
    decoder_->decode(bytes, data_.batch);
    return Ok{};
  }
  Status event(PerfAttr attr) override {
    if (Status few = check_perf_counts(data_.events.size() + 1, attr.ids.size()); !few) return few;
    if (attr.name.empty()) attr.name = event_name(attr.attr);
    data_.events.push_back(std::move(attr));
    return use_events();
  }
  void event_name_is(PerfDataEvent& event, std::string name) {
    event.name = std::move(name);
    (void)perf_data_layout(data_.events, tag_register_, data_.sources);
  }
  void event_name(std::uint64_t id, std::string name) override {
    for (PerfDataEvent& event : data_.events) {
      if (std::ranges::find(event.ids, id) != event.ids.end()) event_name_is(event, name);
    }
  }
  void described(const PerfDescription&) override {}
  Status round() override { return Ok{}; }

  capture::DecodeCounts counts() const { return decoder_ ? decoder_->counts() : capture::DecodeCounts{}; }

 private:
  static std::string event_name(const perf_event_attr& attr) { return formats::event_name(attr); }

  PerfData& data_;
  std::uint8_t tag_register_;
  std::optional<RecordDecoder> decoder_;
};

PerfReadAt reader_of(PerfBytes file) {
  return [file](std::uint64_t offset, std::uint64_t size) -> Result<std::vector<std::byte>> {
    if (offset >= file.size()) return std::vector<std::byte>{};
    const auto piece = file.subspan(static_cast<std::size_t>(offset));
    const auto bytes = piece.first(static_cast<std::size_t>(std::min<std::uint64_t>(size, piece.size())));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
}

}  // namespace

RingLayout perf_data_layout(const std::vector<PerfDataEvent>& events, std::uint8_t tag_register,
                            std::vector<profile::Source>& sources) {
  RingLayout layout;
  layout.cpu = profile::kEveryCpu;
  layout.pid = -1;
  sources.clear();
  for (const PerfDataEvent& event : events) {
    const auto index = static_cast<std::uint16_t>(layout.formats.size());
    EventSpec spec;
    spec.period = event.attr.freq ? 0 : event.attr.sample_period;
    layout.formats.push_back(capture::format_of(event.attr, spec, index, tag_register));
    for (std::uint64_t id : event.ids) layout.ids.push_back({id, index});
    const bool time = event.attr.type == PERF_TYPE_SOFTWARE && event.attr.config <= PERF_COUNT_SW_TASK_CLOCK;
    sources.push_back({index, event.name, time ? profile::Unit::kNsOnCpu : profile::Unit::kEvents,
                       spec.period, event.attr.precise_ip > 0});
  }
  return layout;
}

Result<PerfData> read_perf_data(std::span<const std::byte> file, std::uint8_t tag_register) {
  auto header = parse_perf_header(file.first(std::min(file.size(), kPerfHeaderBytes)));
  if (!header) return header.error();
  PerfData data;
  Decoding decoding(data, tag_register);
  const PerfReadAt read = reader_of(file);
  if (!header->pipe) {
    auto attrs = read_perf_attrs(*header, read);
    if (!attrs) return attrs.error();
    (void)read_perf_description(*header, read, *attrs);
    for (PerfAttr& attr : *attrs) {
      if (attr.name.empty()) attr.name = event_name(attr.attr);
      data.events.push_back(std::move(attr));
    }
    auto used = decoding.use_events();
    if (!used) return used.error();
  }
  if (header->records.offset > file.size())
    return internal("perf.data: the section of records does not fit the file");
  const auto rest = file.subspan(static_cast<std::size_t>(header->records.offset));
  if (!header->pipe && header->records.size > rest.size())
    return internal("perf.data: the section of records does not fit the file");
  PerfRecords records(decoding);
  Status fed = records.feed(
      rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(header->records.size, rest.size()))));
  if (!fed) return fed.error();
  records.finish();
  data.counts = decoding.counts();
  data.counts.cut_bytes += records.cut_bytes();
  data.tool_records = records.tool_records();
  return data;
}

}  // namespace tailor::formats
