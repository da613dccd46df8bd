// What leaves the sorter: samples on their way to the sink.
#include <asm/perf_regs.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "daemon/attribute/attribute.h"
#include "daemon/capture/decode/register_masks.h"
#include "daemon/pipeline/pipeline.h"

namespace tailor::pipeline {
namespace {

// Few enough to be in the cache still when the sink reads them.
constexpr std::size_t kSamplesAtOnce = 64;

const profile::SampleRecord kBlank;

// The perf number of the register in whose place the tag of an agent stands, PERF_REG_X86_64_MAX: none.
unsigned tag_register(std::uint32_t strategy) {
  if (strategy == v1::TAGS_R15) return PERF_REG_X86_R15;
  if (strategy == v1::TAGS_MEMORY_SLOT) return capture::kSlotPlace;
  return strategy == v1::TAGS_SWIFTSELF ? PERF_REG_X86_R13 : PERF_REG_X86_64_MAX;
}

// Whether the hardware's record alone says whose a sample of user code is. What a memory slot, a stack or a
// mark tells, a record does not have.
bool told_by_record(const attribute::Evidence& sample, const ProcessEntry& entry,
                    const profile::Attribution& attribution) {
  if (!entry.state.registered_at(sample.time)) return true;  // nothing more could tell
  if (attribution.how == profile::How::kCode) return true;
  return attribution.how == profile::How::kTag && entry.record.tag_strategy != v1::TAGS_MEMORY_SLOT;
}

// Whether the other event of the sample's source counts its moment. Both events ask the same.
bool counts_elsewhere(capture::Part part, const attribute::Evidence& sample, const ProcessEntry& entry,
                      const profile::Attribution& attribution) {
  const bool of_record = sample.mode == profile::Mode::kUser && told_by_record(sample, entry, attribution);
  return part == (of_record ? capture::Part::kRest : capture::Part::kRecords);
}

// Nobody's, because its execution was asked to run without tags: where a tag would have told.
void tell_untagged(const ProcessEntry& entry, profile::Attribution& attribution) {
  const bool tag_would_tell = attribution.how == profile::How::kUnattributed &&
                              attribution.reason != profile::Reason::kMarksLost &&
                              attribution.reason != profile::Reason::kUnregisteredCode;
  if (tag_would_tell && entry.untagged.contains(attribution.execution))
    attribution.reason = profile::Reason::kTagsOff;
}

}  // namespace

// Counts a sample. NULL where its process is none of ours.
inline ProcessEntry* Pipeline::receive(std::int32_t pid, TimeNs time) {
  ProcessEntry* entry = owner(pid, time);
  profile::Accounting& totals = accounting(entry);
  ++totals.received;
  if (entry == nullptr) {
    ++totals.filtered;
  } else if (entry->record.first_seen == 0) {
    entry->record.first_seen = time;
    entry->record_changed = true;
  }
  if (entry != nullptr) process_untold_ = process_untold_ || entry->record_changed;
  return entry;
}

// Whether the last of samples_, `record`, is of an execution that is not drawn, and is not kept.
inline bool Pipeline::drops(ProcessEntry& entry, const profile::SampleRecord& record) {
  if (!entry.not_drawn.contains(record.attribution.execution)) return false;
  count_not_drawn(entry, 1, is_on_cpu(record.source) ? record.weight : 0);
  samples_.pop_back();
  return true;
}

// The last of samples_ is complete.
inline void Pipeline::finish(ProcessEntry& entry, const profile::SampleRecord& record) {
  const bool found = record.attribution.how != profile::How::kUnattributed;
  ++(found ? entry.accounting.attributed : entry.accounting.unattributed);
  if (record.attribution.execution_lost) ++entry.accounting.executions_unknown;
  ++stats_.samples;
  if (is_on_cpu(record.source)) entry.accounting.on_cpu_ns += record.weight;
  if (record.source >= entry.samples_by_source.size()) entry.samples_by_source.resize(record.source + 1u);
  ++entry.samples_by_source[record.source];
  if (samples_.size() >= kSamplesAtOnce) flush_samples();
}

// The tag is where the agent said it keeps it, whatever register the recording was opened for. Where that is
// among the registers of a sample is the same from sample to sample. False: no agent said anything.
inline bool Pipeline::find_tag(const ProcessEntry& entry, std::uint32_t registers) {
  if (entry.record.registered == kTimeMin) return false;
  const std::uint32_t strategy = entry.record.tag_strategy;
  if (strategy != tag_place_.strategy || registers != tag_place_.registers) look_for_tag(strategy, registers);
  return true;
}

void Pipeline::look_for_tag(std::uint32_t strategy, std::uint32_t registers) {
  const unsigned number = tag_register(strategy);
  const std::uint32_t bit = number < 32 ? std::uint32_t{1} << number : 0;
  tag_place_ = {strategy, registers, (registers & bit) != 0,
                static_cast<std::uint32_t>(std::popcount(registers & (bit - 1)))};
}

void Pipeline::sample(const capture::Batch& batch, capture::Event& event) {
  ProcessEntry* entry = receive(event.pid, event.time);
  if (entry == nullptr) return;
  if (find_tag(*entry, event.regs_mask)) {
    event.has_tag = tag_place_.present;
    event.tag = tag_place_.present ? batch.words[event.regs_offset + tag_place_.before] : 0;
  }
  // A copy is several times cheaper than zeroing in place, which compilers do by a string instruction.
  profile::SampleRecord& record = samples_.emplace_back(kBlank);
  record.time = event.time;
  record.process = entry->id();
  record.tid = event.tid;
  record.cpu = event.cpu;
  record.source = event.source;
  record.mode = event.mode;
  record.has_tag = event.has_tag;
  record.weight = event.weight;
  record.ip = event.ip;
  record.wait = event.wait;
  if (event.engine_wait != 0) record.engine_wait = number_wait(*entry, event.engine_wait);
  record.user_ip = event.user_ip;
  record.tag = event.tag;
  attribute::attribute(attribute::evidence_of(event), batch.chain(event), &entry->state, record.attribution);
  if (counts_elsewhere(event.part, attribute::evidence_of(event), *entry, record.attribution)) {
    ++entry->accounting.counted_by_other;
    samples_.pop_back();
    return;
  }
  if (drops(*entry, record)) return;
  tell_untagged(*entry, record.attribution);
  if (event.chain_size + event.kernel_chain_size != 0) keep_stack(batch, event, record);
  memory_.resolve(batch, event, entry->state, record);
  if (record.region >= profile::kFirstMappedRegion) name_area(*entry, record.region);
  finish(*entry, record);
}

// A report finds the names of regions in the profile, whoever gave them.
void Pipeline::name_area(ProcessEntry& entry, std::uint32_t region) {
  const std::uint32_t area = region - profile::kFirstMappedRegion;
  if ((entry.areas_told >> area & 1) != 0) return;
  entry.areas_told |= 1u << area;
  v1::RegionKind kind;
  kind.set_id(region);
  kind.set_name(std::string(process::name_of(static_cast<process::MemoryArea>(area))));
  sink_.on_region_kind(entry.id(), kind);
}

// A name is told before the first sample that has it.
std::uint32_t Pipeline::number_wait(const ProcessEntry& entry, std::uint32_t word) {
  const std::uint32_t number = messages_.waits().number_of(entry.waits.get(), word);
  if (number > recording_.wait_names.size()) {
    recording_.wait_names = messages_.waits().names();
    sink_.on_recording(recording_);
  }
  return number;
}

// The kernel's part begins with the sampled address itself.
void Pipeline::keep_stack(const capture::Batch& batch, const capture::Event& event,
                          profile::SampleRecord& record) {
  const profile::StackFrame* caller = nullptr;
  const auto push = [&](std::span<const std::uint64_t> frames) {
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
      caller = &frames_.emplace_back(profile::StackFrame{caller, *frame});
  };
  push(batch.chain(event));
  std::span<const std::uint64_t> kernel = batch.kernel_chain(event);
  if (!kernel.empty() && kernel.front() == event.ip) kernel = kernel.subspan(1);
  push(kernel);
  record.stack = caller;
}

// The same without an event between, for samples of user code that say nothing of memory: nearly all.
[[gnu::always_inline]] inline void Pipeline::packed_sample(const capture::Batch& batch,
                                                           const capture::PackedSample& sample) {
  const capture::FixedSample& format = *sample.format;
  const std::uint64_t* payload = sample.payload;
  const std::uint64_t thread = format.thread(payload);
  ThreadSpan& span = spans_.of(thread);
  if (!span.holds(thread, format, sample.time) && !begin_span(span, sample)) {
    capture::Event event = sample.event();
    return handle(batch, event);
  }
  profile::SampleRecord& record = samples_.emplace_back(span.record);
  record.time = sample.time;
  record.cpu = format.cpu(payload);
  record.weight = format.weight(payload);
  record.ip = record.user_ip = format.ip(payload);
  record.tag = span.has_tag ? payload[span.tag_at] : 0;
  const process::ProcessState& process = span.entry->state;
  if (!attribute::attribute_by_code(record.ip, record.time, process, span.context, record.attribution)) {
    const attribute::Evidence evidence{.time = record.time,
                                       .tid = record.tid,
                                       .has_tag = record.has_tag,
                                       .tag_from = format.tag_from(),
                                       .ip = record.ip,
                                       .user_ip = record.ip,
                                       .tag = record.tag};
    attribute::attribute(evidence, {}, process, span.context, record.attribution);
  }
  if (format.part() != capture::Part::kAll) [[unlikely]] {
    const attribute::Evidence evidence{.time = record.time};
    if (counts_elsewhere(format.part(), evidence, *span.entry, record.attribution)) {
      ++span.elsewhere;
      samples_.pop_back();
      return;
    }
  }
  if (drops(*span.entry, record)) [[unlikely]] {
    ++span.entry->accounting.received;
    return;
  }
  tell_untagged(*span.entry, record.attribution);
  record.alike = alike(span, record.attribution);
  ++span.received;
  span.attributed += record.attribution.how != profile::How::kUnattributed;
  span.weight += record.weight;
  if (record.attribution.execution_lost) [[unlikely]]
    ++span.entry->accounting.executions_unknown;
  if (samples_.size() >= kSamplesAtOnce) flush_samples();
}

// False where samples go the long way: by a rarer format, of nobody's process, or of one whose number another
// process has later.
bool Pipeline::begin_span(ThreadSpan& span, const capture::PackedSample& sample) {
  const capture::FixedSample& format = *sample.format;
  if (format.of_memory() || memory_.has_enough(format.registers()) || off_cpu_.absorbs(format.source())) {
    return false;
  }
  const std::uint64_t thread = format.thread(sample.payload);
  const auto tid = static_cast<std::int32_t>(thread >> 32);
  ProcessEntry* entry = owner(static_cast<std::int32_t>(thread), sample.time);
  if (entry == nullptr || table_.at(entry->id().pid, kTimeMax) != entry) return false;
  count_span(span);
  if (entry->record.first_seen == 0) {
    entry->record.first_seen = sample.time;
    entry->record_changed = true;
  }
  process_untold_ = process_untold_ || entry->record_changed;
  spans_.begin(span);
  span.thread = thread;
  span.format = &format;
  span.from = sample.time;
  span.entry = entry;
  span.context = entry->state.context_at(tid, sample.time);
  span.length = static_cast<std::uint64_t>(entry->state.context_change_after(tid, sample.time)) -
                static_cast<std::uint64_t>(sample.time);
  // Which execution it is of may change within the span, where marks were lost.
  span.number = span.context.execution_lost ? 0 : spans_.number(*entry, format.source(), span.context);
  span.has_tag = format.has_tag();
  span.tag_at = format.tag_at();
  if (find_tag(*entry, format.registers())) {
    span.has_tag = tag_place_.present;
    span.tag_at = format.registers_at() + tag_place_.before;
  }
  span.record = kBlank;
  span.record.process = entry->id();
  span.record.tid = tid;
  span.record.source = format.source();
  span.record.has_tag = span.has_tag;
  return true;
}

void Pipeline::count_span(ThreadSpan& span) {
  if (span.elsewhere != 0) {
    span.entry->accounting_changed = true;
    span.entry->accounting.received += span.elsewhere;
    span.entry->accounting.counted_by_other += std::exchange(span.elsewhere, 0);
  }
  if (span.received == 0) return;
  ProcessEntry& entry = *span.entry;
  const std::uint16_t source = span.record.source;
  entry.accounting_changed = true;
  entry.accounting.received += span.received;
  entry.accounting.attributed += span.attributed;
  entry.accounting.unattributed += span.received - span.attributed;
  stats_.samples += span.received;
  if (is_on_cpu(source)) entry.accounting.on_cpu_ns += span.weight;
  if (source >= entry.samples_by_source.size()) entry.samples_by_source.resize(source + 1u);
  entry.samples_by_source[source] += span.received;
  span.received = span.attributed = span.weight = 0;
}

// Before anything that changes what processes are, and before what samples count is looked at.
void Pipeline::end_spans() {
  spans_.end_all([this](ThreadSpan& span) { count_span(span); });
}

void Pipeline::move_watermark(TimeNs watermark) {
  if (watermark <= sorter_.watermark()) {
    tell_changes();
    return;
  }
  (void)look_again(watermark);
  sorter_.advance(watermark, Leaving{*this});
  messages_.attributed(watermark);
  end_spans();
  cut_waits(watermark);
  flush_samples();
  tell_regions();
  tell_changes();
  sink_.on_watermark(watermark);
  table_.for_each([&](ProcessEntry& entry) {
    entry.state.trim(watermark);
    entry.not_drawn.trim(watermark);
    entry.untagged.trim(watermark);
    messages_.measure(entry);
  });
  if (table_.trim(watermark) != 0) spans_.forget_numbers();
}

// Of the regions of memory those that have samples, where not all marks are kept anyway.
void Pipeline::tell_regions() {
  table_.for_each([&](ProcessEntry& entry) {
    const std::vector<process::RegionChange> changes = entry.state.take_found_regions();
    if (changes.empty() || options_.all_marks) return;
    std::vector<profile::ActivityRecord> records;
    for (const process::RegionChange& change : changes) {
      const process::Region& region = change.region;
      const auto kind = change.begins ? TAILOR_LOG_REGION_ADD : TAILOR_LOG_REGION_REMOVE;
      records.push_back({change.time, entry.id(), region.tid, kind, region.kind, region.base,
                         change.begins ? region.end - region.base : 0});
    }
    sink_.on_activity(records);
  });
}

// A wait that is not over when the recording is has lasted until then.
void Pipeline::cut_waits(TimeNs watermark) {
  std::erase_if(cuts_, [&](const CutWaits& cut) {
    if (cut.time > watermark) return false;
    for (capture::Batch& wait : off_cpu_.cut(cut.pid, cut.time)) sample(wait, wait.events.front());
    return true;
  });
}

// A process is told before its samples.
void Pipeline::flush_samples() {
  if (samples_.empty()) return;
  if (std::exchange(process_untold_, false)) {
    table_.for_each([&](ProcessEntry& entry) {
      if (!entry.record_changed || entry.record.first_seen == 0) return;
      sink_.on_process(entry.record);
      entry.record_changed = false;
    });
  }
  sink_.on_samples(samples_);
  samples_.clear();
  frames_.clear();
}

}  // namespace tailor::pipeline
