#include "daemon/pipeline/pipeline.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tailor::pipeline {

Pipeline::Pipeline(profile::ProfileSink& sink, PipelineOptions options)
    : sink_(sink),
      options_(options),
      shares_(options_.limits),
      table_(options_.limits),
      accounts_(table_),
      mappings_(sink_, table_, options_.limits.mappings),
      messages_(table_, timeline_, options_.limits, sink_, problems_, shares_, options_.all_marks),
      lives_(sink_, table_, accounts_, messages_, mappings_),
      sorter_(options_.most_pending),
      events_(sink_, table_, accounts_, mappings_, lives_, messages_.waits(), problems_, options_),
      losses_(accounts_, mappings_, events_.kernel_code(), problems_) {}

void Pipeline::on_recording(const profile::RecordingInfo& info) {
  messages_.recorded(info.start, info.wall_clock_ns, info.drawn_ppm);
  events_.recorded(info);
}

void Pipeline::on_clock(const clock::Conversion& piece, bool restarted) {
  Status taken = restarted ? timeline_.restart(piece) : timeline_.append(piece);
  if (!taken.ok()) problems_.add({}, taken.error().message);
}

void Pipeline::on_perf_clock(const clock::Conversion& line) {
  Status taken = rings_.set_perf_clock(line);
  if (!taken.ok()) problems_.add({}, taken.error().message);
}

void Pipeline::on_ring(const capture::RingLayout& layout) {
  Status opened = rings_.open(layout);
  if (!opened.ok()) {
    ++stats_.refused_rings;
    problems_.add({}, opened.error().message);
    return;
  }
  if (layout.pid < 0 && layout.pid != capture::kOfKernelCode) accounts_.expect_others();
}

void Pipeline::on_chunk(const capture::RingChunk& chunk) {
  decoded_.clear();
  late_.clear();
  const capture::RingLayout* layout = rings_.decode(chunk, timeline_, decoded_);
  if (layout == nullptr) {
    problems_.add({}, "bytes of a ring that is not open");
    return;
  }
  // Only PEBS events are opened under perf's own clock.
  if (layout->clock == capture::RecordClock::kPerf) pebs_watch_.add(layout->ring, decoded_);
  adopt_nameless(*layout, decoded_.batch);
  losses_.take(*layout, decoded_.batch, round_, now_);
  sorter_.add(std::move(decoded_), late_);
  events_.take_late(late_);
}

void Pipeline::on_round(TimeNs horizon) {
  round_ = std::max(round_, horizon);
}

void Pipeline::on_ring_closed(capture::RingIndex ring) {
  rings_.close(ring);
  losses_.ring_closed(ring, now_);
  pebs_watch_.forget(ring);
}

// Waits of children whose parent alone is known to be sampled stay until nothing is sampled.
void Pipeline::on_capture_ended(const CaptureEnded& event) {
  losses_.capture_ended(event, table_.find(event.process));
  if (event.goes_on) return;
  const std::int32_t pid = rings_.may_sample() ? event.process.pid : capture::OffCpuTracker::kAllProcesses;
  events_.cut(pid, event.time);
}

void Pipeline::on_process_ended(ProcessId process) {
  if (ProcessEntry* entry = table_.find(process)) messages_.ended(*entry, now_);
}

void Pipeline::advance(TimeNs now) {
  now_ = std::max(now_, now);
  TimeNs target = now_ - options_.delay;
  if (rings_.may_sample()) target = std::min(target, round_);
  const TimeNs said = settled();
  if (said < now_ - options_.max_lag && said < target) ++stats_.without_settlement;
  move_watermark(std::max(std::min(target, said), now_ - options_.max_lag));
}

void Pipeline::flush(TimeNs now) {
  now_ = std::max(now_, now);
  messages_.flush(now_);
  while (take_look(now)) {
  }
  move_watermark(now);
}

// Earlier events leave the sorter.
void Pipeline::leave(TimeNs before) {
  sorter_.advance(before, [this](const capture::Batch& batch, auto&& what) { events_.take(batch, what); });
}

// What a look saw counts for what comes behind it. Whether there was one.
bool Pipeline::take_look(TimeNs watermark) {
  const auto look = mappings_.take_due(watermark);
  if (!look) return false;
  if (look->time > sorter_.watermark()) leave(look->time);
  events_.settle();
  mappings_.apply(*look);
  return true;
}

void Pipeline::move_watermark(TimeNs watermark) {
  if (watermark <= sorter_.watermark()) {
    tell_changes();
    return;
  }
  (void)take_look(watermark);
  leave(watermark);
  messages_.attributed(watermark);
  table_.attributed(watermark);
  events_.give(watermark);
  tell_changes();
  sink_.on_watermark(watermark);
  table_.for_each([&](ProcessEntry& entry) {
    entry.state.trim(watermark);
    entry.not_drawn.trim(watermark);
    entry.untagged.trim(watermark);
    messages_.measure(entry);
  });
  if (table_.trim(watermark) != 0) events_.forget_processes();
}

TimeNs Pipeline::settled() {
  TimeNs least = kTimeMax;
  table_.for_each([&](const ProcessEntry& entry) {
    if (entry.connection != 0) least = std::min(least, entry.settled);
  });
  return least;
}

PipelineStats Pipeline::stats() const {
  PipelineStats stats = stats_;
  stats.samples = events_.samples();
  stats.watermark = sorter_.watermark();
  stats.late = sorter_.counts().late;
  stats.undecoded = rings_.undecoded();
  stats.problems = problems_.count();
  stats.processes = table_.size();
  stats.pending_bytes = sorter_.held_bytes();
  stats.pending = sorter_.pending();
  return stats;
}

// The kernel no longer knows the number of a thread that is almost gone. (No packed sample is of one.)
void Pipeline::adopt_nameless(const capture::RingLayout& layout, capture::Batch& batch) {
  if (layout.pid <= 0) return;
  for (capture::Event& event : batch.events) {
    if (event.pid < 0) event.pid = layout.pid;
  }
}

// What is counted for all rings together.
void Pipeline::count_overall() {
  accounts_.note(&profile::Accounting::forced, sorter_.counts().forced);
  accounts_.note(&profile::Accounting::undecoded, rings_.undecoded());
  accounts_.note(&profile::Accounting::cut_bytes, rings_.cut_bytes());
  accounts_.note(&profile::Accounting::waits_abandoned, events_.waits_abandoned());
}

void Pipeline::tell_changes() {
  count_overall();
  events_.tell_accounts();
}

}  // namespace tailor::pipeline
