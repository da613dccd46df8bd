#include "daemon/pipeline/pipeline.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/profile/accounting.h"

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
      kernel_code_(sink_),
      losses_(accounts_, mappings_, kernel_code_, problems_),
      news_(sink_, table_, accounts_, options_.all_marks),
      samples_(sink_, table_, accounts_, news_, messages_.waits(), waits_.tracker(), options_.slot_states) {}

void Pipeline::on_recording(const profile::RecordingInfo& info) {
  waits_.recorded(info.sources);
  messages_.recorded(info.start, info.wall_clock_ns, info.drawn_ppm);
  samples_.recorded(info);
}

void Pipeline::on_clock(const clock::Conversion& piece, bool restarted) {
  Status taken = restarted ? timeline_.restart(piece) : timeline_.append(piece);
  if (!taken.ok()) problems_.add({}, taken.error().message);
}

void Pipeline::on_perf_clock(const clock::Conversion& line) {
  Status taken = rings_.set_perf_clock(line);
  if (!taken.ok()) problems_.add({}, taken.error().message);
}

void Pipeline::on_known_process(const KnownProcess& process) {
  ProcessEntry& entry = table_.get(process.process, now_);
  entry.record.comm = process.comm;
  entry.record.cgroup = process.cgroup;
  if (!process.rules.empty()) entry.record.rules = process.rules;
  entry.record_changed = true;
  if (!accounts_.expects_others()) entry.begin_own_records();
  mappings_.seen(entry, process, now_);
  if (process.agent_thread == 0) return;
  entry.state.set_agent_thread(process.agent_thread);
  tell_agent(sink_, entry);
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
  newest_of_chunk_ = kTimeMin;
  for (const capture::Arrival& arrival : decoded_.order) {
    newest_ = std::max(newest_, arrival.time);
    const bool is_sample =
        arrival.packed() || decoded_.batch.events[arrival.at].kind == capture::Kind::kSample;
    if (is_sample) newest_of_chunk_ = std::max(newest_of_chunk_, arrival.time);
  }
  newest_sample_ = std::max(newest_sample_, newest_of_chunk_);
  sorter_.add(std::move(decoded_), late_);
  take_late(late_);
}

void Pipeline::on_agent_dropped(ProcessId process, std::uint64_t messages) {
  ProcessEntry* entry = table_.find(process);
  if (entry == nullptr) return;
  entry->accounting.agent_dropped = entry->dropped_before + messages;
  entry->accounting_changed = true;
}

void Pipeline::on_agent_unsent(ProcessId process, std::uint64_t messages) {
  ProcessEntry* entry = table_.find(process);
  if (entry == nullptr) return;
  entry->accounting.agent_unsent = entry->unsent_before + messages;
  entry->accounting_changed = true;
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
  waits_.cut(pid, event.time);
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

// What leaves the sorter.
struct Pipeline::Leaving {
  Pipeline& to;
  void operator()(const capture::Batch& batch, capture::Event& event) { to.handle(batch, event); }
  void operator()(const capture::Batch& batch, const capture::PackedSample& sample) {
    if (to.samples_.take(sample)) return;
    capture::Event event = sample.event();
    to.handle(batch, event);
  }
};

// What a look saw counts for what comes behind it. Whether there was one.
bool Pipeline::take_look(TimeNs watermark) {
  const auto look = mappings_.take_due(watermark);
  if (!look) return false;
  if (look->time > sorter_.watermark()) sorter_.advance(look->time, Leaving{*this});
  samples_.settle();
  mappings_.apply(*look);
  return true;
}

void Pipeline::move_watermark(TimeNs watermark) {
  if (watermark <= sorter_.watermark()) {
    tell_changes();
    return;
  }
  (void)take_look(watermark);
  sorter_.advance(watermark, Leaving{*this});
  messages_.attributed(watermark);
  table_.attributed(watermark);
  samples_.settle();
  waits_.give_cut(watermark, samples_);
  samples_.flush();
  news_.tell_regions();
  tell_changes();
  sink_.on_watermark(watermark);
  table_.for_each([&](ProcessEntry& entry) {
    entry.state.trim(watermark);
    entry.not_drawn.trim(watermark);
    entry.untagged.trim(watermark);
    messages_.measure(entry);
  });
  if (table_.trim(watermark) != 0) samples_.forget_processes();
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
  stats.samples = samples_.samples();
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

profile::Accounting Pipeline::total() {
  profile::Accounting total = accounts_.nobodys();
  profile::add(total, table_.forgotten());
  table_.for_each([&](const ProcessEntry& entry) { profile::add(total, entry.accounting); });
  return total;
}

// What is counted for all rings together.
void Pipeline::count_overall() {
  accounts_.note(&profile::Accounting::forced, sorter_.counts().forced);
  accounts_.note(&profile::Accounting::undecoded, rings_.undecoded());
  accounts_.note(&profile::Accounting::cut_bytes, rings_.cut_bytes());
  accounts_.note(&profile::Accounting::waits_abandoned, waits_.abandoned());
}

// A late sample may have lost the code it ran in: it is counted, not guessed at. The rest is still of use.
void Pipeline::take_late(capture::Batch& late) {
  for (capture::Event& event : late.events) {
    if (event.kind == capture::Kind::kSample) {
      samples_.late(event);
    } else {
      handle(late, event);
    }
  }
}

void Pipeline::handle(const capture::Batch& batch, capture::Event& event) {
  switch (event.kind) {
    case capture::Kind::kSample:
      if (!waits_.keep(batch, event)) samples_.take(batch, event);
      return;
    case capture::Kind::kSwitchOut:
      return waits_.left(event);
    case capture::Kind::kSwitchIn:
      return waits_.returned(event, samples_);
    case capture::Kind::kKernelSymbol:
      return kernel_symbol(batch, event);
    case capture::Kind::kComm:
      samples_.settle();
      return lives_.named(batch, event);
    case capture::Kind::kMmap:
      samples_.settle();
      if (ProcessEntry* entry = accounts_.owner(event.pid, event.time))
        mappings_.mapped(*entry, batch, event);
      return;
    case capture::Kind::kFork:
      samples_.settle();
      if (event.pid != event.parent_pid) lives_.forked(event);
      return;
    case capture::Kind::kExit:
      samples_.settle();
      waits_.ended(event);
      return lives_.exited(event);
    case capture::Kind::kNotDrawn:
      return samples_.not_drawn(event.pid, event.time, event.weight, event.size);
    default:
      return;
  }
}

// Symbols of the kernel itself are told for waits, of what it loads while it runs for names.
void Pipeline::kernel_symbol(const capture::Batch& batch, const capture::Event& event) {
  const std::string_view name = batch.text_of(event);
  const bool bpf = event.data_source == PERF_RECORD_KSYMBOL_TYPE_BPF;
  if (!bpf && event.data_source != PERF_RECORD_KSYMBOL_TYPE_OOL) return waits_.learn(event, name);
  if (!kernel_code_.add({event.time, event.address, event.size, name, bpf, event.flag_exec}))
    problems_.add({}, "a symbol of the kernel that cannot be");
}

void Pipeline::tell_changes() {
  count_overall();
  news_.tell_accounts();
}

}  // namespace tailor::pipeline
