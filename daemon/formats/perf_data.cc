#include "daemon/formats/perf_data.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "daemon/capture/select/event_spec.h"
#include "daemon/formats/perf_event_name.h"
#include "daemon/formats/perf_losses.h"
#include "daemon/formats/perf_rewrite.h"
#include "daemon/formats/perf_swap.h"
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
  Decoding(PerfData& data, std::uint8_t tag_register) : data_(data) { how_.tag_register = tag_register; }

  // Once for all events that were announced between two records.
  Status use_events() {
    used_ = true;
    rewriter_.set_events(data_.events);
    how_.rewritten = rewriter_.needed();
    RingLayout layout = perf_data_layout(data_.events, how_, data_.sources);
    if (decoder_) return decoder_->update(std::move(layout));
    auto decoder = RecordDecoder::create(std::move(layout));
    if (!decoder) return decoder.error();
    decoder_ = std::move(*decoder);
    return Ok{};
  }
  void to_our_order(std::span<std::byte> record) override { swap_.record(record, data_.events); }
  Status kernel_records(PerfBytes bytes) override {
    if (data_.events.empty()) return internal("perf.data: a record comes before the event it belongs to");
    if (!used_) {
      if (Status used = use_events(); !used) return used;
    }
    if (!how_.rewritten) {
      decoder_->decode(bytes, data_.batch);
      return Ok{};
    }
    rewritten_.clear();
    rewriter_.rewrite(bytes, rewritten_);
    decoder_->decode(rewritten_, data_.batch);
    return Ok{};
  }
  bool recorders_losses(PerfBytes record) override {
    return !data_.events.empty() && losses_.take(record, data_.events.front().attr);
  }
  Status event(PerfAttr attr) override {
    ids_ += attr.ids.size();
    if (Status few = check_perf_counts(data_.events.size() + 1, ids_); !few) return few;
    if (attr.name.empty()) attr.name = formats::event_name(attr.attr);
    for (const std::uint64_t id : attr.ids) event_of_.try_emplace(id, data_.events.size());
    data_.events.push_back(std::move(attr));
    used_ = false;
    return Ok{};
  }
  void event_name(std::uint64_t id, std::string name) override {
    const auto known = event_of_.find(id);
    if (known != event_of_.end()) data_.events[known->second].name = std::move(name);
  }
  void described(const PerfDescription& so_far) override { describe(so_far); }
  void describe(const PerfDescription& text) {
    if (!text.arch.empty()) how_.arch = text.arch;
  }
  Status round() override { return Ok{}; }

  // What is known when all has been read.
  Status finish() {
    if (!used_ && !data_.events.empty()) {
      if (Status used = use_events(); !used) return used;
    }
    (void)perf_data_layout(data_.events, how_, data_.sources);  // names come late
    if (decoder_) data_.counts = decoder_->counts();
    data_.counts.lost = std::max(data_.counts.lost, losses_.lost());
    data_.counts.malformed += rewriter_.dropped();
    data_.unknown_members = rewriter_.unknown_members();
    return Ok{};
  }

 private:
  PerfData& data_;
  PerfLayoutOptions how_;
  PerfSwap swap_;
  PerfRewriter rewriter_;
  PerfLosses losses_;
  std::vector<std::byte> rewritten_;
  std::optional<RecordDecoder> decoder_;
  std::unordered_map<std::uint64_t, std::size_t> event_of_;  // by id
  std::size_t ids_ = 0;
  bool used_ = false;
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

bool is_x86(const std::string& arch) {
  return arch.empty() || arch.starts_with("x86") ||
         (arch.size() == 4 && arch[0] == 'i' && arch.ends_with("86"));
}

RingLayout perf_data_layout(const std::vector<PerfDataEvent>& events, const PerfLayoutOptions& options,
                            std::vector<profile::Source>& sources) {
  RingLayout layout;
  layout.cpu = profile::kEveryCpu;
  layout.pid = -1;
  sources.clear();
  for (const PerfDataEvent& event : events) {
    const auto index = static_cast<std::uint16_t>(layout.formats.size());
    const perf_event_attr attr = options.rewritten ? PerfRewriter::rewritten(event.attr) : event.attr;
    EventSpec spec;
    spec.period = attr.freq ? 0 : attr.sample_period;
    layout.formats.push_back(capture::format_of(attr, spec, index, options.tag_register));
    layout.formats.back().registers_known = is_x86(options.arch);
    for (std::uint64_t id : event.ids) layout.ids.push_back({id, index});
    const bool time = attr.type == PERF_TYPE_SOFTWARE && attr.config <= PERF_COUNT_SW_TASK_CLOCK;
    sources.push_back({index, event.name, time ? profile::Unit::kNsOnCpu : profile::Unit::kEvents,
                       spec.period, attr.precise_ip > 0});
  }
  return layout;
}

Result<PerfData> read_perf_data(std::span<const std::byte> file, std::uint8_t tag_register) {
  auto header = parse_perf_header(file.first(std::min(file.size(), kPerfHeaderBytes)));
  if (!header) return header.error();
  PerfData data;
  Decoding decoding(data, tag_register);
  if (header->order == ByteOrder::kOther) decoding.describe({.arch = kOtherOrderArch});
  const PerfReadAt read = reader_of(file);
  if (!header->pipe) {
    auto attrs = read_perf_attrs(*header, read);
    if (!attrs) return attrs.error();
    decoding.describe(read_perf_description(*header, read, *attrs));
    for (PerfAttr& attr : *attrs) {
      if (Status known = decoding.event(std::move(attr)); !known) return known.error();
    }
    if (Status used = decoding.use_events(); !used) return used.error();
  }
  PerfBytes rest;
  if (header->records.offset < file.size())
    rest = file.subspan(static_cast<std::size_t>(header->records.offset));
  rest = rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(header->records.size, rest.size())));
  PerfRecords records(decoding, header->records.offset, header->order);
  if (Status fed = records.feed(rest); !fed) return fed.error();
  records.finish();
  if (Status done = decoding.finish(); !done) return done.error();
  data.counts.cut_bytes += records.cut_bytes();
  data.tool_records = records.tool_records();
  data.unfinished = header->unfinished;
  data.missing_bytes = records.missing_bytes();
  if (!header->pipe && !header->unfinished) data.missing_bytes += header->records.size - rest.size();
  return data;
}

}  // namespace tailor::formats
