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
      messages_(table_, timeline_, options_.limits, sink_, problems_, shares_, options_.all_marks),
      sorter_(options_.most_pending),
      kernel_code_(sink_) {}

void Pipeline::on_recording(const profile::RecordingInfo& info) {
  off_cpu_.set_sources(info.sources);
  on_cpu_.clear();
  for (const profile::Source& source : info.sources) {
    if (source.index >= on_cpu_.size()) on_cpu_.resize(source.index + 1u);
    on_cpu_[source.index] = source.unit == profile::Unit::kNsOnCpu;
  }
  messages_.recorded(info.start, info.wall_clock_ns, info.drawn_ppm);
  recording_ = info;
  recording_.wait_names = messages_.waits().names();
  sink_.on_recording(recording_);
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
  entry.record_changed = true;
  map_areas(entry, process);
  if (!process.mappings.empty() || !process.memory.empty()) take_look(entry, process);
  if (process.agent_thread == 0) return;
  entry.state.set_agent_thread(process.agent_thread);
  name_agent(entry);
}

void Pipeline::on_ring(const capture::RingLayout& layout) {
  Status opened = rings_.open(layout);
  if (!opened.ok()) {
    ++stats_.refused_rings;
    problems_.add({}, opened.error().message);
    return;
  }
  cpu_wide_ = cpu_wide_ || (layout.pid < 0 && layout.pid != capture::kOfKernelCode);
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
  count_losses(*layout, decoded_.batch);
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
  entry->accounting.agent_dropped = messages;
  entry->accounting_changed = true;
}

void Pipeline::on_round(TimeNs horizon) {
  round_ = std::max(round_, horizon);
}

void Pipeline::on_ring_closed(capture::RingIndex ring) {
  rings_.close(ring);
  count_gaps(throttle_gaps_.close(ring, now_));
  pebs_watch_.forget(ring);
}

// Samples of others that the reader removed were received too, and belong to none of ours. Waits of children
// whose parent alone is known to be sampled stay until nothing is sampled.
void Pipeline::on_capture_ended(const CaptureEnded& event) {
  if (event.records_filtered != 0) {
    nobodys_.received += event.samples_filtered;
    nobodys_.filtered += event.samples_filtered;
    nobodys_.records_filtered += event.records_filtered;
    nobodys_changed_ = true;
  }
  if (event.broken_rings != 0) accounting(table_.find(event.process)).broken_rings += event.broken_rings;
  if (event.goes_on) return;
  const std::int32_t pid = rings_.may_sample() ? event.process.pid : capture::OffCpuTracker::kAllProcesses;
  cuts_.push_back({pid, event.time});
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
  while (look_again(now)) {
  }
  move_watermark(now);
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
  profile::Accounting total = nobodys_;
  profile::add(total, table_.forgotten());
  table_.for_each([&](const ProcessEntry& entry) { profile::add(total, entry.accounting); });
  return total;
}

// Losses belong to the process whose ring it is, whoever ran when the kernel noticed.
void Pipeline::count_losses(const capture::RingLayout& layout, const capture::Batch& batch) {
  ProcessEntry* entry = nullptr;
  TimeNs before = round_;  // the last record that is not lost: what was lost is newer
  for (const capture::Event& event : batch.events) {
    const bool loss = event.kind == capture::Kind::kLost || event.kind == capture::Kind::kLostSamples ||
                      event.kind == capture::Kind::kThrottle;
    count_gaps(throttle_gaps_.add(layout, event));
    if (!loss) {
      before = std::max(before, event.time);
      continue;
    }
    if (layout.pid == capture::kOfKernelCode) {
      // Its records are no samples: names are missing, and that is said.
      kernel_code_.lost(event.time);
      problems_.add({}, "records of code that the kernel loaded were lost");
      continue;
    }
    if (layout.shared) {
      note_lost_maps(layout, before == kTimeMin ? event.time : std::min(before, event.time));
      continue;
    }
    if (entry == nullptr && layout.pid > 0) entry = owner(layout.pid, now_);
    profile::Accounting& totals = accounting(entry);
    profile::CpuLosses& of_cpu = totals.of_cpu(layout.cpu);
    if (event.kind == capture::Kind::kLost) {
      totals.lost_ring += event.weight;
      of_cpu.lost_ring += event.weight;
    } else if (event.kind == capture::Kind::kLostSamples) {
      totals.lost_hardware += event.weight;
      of_cpu.lost_hardware += event.weight;
    } else {
      ++totals.throttled;
      ++of_cpu.throttled;
    }
  }
}

void Pipeline::count_gaps(std::vector<capture::ThrottleGap> ended) {
  for (const capture::ThrottleGap& gap : ended) {
    profile::Accounting& totals = accounting(gap.pid > 0 ? owner(gap.pid, now_) : nullptr);
    totals.gap_ns += gap.ns;
    totals.of_cpu(gap.cpu).gap_ns += gap.ns;
  }
}

// What is counted for all rings together.
void Pipeline::count_overall() {
  const auto note = [this](std::uint64_t& field, std::uint64_t now) {
    if (std::exchange(field, now) != now) nobodys_changed_ = true;
  };
  note(nobodys_.forced, sorter_.counts().forced);
  note(nobodys_.undecoded, rings_.undecoded());
  note(nobodys_.cut_bytes, rings_.cut_bytes());
  note(nobodys_.waits_abandoned, off_cpu_.counts().abandoned);
}

// A late sample may have lost the code it ran in: it is counted, not guessed at. The rest is still of use.
void Pipeline::take_late(capture::Batch& late) {
  for (capture::Event& event : late.events) {
    if (event.kind != capture::Kind::kSample) {
      handle(late, event);
      continue;
    }
    profile::Accounting& totals = accounting(owner(event.pid, event.time));
    ++totals.received;
    ++totals.late;
    if (is_on_cpu(event.source)) totals.on_cpu_ns += event.weight;
  }
}

void Pipeline::handle(const capture::Batch& batch, capture::Event& event) {
  switch (event.kind) {
    case capture::Kind::kSample:
      if (!off_cpu_.absorb(batch, event)) sample(batch, event);
      return;
    case capture::Kind::kSwitchOut:
      return off_cpu_.left(event);
    case capture::Kind::kSwitchIn:
      if (capture::Batch* wait = off_cpu_.returned(event)) sample(*wait, wait->events.front());
      return;
    case capture::Kind::kKernelSymbol:
      return kernel_symbol(batch, event);
    case capture::Kind::kComm:
      end_spans();
      return name_thread(batch, event);
    case capture::Kind::kMmap:
      end_spans();
      return mapped(batch, event);
    case capture::Kind::kFork:
      end_spans();
      if (event.pid != event.parent_pid) process_started(event);
      return;
    case capture::Kind::kExit:
      end_spans();
      off_cpu_.ended(event);
      return thread_ended(event);
    case capture::Kind::kNotDrawn:
      if (ProcessEntry* entry = owner(event.pid, event.time)) {
        entry->accounting.received += event.weight;
        count_not_drawn(*entry, event.weight, event.size);
      }
      return;
    default:
      return;
  }
}

void Pipeline::count_not_drawn(ProcessEntry& entry, std::uint64_t samples, std::uint64_t on_cpu_ns) {
  profile::Accounting& totals = accounting(&entry);
  totals.not_drawn += samples;
  totals.not_drawn_ns += on_cpu_ns;
  totals.on_cpu_ns += on_cpu_ns;
}

void Pipeline::name_thread(const capture::Batch& batch, const capture::Event& event) {
  ProcessEntry* entry = owner(event.pid, event.time);
  if (entry == nullptr) return;
  if (event.flag_exec) {
    messages_.executed(*entry, event.time);
    entry->state.memory().clear();
    entry->state.generated().clear();
    entry->files.clear();
    ++entry->executed;
    entry->executed_at = event.time;
    entry->jitdump.clear();
    tell_executed(*entry, event.time);
  }
  std::string name(batch.text_of(event));
  if (event.pid == event.tid) {
    entry->record.comm = name;
    entry->record_changed = true;
  }
  if (name == process::kAgentThreadName && event.tid != event.pid) {
    entry->state.set_agent_thread(event.tid);
    name_agent(*entry);
  }
  sink_.on_thread(entry->id(), event.tid, name);
}

// What the agent costs is not the engine's, and is known by its thread and its library.
void Pipeline::name_agent(ProcessEntry& entry) {
  sink_.on_component(entry.id(), process::kAgentComponent, process::kAgentComponentName);
}

// Symbols of the kernel itself are told for waits, of what it loads while it runs for names.
void Pipeline::kernel_symbol(const capture::Batch& batch, const capture::Event& event) {
  const std::string_view name = batch.text_of(event);
  const bool bpf = event.data_source == PERF_RECORD_KSYMBOL_TYPE_BPF;
  if (!bpf && event.data_source != PERF_RECORD_KSYMBOL_TYPE_OOL) return off_cpu_.learn(event, name);
  if (!kernel_code_.add({event.time, event.address, event.size, name, bpf, event.flag_exec}))
    problems_.add({}, "a symbol of the kernel that cannot be");
}

// The child may be known already: its agent speaks through a socket, which is faster than a ring.
void Pipeline::process_started(const capture::Event& event) {
  ProcessEntry* newest = table_.at(event.pid, kTimeMax);
  if (newest != nullptr && !newest->was_there_before(event.time)) {
    newest->since = std::min(newest->since, event.time);
    start_on_behalf(event, *newest);
    const ProcessEntry* parent = table_.at(event.parent_pid, event.time);
    const bool looked_at = newest->mappings != 0;
    if (parent != nullptr && parent != newest && !looked_at)
      newest->state.generated() = parent->state.generated();
    return;
  }
  ProcessEntry* child = table_.add_unnamed(event.pid, event.time);
  ProcessEntry* parent = table_.at(event.parent_pid, event.time);
  if (child == nullptr || parent == nullptr) return;
  child->record.comm = parent->record.comm;
  child->state.memory() = parent->state.memory();
  child->state.generated() = parent->state.generated();
  child->files = parent->files;
  start_on_behalf(event, *child);
  child->record.parent = parent->id();
  child->record.forked = event.time;
}

// A loader that an engine starts is work of the component that started it, and so is what that one starts.
void Pipeline::start_on_behalf(const capture::Event& event, ProcessEntry& child) {
  const ProcessEntry* parent = table_.at(event.parent_pid, event.time);
  if (parent == nullptr || parent == &child) return;
  const bool registered = parent->state.registered_at(event.time);
  const std::uint32_t component = registered
                                      ? parent->state.context_at(event.parent_tid, event.time).component
                                      : parent->state.started_by();
  const std::string* name = parent->state.component_name(component);
  if (!registered && component != 0) name = &parent->started_by;
  if (name == nullptr) return;
  child.state.set_started_by(component);
  child.started_by = *name;
  sink_.on_component(child.id(), component, *name);
}

// Processes of which only the number is known have nobody else who says that they ended.
void Pipeline::thread_ended(const capture::Event& event) {
  ProcessEntry* entry = table_.at(event.pid, event.time);
  const bool process = event.pid == event.tid;
  if (process && entry != nullptr && entry->id().start == 0)
    entry->ended = std::min(entry->ended, event.time);
}

void Pipeline::tell_changes() {
  count_overall();
  table_.for_each([&](ProcessEntry& entry) {
    if (entry.record_changed && entry.record.first_seen != 0) {
      sink_.on_process(entry.record);
      entry.record_changed = false;
    }
    if (!entry.accounting_changed) return;
    sink_.on_accounting(entry.accounting);
    entry.accounting_changed = false;
  });
  if (!nobodys_changed_) return;
  sink_.on_accounting(nobodys_);
  nobodys_changed_ = false;
}

}  // namespace tailor::pipeline
