#include "daemon/pipeline/sample_stage.h"

#include <asm/perf_regs.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "daemon/attribute/attribute.h"
#include "daemon/capture/decode/register_masks.h"

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
bool told_by_record(const ProcessEntry& entry, const profile::SampleRecord& sample) {
  if (!entry.state.registered_at(sample.time)) return true;  // nothing more could tell
  if (sample.attribution.how == profile::How::kCode) return true;
  return sample.attribution.how == profile::How::kTag && entry.record.tag_strategy != v1::TAGS_MEMORY_SLOT;
}

// Whether the other event of the sample's source counts its moment. Both events ask the same.
bool counts_elsewhere(capture::Part part, const ProcessEntry& entry, const profile::SampleRecord& sample) {
  const bool of_record = sample.mode == profile::Mode::kUser && told_by_record(entry, sample);
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

void SampleStage::recorded(const profile::RecordingInfo& info) {
  on_cpu_.clear();
  for (const profile::Source& source : info.sources) {
    if (source.index >= on_cpu_.size()) on_cpu_.resize(source.index + 1u);
    on_cpu_[source.index] = source.unit == profile::Unit::kNsOnCpu;
  }
  recording_ = info;
  recording_.wait_names = waits_.names();
  sink_.on_recording(recording_);
}

// A process is told before its samples.
inline void SampleStage::met(ProcessEntry& entry, TimeNs time) {
  if (entry.record.first_seen == 0) {
    entry.record.first_seen = time;
    entry.record_changed = true;
  }
  process_untold_ = process_untold_ || entry.record_changed;
}

// Whether an attributed sample is kept. All samples come by here, and nowhere else is decided or noted what
// becomes of them.
[[gnu::always_inline]] inline bool SampleStage::keep(const ProcessEntry& entry, capture::Part part,
                                                     profile::SampleRecord& record, Tally& tally) {
  if (part != capture::Part::kAll && counts_elsewhere(part, entry, record)) [[unlikely]] {
    ++tally.elsewhere;
    return false;
  }
  if (entry.not_drawn.contains(record.attribution.execution)) [[unlikely]] {
    ++tally.not_drawn;
    tally.weight_not_drawn += record.weight;
    return false;
  }
  tell_untagged(entry, record.attribution);
  ++tally.kept;
  tally.attributed += record.attribution.how != profile::How::kUnattributed;
  tally.executions_unknown += record.attribution.execution_lost;
  tally.weight += record.weight;
  return true;
}

// `record`, the last of samples_, has all that its sample says. Here it gets its owner, and is kept or
// removed. False: it is gone. Nearly all samples of user code have their owner by the code alone, so the code
// is asked first, without a call.
[[gnu::always_inline]] inline bool SampleStage::give_owner(
    const ProcessEntry& entry, const process::ThreadContext& context, std::uint8_t tag_from,
    std::span<const std::uint64_t> chain, capture::Part part, profile::SampleRecord& record, Tally& tally) {
  if (record.mode != profile::Mode::kUser ||
      !attribute::attribute_by_code(record.ip, record.time, entry.state, context, record.attribution)) {
    const attribute::Evidence evidence{record.time, record.tid, record.mode,    record.has_tag,
                                       tag_from,    record.ip,  record.user_ip, record.tag};
    attribute::attribute(evidence, chain, entry.state, context, record.attribution);
  }
  if (keep(entry, part, record, tally)) [[likely]]
    return true;
  samples_.pop_back();
  return false;
}

void SampleStage::count(ProcessEntry& entry, std::uint16_t source, SlotReading reading, Tally& tally) {
  const std::uint64_t received = tally.kept + tally.not_drawn + tally.elsewhere;
  if (received == 0) return;
  profile::Accounting& account = accounts_.of(&entry);
  account.received += received;
  count_slots(reading, tally.kept, account);
  account.attributed += tally.attributed;
  account.unattributed += tally.kept - tally.attributed;
  account.executions_unknown += tally.executions_unknown;
  account.counted_by_other += tally.elsewhere;
  account.not_drawn += tally.not_drawn;
  if (is_on_cpu(source)) {
    account.on_cpu_ns += tally.weight + tally.weight_not_drawn;
    account.not_drawn_ns += tally.weight_not_drawn;
  }
  if (tally.kept != 0) {
    if (source >= entry.samples_by_source.size()) entry.samples_by_source.resize(source + 1u);
    entry.samples_by_source[source] += tally.kept;
  }
  given_ += tally.kept;
  tally = {};
}

void SampleStage::late(const capture::Event& event) {
  profile::Accounting& account = accounts_.of(accounts_.owner(event.pid, event.time));
  ++account.received;
  ++account.late;
  if (is_on_cpu(event.source)) account.on_cpu_ns += event.weight;
}

void SampleStage::not_drawn(std::int32_t pid, TimeNs time, std::uint64_t samples, std::uint64_t on_cpu_ns) {
  ProcessEntry* entry = accounts_.owner(pid, time);
  if (entry == nullptr) return;
  profile::Accounting& account = accounts_.of(entry);
  account.received += samples;
  account.not_drawn += samples;
  account.not_drawn_ns += on_cpu_ns;
  account.on_cpu_ns += on_cpu_ns;
}

// The tag is where the agent said it keeps it, whatever register the recording was opened for. Where that is
// among the registers of a sample is the same from sample to sample. False: no agent said anything.
inline bool SampleStage::find_tag(const ProcessEntry& entry, std::uint32_t registers) {
  if (entry.record.registered == kTimeMin) return false;
  const std::uint32_t strategy = entry.record.tag_strategy;
  if (strategy != tag_place_.strategy || registers != tag_place_.registers) look_for_tag(strategy, registers);
  return true;
}

void SampleStage::look_for_tag(std::uint32_t strategy, std::uint32_t registers) {
  const unsigned number = tag_register(strategy);
  const std::uint32_t bit = number < 32 ? std::uint32_t{1} << number : 0;
  tag_place_ = {strategy, registers, (registers & bit) != 0,
                static_cast<std::uint32_t>(std::popcount(registers & (bit - 1)))};
}

// What the slot said, nullptr: it was not asked. Marks of before an agent spoke are believed by nobody.
inline SlotReading SampleStage::reading_of(const ProcessEntry& entry, TimeNs time,
                                           const std::uint64_t* state) const {
  if (state == nullptr || !slot_states_ || !entry.state.registered_at(time)) return SlotReading::kNotAsked;
  if (state[0] != TAILOR_NO_STATE) return SlotReading::kState;
  if (state[1] == capture::kNoSlot) return SlotReading::kNoSlot;
  return state[1] == capture::kSlotUnread ? SlotReading::kUnread : SlotReading::kNotAsked;
}

void SampleStage::take(const capture::Batch& batch, capture::Event& event) {
  ProcessEntry* entry = accounts_.owner(event.pid, event.time);
  if (entry == nullptr) {
    profile::Accounting& account = accounts_.of(nullptr);
    ++account.received;
    ++account.filtered;
    return;
  }
  met(*entry, event.time);
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
  const std::uint64_t* state = batch.state(event);
  const SlotReading reading = reading_of(*entry, event.time, state);
  const process::ThreadContext context = reading == SlotReading::kState
                                             ? entry->state.renumbered(context_of_state(state), event.time)
                                             : entry->state.context_at(event.tid, event.time);
  Tally tally;
  const bool kept =
      give_owner(*entry, context, event.tag_from, batch.chain(event), event.part, record, tally);
  count(*entry, event.source, reading, tally);
  if (!kept) return;
  if (event.walk_end != 0) ++accounts_.of(entry).walks[event.walk_end - 1u];
  if (event.chain_size + event.kernel_chain_size != 0) keep_stack(batch, event, record);
  memory_.resolve(batch, event, entry->state, record);
  if (record.region >= profile::kFirstMappedRegion) name_area(*entry, record.region);
  if (samples_.size() >= kSamplesAtOnce) flush();
}

static_assert(process::kMemoryAreas <= 16);  // numbers from kFirstMappedRegion on

// A report finds the names of regions in the profile, be they the engine's or ours.
void SampleStage::name_area(ProcessEntry& entry, std::uint32_t region) {
  const std::uint32_t area = region - profile::kFirstMappedRegion;
  if ((entry.areas_told >> area & 1) != 0) return;
  entry.areas_told |= 1u << area;
  v1::RegionKind kind;
  kind.set_id(region);
  kind.set_name(std::string(process::name_of(static_cast<process::MemoryArea>(area))));
  sink_.on_region_kind(entry.id(), kind);
}

// A name is told before the first sample that has it.
std::uint32_t SampleStage::number_wait(const ProcessEntry& entry, std::uint32_t word) {
  const std::uint32_t number = waits_.number_of(entry.waits.get(), word);
  if (number > recording_.wait_names.size()) {
    recording_.wait_names = waits_.names();
    sink_.on_recording(recording_);
  }
  return number;
}

// The kernel's part begins with the sampled address itself.
void SampleStage::keep_stack(const capture::Batch& batch, const capture::Event& event,
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

bool SampleStage::take(const capture::PackedSample& sample) {
  const capture::FixedSample& format = *sample.format;
  const std::uint64_t* payload = sample.payload;
  const std::uint64_t thread = format.thread(payload);
  ThreadSpan& span = spans_.of(thread);
  const bool held = span.holds(thread, format, sample.time) && follow_state(span, sample);
  if (!held && !begin(span, sample)) return false;
  profile::SampleRecord& record = samples_.emplace_back(span.record);
  record.time = sample.time;
  record.cpu = format.cpu(payload);
  record.weight = format.weight(payload);
  record.ip = record.user_ip = format.ip(payload);
  record.tag = span.has_tag ? payload[span.tag_at] : 0;
  if (!give_owner(*span.entry, span.context, format.tag_from(), {}, format.part(), record, span.tally))
    return true;
  record.alike = alike(span, record.attribution);
  if (samples_.size() >= kSamplesAtOnce) flush();
  return true;
}

// Another state than that of the sample before is that of this one. False: the log says for whom the thread
// works where it was the slot before, or the other way around.
[[gnu::always_inline]] inline bool SampleStage::follow_state(ThreadSpan& span,
                                                             const capture::PackedSample& sample) {
  if (span.state_at == 0) return true;
  const std::uint64_t* state = sample.payload + span.state_at;
  if (span.is_state(state)) return true;
  if (span.reading != SlotReading::kState || state[0] == TAILOR_NO_STATE) return false;
  span.take_state(state);
  span.context = span.entry->state.renumbered(context_of_state(state), sample.time);
  span.number = spans_.number(*span.entry, sample.format->source(), span.context);
  return true;
}

// False where samples must come as events: in a rarer format, of nobody's process, or of one whose number
// another process has later.
bool SampleStage::begin(ThreadSpan& span, const capture::PackedSample& sample) {
  const capture::FixedSample& format = *sample.format;
  if (format.of_memory() || memory_.has_enough(format.registers()) || off_cpu_.absorbs(format.source())) {
    return false;
  }
  const std::uint64_t thread = format.thread(sample.payload);
  const auto tid = static_cast<std::int32_t>(thread >> 32);
  ProcessEntry* entry = accounts_.owner(static_cast<std::int32_t>(thread), sample.time);
  if (entry == nullptr || table_.at(entry->id().pid, kTimeMax) != entry) return false;
  if (span.length != 0) count(span);  // one that was begun and not ended is never of length 0
  met(*entry, sample.time);
  spans_.begin(span);
  span.thread = thread;
  span.format = &format;
  span.from = sample.time;
  span.entry = entry;
  const std::uint64_t* state = format.has_state() ? sample.payload + format.state_at() : nullptr;
  span.reading = reading_of(*entry, sample.time, state);
  span.state_at = state != nullptr && slot_states_ ? format.state_at() : 0;
  if (state != nullptr) span.take_state(state);
  // What slots say is believed while an agent speaks.
  TimeNs changes = span.state_at == 0 ? kTimeMax : entry->state.registration_change_after(sample.time);
  if (span.reading == SlotReading::kState) {
    span.context = entry->state.renumbered(context_of_state(state), sample.time);
  } else {
    span.context = entry->state.context_at(tid, sample.time);
    changes = std::min(changes, entry->state.context_change_after(tid, sample.time));
  }
  span.length = static_cast<std::uint64_t>(changes) - static_cast<std::uint64_t>(sample.time);
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

void SampleStage::flush() {
  if (samples_.empty()) return;
  if (std::exchange(process_untold_, false)) news_.tell_records();
  sink_.on_samples(samples_);
  samples_.clear();
  frames_.clear();
}

}  // namespace tailor::pipeline
