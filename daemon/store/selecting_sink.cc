#include "daemon/store/selecting_sink.h"

#include <algorithm>
#include <iterator>

namespace tailor::store {

void SelectingSink::on_process(const profile::ProcessRecord& process) {
  if (process.process == process_) return out_.on_process(process);
  if (!is_parent(process.process)) return;
  // What its agent says is not of this file.
  profile::ProcessRecord parent;
  parent.process = process.process;
  parent.comm = process.comm;
  parent.first_seen = process.first_seen;
  parent.parent = process.parent;
  parent.forked = process.forked;
  out_.on_process(parent);
}

void SelectingSink::on_thread(ProcessId process, std::int32_t tid, const std::string& name) {
  if (process == process_) out_.on_thread(process, tid, name);
}

void SelectingSink::on_component(ProcessId process, std::uint32_t id, const std::string& name) {
  if (process == process_) out_.on_component(process, id, name);
}

void SelectingSink::on_mapping(const profile::MappingRecord& mapping) {
  // Code that the kernel loaded is nobody's.
  const bool is_wanted =
      mapping.process == process_ || mapping.process == ProcessId{} || is_parent(mapping.process);
  if (is_wanted) out_.on_mapping(mapping);
}

void SelectingSink::on_region_kind(ProcessId process, const v1::RegionKind& kind) {
  if (process == process_) out_.on_region_kind(process, kind);
}

void SelectingSink::on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan) {
  if (process == process_) out_.on_plan(process, loaded, plan);
}

void SelectingSink::on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) {
  if (process == process_) return out_.on_code(process, loaded, code);
  if (!is_parent(process)) return;
  // Texts that belong to its plans are not of this file.
  v1::CodeObject inherited = code;
  inherited.clear_attachments();
  out_.on_code(process, loaded, inherited);
}

void SelectingSink::on_code_unload(ProcessId process, TimeNs time, CodeId code) {
  if (process == process_ || is_parent(process)) out_.on_code_unload(process, time, code);
}

void SelectingSink::on_execution(const profile::ExecutionRecord& execution) {
  const bool overlaps = execution.begin <= to_ && execution.end >= from_;
  if (execution.process == process_ && overlaps) out_.on_execution(execution);
}

void SelectingSink::on_samples(std::span<const profile::SampleRecord> samples) {
  std::vector<profile::SampleRecord> kept;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(kept),
               [this](const profile::SampleRecord& s) { return inside(s.process, s.time); });
  out_.on_samples(kept);
}

void SelectingSink::on_activity(std::span<const profile::ActivityRecord> records) {
  std::vector<profile::ActivityRecord> kept;
  std::copy_if(records.begin(), records.end(), std::back_inserter(kept),
               [this](const profile::ActivityRecord& r) { return inside(r.process, r.time); });
  out_.on_activity(kept);
}

void SelectingSink::on_accounting(const profile::Accounting& accounting) {
  // The rings' own account has the losses, which belong to everybody.
  if (accounting.process == process_ || accounting.process == ProcessId{}) out_.on_accounting(accounting);
}

void SelectingSink::on_watermark(TimeNs watermark) {
  out_.on_watermark(std::min(watermark, to_));
}

}  // namespace tailor::store
