#include "daemon/import/perf_feed.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "daemon/capture/decode/told_record.h"
#include "daemon/formats/perf_event_name.h"
#include "daemon/formats/perf_kernel.h"
#include "proto/base/errors.h"

namespace tailor::importer {
namespace {

constexpr capture::RingIndex kRing = 0;
constexpr const char* kKernelPath = "[kernel.kallsyms]";  // as perf has it
// Each piece that is delivered costs memory of its own, each round a look at every process: both are for as
// many records as pay for it.
constexpr std::size_t kLeastPiece = std::size_t{256} << 10, kLeastOfAProcess = 512;
// Records that are rewritten may become many times what they were: a piece is no larger than this, and one
// record.
constexpr std::size_t kMostOfAPiece = std::size_t{1} << 20;
constexpr std::size_t kMostMarks = 4096;
// Events that come between records make the table of all ids anew. Recorders announce them in front.
constexpr std::size_t kMostIdsTold = 4 * formats::kMostPerfIds;

bool has_our_clock(const std::vector<formats::PerfAttr>& events) {
  return std::ranges::all_of(events, [](const formats::PerfAttr& event) {
    return event.attr.use_clockid && event.attr.clockid == CLOCK_MONOTONIC_RAW;
  });
}

TimeNs behind(TimeNs time) {
  return std::min(time, kTimeMax - 2) + 1;
}

}  // namespace

Status PerfFeed::use_events(std::vector<formats::PerfAttr> events) {
  for (formats::PerfAttr& each : events) {
    if (Status added = event(std::move(each)); !added) return added;
  }
  return tell_events();
}

Status PerfFeed::event(formats::PerfAttr attr) {
  ids_ += attr.ids.size();
  if (Status few = formats::check_perf_counts(events_.size() + 1, ids_); !few) return few;
  if (attr.name.empty()) attr.name = formats::event_name(attr.attr);
  for (const std::uint64_t id : attr.ids) event_of_.try_emplace(id, events_.size());
  events_.push_back(std::move(attr));
  told_ = false;
  return Ok{};
}

// A name changes nothing about the records: it is told with the events, or at the end.
void PerfFeed::event_name(std::uint64_t id, std::string name) {
  const auto known = event_of_.find(id);
  if (known != event_of_.end()) events_[known->second].name = std::move(name);
}

void PerfFeed::describe(const formats::PerfDescription& text) {
  for (const formats::PerfBuildId& id : text.build_ids) {
    sink_.add_build_id(id.path, id.build_id);
    if (id.path == kKernelPath) kernel_build_id_ = id.build_id;
  }
  const auto said = [](std::string& to, const std::string& from) {
    if (!from.empty()) to = from;
  };
  said(description_.host, text.host);
  said(description_.kernel, text.kernel);
  said(description_.arch, text.arch);
  said(description_.cpu, text.cpu);
  said(description_.command, text.command);
  if (text.cpus != 0) description_.cpus = text.cpus;
  if (text.wall_ns != 0) {
    description_.wall_ns = text.wall_ns;
    description_.clock_ns = text.clock_ns;
    description_.clock_id = text.clock_id;
  }
}

// Of all records. It says anew what the sources are.
capture::RingLayout PerfFeed::layout() {
  capture::RingLayout out = formats::perf_data_layout(events_, how_, info_.sources);
  out.ring = kRing;
  out.pid = 0;  // of no process in particular
  return out;
}

Status PerfFeed::tell_events() {
  if (told_) return Ok{};
  // What came before is of the events before.
  if (Status delivered = deliver(); !delivered) return delivered;
  told_ = true;
  if (words_ != nullptr && !has_our_clock(events_))
    return invalid(
        "perf.data: its times are not those of the dictionary; record with perf record -k "
        "CLOCK_MONOTONIC_RAW");
  ++tellings_;
  ids_told_ += ids_;
  if (ids_told_ > kMostIdsTold)
    return exhausted("perf.data: it announces events between its records again and again: no recorder does");
  rewriter_.set_events(events_);
  how_.rewritten = rewriter_.needed();
  how_.arch = description_.arch;
  const capture::RingLayout layout = this->layout();
  pipeline_.on_recording(info_);
  const std::uint64_t refused = pipeline_.stats().refused_rings;
  pipeline_.on_ring(layout);
  if (pipeline_.stats().refused_rings == refused) return Ok{};
  const auto problems = pipeline_.take_problems();
  return internal("perf.data: " +
                  (problems.empty() ? "its events contradict each other" : problems.back().text));
}

Status PerfFeed::kernel_records(formats::PerfBytes bytes) {
  if (events_.empty()) return internal("perf.data: a record comes before the event it belongs to");
  // perf tells of the kernel first.
  if (kernel_anchor_.empty() && ++looks_ <= kMostLooks) kernel_anchor_ = formats::kernel_anchor_in(bytes);
  // Events come one by one in front of the records.
  if (Status told = tell_events(); !told) return told;
  since_round_ += bytes.size();
  if (how_.rewritten) return rewritten(bytes);
  chunk_.bytes.insert(chunk_.bytes.end(), bytes.begin(), bytes.end());
  return chunk_.bytes.size() < kLeastPiece ? Ok{} : deliver();
}

bool PerfFeed::recorders_losses(formats::PerfBytes record) {
  return !events_.empty() && losses_.take(record, events_.front().attr);
}

Status PerfFeed::rewritten(formats::PerfBytes bytes) {
  while (!bytes.empty()) {
    bytes = bytes.subspan(rewriter_.rewrite(bytes, chunk_.bytes, kMostOfAPiece));
    if (chunk_.bytes.size() < kLeastPiece) continue;
    if (Status delivered = deliver(); !delivered) return delivered;
  }
  return Ok{};
}

Status PerfFeed::deliver() {
  if (chunk_.bytes.empty()) return Ok{};
  chunk_.ring = kRing;
  pipeline_.on_chunk(chunk_);
  chunk_.bytes.clear();
  newest_of_piece_ = pipeline_.newest().sample_of_chunk;
  if (marks_.size() < kMostMarks) marks_.push_back({pipeline_.newest().sample});
  marks_.back().newest = pipeline_.newest().sample;
  return keep_within_bounds();
}

Status PerfFeed::keep_within_bounds() {
  const auto too_much = [this] {
    const pipeline::PipelineStats now = pipeline_.stats();
    most_held_ = std::max(most_held_, now.pending_bytes);
    return now.pending_bytes > most_bytes_ || now.pending > kMostHeldEvents;
  };
  if (!too_much()) return Ok{};
  ++forced_;
  if (Status done = flush(behind(marks_[marks_.size() / 2].newest)); !done) return done;
  if (!too_much()) return Ok{};
  // Records that claim to be of the future, or all of one moment.
  if (Status done = flush(behind(pipeline_.newest().record)); !done || !too_much()) return done;
  return exhausted("perf.data: its records cannot be put into order: their times are impossible");
}

// What comes from now on is not older than the newest sample before the last round. It may be older than
// other records: `perf inject` of before 2021 tells all mappings of generated code at once.
Status PerfFeed::round() {
  if (!rounds_ || since_round_ < std::max(kLeastPiece, kLeastOfAProcess * pipeline_.stats().processes))
    return Ok{};
  since_round_ = 0;
  if (Status delivered = deliver(); !delivered) return delivered;
  if (before_ != kTimeMin) {
    if (Status done = flush(before_); !done) return done;
  }
  before_ = pipeline_.newest().sample;
  return Ok{};
}

// Everything up to that time was given.
Status PerfFeed::flush(TimeNs time) {
  if (words_ != nullptr) {
    if (Status told = words_->tell_until(pipeline_, time); !told)
      return in_context("the dictionary: ", told.error());
  }
  pipeline_.flush(time);
  while (!marks_.empty() && marks_.front().newest < time) marks_.pop_front();
  return Ok{};
}

// The kernel tells of losses when there is room again. What the recorder counted beyond that comes as one
// more record of it.
Status PerfFeed::tell_losses() {
  const std::uint64_t told = pipeline_.total().lost_ring;
  if (losses_.lost() <= told) return Ok{};
  untold_ = losses_.lost() - told;
  if (Status known = tell_events(); !known) return known;
  chunk_.bytes = capture::lost_record(layout(), std::max(pipeline_.newest().record, TimeNs{0}), untold_);
  return deliver();
}

Status PerfFeed::finish() {
  if (Status delivered = deliver(); !delivered) return delivered;
  if (Status told = tell_losses(); !told) return told;
  if (Status done = flush(kTimeMax - 1); !done) return done;
  for (std::size_t i = 0; i < events_.size() && i < info_.sources.size(); ++i)
    info_.sources[i].name = events_[i].name;
  return Ok{};
}

}  // namespace tailor::importer
