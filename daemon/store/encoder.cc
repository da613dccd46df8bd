#include "daemon/store/encoder.h"

#include <algorithm>

#include "daemon/profile/bytes_held.h"
#include "daemon/store/activity_codec.h"
#include "daemon/store/meta_codec.h"
#include "daemon/store/sample_codec.h"
#include "proto/base/utf8.h"

namespace tailor::store {
namespace {

constexpr std::size_t kMaxMetaBytes = 128 << 10;
constexpr std::size_t kSha256Size = 32;

template <typename Record>
BlockContent times_of(const std::vector<Record>& records) {
  BlockContent content;
  for (const Record& record : records) {
    content.first = std::min(content.first, record.time);
    content.last = std::max(content.last, record.time);
  }
  return content;
}

}  // namespace

v1::MetaRecord& ProfileEncoder::add_meta(std::size_t size_hint, ProcessId process) {
  if (meta_bytes_ > kMaxMetaBytes) flush_meta();
  meta_bytes_ += size_hint + 64;
  meta_weights_.add(process, size_hint + 64);
  return *meta_.add_records();
}

void ProfileEncoder::on_recording(const profile::RecordingInfo& info) {
  encode(info, *add_meta(0).mutable_recording());
}

void ProfileEncoder::on_process(const profile::ProcessRecord& process) {
  encode(process, *add_meta(process.comm.size(), process.process).mutable_process());
}

void ProfileEncoder::on_thread(ProcessId process, std::int32_t tid, const std::string& name) {
  v1::ThreadInfo& thread = *add_meta(name.size(), process).mutable_thread();
  set_process(*thread.mutable_process(), process);
  thread.set_tid(tid);
  thread.set_name(to_utf8(name));
}

void ProfileEncoder::on_component(ProcessId process, std::uint32_t id, const std::string& name) {
  v1::EngineComponent& component = *add_meta(name.size(), process).mutable_component();
  set_process(*component.mutable_process(), process);
  component.set_id(id);
  component.set_name(to_utf8(name));
}

void ProfileEncoder::on_mapping(const profile::MappingRecord& mapping) {
  encode(mapping, *add_meta(mapping.path.size(), mapping.process).mutable_mapped_file());
}

// What a reader would leave out is not written, and said.
bool ProfileEncoder::has_room(const profile::FileNames& names) {
  const std::optional<std::uint64_t> written = out_.written();
  if (!written || names_room_.take(memory_of(names), *written)) return true;
  names_left_out_ += functions_left_out_with(names);
  return false;
}

// In pieces: a block has a bound.
void ProfileEncoder::on_names(const profile::FileNames& names) {
  constexpr std::size_t kMostFunctions = 1024;
  std::size_t done = 0;
  do {
    const std::size_t end = std::min(names.functions.size(), done + kMostFunctions);
    profile::FileNames piece{names.path, names.build_id, {}, names.file_id};
    piece.functions.assign(names.functions.begin() + static_cast<std::ptrdiff_t>(done),
                           names.functions.begin() + static_cast<std::ptrdiff_t>(end));
    std::size_t bytes = names.path.size();
    // As a reader gets them: who counts them has to count the same.
    for (profile::FileNames::Function& each : piece.functions) {
      if (!is_utf8(each.name)) each.name = to_utf8(each.name);
      if (!is_utf8(each.origin)) each.origin = to_utf8(each.origin);
      bytes += each.name.size() + each.origin.size();
    }
    if (has_room(piece)) encode(piece, *add_meta(bytes).mutable_file_names());
    done = end;
  } while (done < names.functions.size());
}

void ProfileEncoder::on_region_kind(ProcessId process, const v1::RegionKind& kind) {
  v1::ProcessRegionKind& record = *add_meta(kind.name().size(), process).mutable_region_kind();
  set_process(*record.mutable_process(), process);
  *record.mutable_kind() = kind;
}

void ProfileEncoder::strip_known(ProcessId process,
                                 google::protobuf::RepeatedPtrField<v1::Attachment>& attachments) {
  for (v1::Attachment& attachment : attachments) {
    // The engine says the hash: it is trusted within its process only.
    if (attachment.sha256().size() != kSha256Size || attachment.content().empty()) continue;
    if (!attachments_.emplace(process, attachment.sha256()).second) attachment.clear_content();
  }
}

void ProfileEncoder::on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan) {
  flush_meta();
  v1::PlanBlock block;
  set_process(*block.mutable_process(), process);
  block.set_loaded(loaded);
  *block.mutable_plan() = plan;
  strip_known(process, *block.mutable_plan()->mutable_attachments());
  BlockContent content;
  content.weights[process] = 1;
  out_.block(BlockType::kPlan, block.SerializeAsString(), content);
}

void ProfileEncoder::on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) {
  flush_meta();
  v1::CodeBlock block;
  set_process(*block.mutable_process(), process);
  block.set_loaded(loaded);
  *block.mutable_code() = code;
  strip_known(process, *block.mutable_code()->mutable_attachments());
  BlockContent content;
  content.weights[process] = 1;
  out_.block(BlockType::kCode, block.SerializeAsString(), content);
}

void ProfileEncoder::on_code_unload(ProcessId process, TimeNs time, CodeId code) {
  v1::CodeUnloaded& record = *add_meta(0, process).mutable_code_unloaded();
  set_process(*record.mutable_process(), process);
  record.set_time(time);
  record.set_code_id(code);
}

void ProfileEncoder::on_execution(const profile::ExecutionRecord& execution) {
  const std::size_t size = profile::bytes_held(execution);
  const std::pair key{execution.process, execution.handle};
  if (const auto known = executions_.find(key); known != executions_.end()) {
    meta_bytes_ += size;
    meta_weights_.add(execution.process, size);
    v1::Execution& record = *meta_.mutable_records(known->second)->mutable_execution();
    record.Clear();
    encode(execution, record);
    return;
  }
  v1::MetaRecord& record = add_meta(size, execution.process);
  executions_[key] = meta_.records_size() - 1;
  encode(execution, *record.mutable_execution());
}

void ProfileEncoder::on_samples(std::span<const profile::SampleRecord> samples) {
  while (!samples.empty()) {
    const std::size_t n = std::min(samples.size(), options_.rows_per_block - samples_.size());
    samples_.insert(samples_.end(), samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(n));
    for (auto kept = samples_.end() - static_cast<std::ptrdiff_t>(n); kept != samples_.end(); ++kept) {
      const std::size_t frames = stacks_.size();
      if (kept->stack != nullptr) kept->stack = stacks_.intern(kept->stack);
      // A frame that others have too counts for the process that brought it first.
      sample_weights_.add(kept->process, 1 + stacks_.size() - frames);
    }
    stacks_.forget_last();
    samples = samples.subspan(n);
    if (samples_.size() == options_.rows_per_block) flush_samples();
  }
}

void ProfileEncoder::on_activity(std::span<const profile::ActivityRecord> records) {
  while (!records.empty()) {
    const std::size_t n = std::min(records.size(), options_.rows_per_block - activity_.size());
    activity_.insert(activity_.end(), records.begin(), records.begin() + static_cast<std::ptrdiff_t>(n));
    for (const profile::ActivityRecord& record : records.first(n)) activity_weights_.add(record.process, 1);
    records = records.subspan(n);
    if (activity_.size() == options_.rows_per_block) flush_activity();
  }
}

void ProfileEncoder::on_accounting(const profile::Accounting& accounting) {
  accounting_[accounting.process] = accounting;
}

void ProfileEncoder::on_watermark(TimeNs watermark) {
  watermark_ = watermark;
  if (flushed_ == kTimeMin) flushed_ = watermark;
  if (watermark - flushed_ < options_.flush_interval) return;
  flush();
  flushed_ = watermark;
}

void ProfileEncoder::flush_meta() {
  if (meta_.records().empty()) return;
  BlockContent content;
  content.weights = meta_weights_.take();
  out_.block(BlockType::kMeta, meta_.SerializeAsString(), content);
  meta_.Clear();
  executions_.clear();
  meta_bytes_ = 0;
}

void ProfileEncoder::flush_samples() {
  if (samples_.empty()) return;
  flush_meta();
  BlockContent content = times_of(samples_);
  content.samples = samples_.size();
  content.weights = sample_weights_.take();
  const std::string raw = encode_samples(samples_).SerializeAsString();
  if (const auto block = out_.block(BlockType::kSamples, raw, content))
    sums_.add(samples_, *block, raw.size());
  samples_.clear();
  stacks_.clear();
  if (sums_.full()) write_sums();
}

void ProfileEncoder::write_sums() {
  if (const auto payload = sums_.end()) out_.block(BlockType::kSums, *payload, {});
}

void ProfileEncoder::flush_activity() {
  if (activity_.empty()) return;
  flush_meta();
  BlockContent content = times_of(activity_);
  content.activity = activity_.size();
  content.weights = activity_weights_.take();
  out_.block(BlockType::kActivity, encode_activity(activity_).SerializeAsString(), content);
  activity_.clear();
}

// The watermark and the totals come last: they speak of samples that are written by then.
void ProfileEncoder::flush() {
  flush_samples();
  flush_activity();
  for (const auto& [process, accounting] : accounting_) {
    encode(accounting, *add_meta(0, process).mutable_accounting());
  }
  accounting_.clear();
  if (names_left_out_ != names_said_) add_meta(0).set_names_left_out(names_left_out_);
  names_said_ = names_left_out_;
  if (watermark_ != kTimeMin) add_meta(0).set_watermark(watermark_);
  flush_meta();
}

void ProfileEncoder::finish() {
  flush();
  write_sums();
}

}  // namespace tailor::store
