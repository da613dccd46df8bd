#include "daemon/query/code/code_timelines.h"

#include <algorithm>

namespace tailor::query {

CodeTimelines::Process& CodeTimelines::of(ProcessId process) {
  return processes_.try_emplace(process, budget_).first->second;
}

void CodeTimelines::told(Process& process, TimeNs from) {
  ++process.version;
  told_late_ |= process.asked != kTimeMin && from <= process.asked;
}

void CodeTimelines::on_process(const profile::ProcessRecord& record) {
  Process& process = of(record.process);
  if (process.parent == record.parent && process.forked == record.forked) return;
  process.parent = record.parent;
  process.forked = record.forked;
  told(process, record.forked);
}

std::uint32_t CodeTimelines::number_of(const profile::MappingRecord& mapping) {
  const auto [number, fresh] =
      file_numbers_.try_emplace({mapping.path, mapping.build_id}, static_cast<std::uint32_t>(files_.size()));
  if (fresh) files_.push_back({mapping.path, mapping.build_id, mapping.time});
  return number->second;
}

void CodeTimelines::on_mapping(const profile::MappingRecord& mapping) {
  if (mapping.size == 0 || mapping.begin > UINT64_MAX - mapping.size) return;
  Process& process = of(mapping.process);
  MappedCode what{.kind = profile::mapped_kind(mapping.path)};
  if (what.kind == MappedCode::Kind::kFile || what.kind == MappedCode::Kind::kMemory) {
    what.file = number_of(mapping);
    what.bias = mapping.begin - mapping.file_offset;
  }
  if (what.kind == MappedCode::Kind::kFile) {
    // The kernel maps the program below everything that it finds a place for itself. A child that was forked
    // off has its parent's, and what it maps first is a library.
    process.begun |= mapping.time <= 0;  // what was there when the recording began
    if (process.begun && mapping.begin < process.program_begin) {
      process.program_begin = mapping.begin;
      process.program = what.file;
    }
    what.of_program = what.file == process.program;
  }
  if (what.kind == MappedCode::Kind::kNothing) {  // another program comes
    process.program_begin = UINT64_MAX;
    process.begun = true;
  }
  process.timeline.map(mapping.begin, mapping.begin + mapping.size, mapping.time, what);
  told(process, mapping.time);
}

void CodeTimelines::on_code(ProcessId id, TimeNs loaded, CodeId code, std::uint64_t begin,
                            std::uint64_t size) {
  if (size == 0 || begin > UINT64_MAX - size) return;
  Process& process = of(id);
  process.timeline.load(begin, begin + size, loaded, code);
  told(process, loaded);
}

void CodeTimelines::on_code_unload(ProcessId id, TimeNs time, CodeId code) {
  const auto process = processes_.find(id);
  if (process == processes_.end()) return;
  process->second.timeline.unload(code, time);
  told(process->second, time);
}

std::optional<CodeTimeline::State> CodeTimelines::find(const Process& process, std::uint64_t address,
                                                       TimeNs time, int generation) const {
  std::optional<CodeTimeline::State> inherited;
  const auto parent = processes_.find(process.parent);
  if (process.parent != ProcessId{} && parent != processes_.end() && generation < kMostAncestors) {
    inherited = find(parent->second, address, std::min(time, process.forked), generation + 1);
    if (inherited->code != 0) ++inherited->generation;
    // It holds for a child for good, and before the fork for a moment.
    const bool after = time >= process.forked;
    inherited->from = after ? process.forked : time;
    inherited->until = after ? kTimeMax : time;
  }
  return process.timeline.find(address, time, inherited);
}

bool CodeTimelines::had_code(ProcessId id, std::uint64_t address) const {
  const auto process = processes_.find(id);
  return process != processes_.end() && process->second.timeline.had_code(address);
}

CodeTimelines::Found CodeTimelines::find(ProcessId id, std::uint64_t address, TimeNs time) {
  const auto known = processes_.find(id);
  if (known == processes_.end()) return {};
  Process& process = known->second;
  process.asked = std::max(process.asked, time);
  Found found{*find(process, address, time, 0), id};
  for (std::uint32_t i = 0; found.state.code != 0 && i < found.state.generation; ++i)
    found.of_code = processes_.find(found.of_code)->second.parent;
  return found;
}

CodeTimeline::State CodeTimelines::find_loaded_by_kernel(std::uint64_t address, TimeNs time) {
  CodeTimeline::State state = find({}, address, time).state;
  if (state.mapped.kind != MappedCode::Kind::kMemory) {
    state.mapped = {};
    return state;
  }
  const std::string& path = files_[state.mapped.file].path;
  const bool told = path.starts_with(profile::kBpfCode) || path.starts_with(profile::kOtherKernelCode);
  if (!told) state.mapped = {};
  return state;
}

std::vector<std::pair<ProcessId, TimeNs>> CodeTimelines::line_of(ProcessId id, TimeNs time) const {
  std::vector<std::pair<ProcessId, TimeNs>> out = {{id, time}};
  for (int generation = 0; generation < kMostAncestors; ++generation) {
    const auto process = processes_.find(id);
    if (process == processes_.end() || process->second.parent == ProcessId{}) break;
    time = std::min(time, process->second.forked);
    id = process->second.parent;
    out.emplace_back(id, time);
  }
  return out;
}

CodeTimelines::Only CodeTimelines::only_at(ProcessId id, std::uint64_t address) const {
  const auto process = processes_.find(id);
  if (process == processes_.end()) return {};
  std::vector<MappedCode> all = process->second.timeline.mapped_at(address);
  // Nobody was sampled where nothing was. It comes with another program, which has nothing of the parent's.
  const bool executed =
      std::erase_if(all, [](const MappedCode& each) { return each.kind == MappedCode::Kind::kNothing; }) > 0;
  const auto parent = processes_.find(process->second.parent);
  if (!executed && process->second.parent != ProcessId{} && parent != processes_.end()) {
    const MappedCode inherited = find(parent->second, address, process->second.forked, 1)->mapped;
    if (inherited.kind != MappedCode::Kind::kUnknown && inherited.kind != MappedCode::Kind::kNothing)
      all.insert(all.begin(), inherited);
  }
  if (all.empty()) return {};
  const bool several = std::ranges::any_of(all, [&](const MappedCode& each) { return each != all.front(); });
  return {all.back(), several};
}

std::uint64_t CodeTimelines::ask(ProcessId id, TimeNs time) {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;
  std::uint64_t version = 0;
  for (int generation = 0; generation <= kMostAncestors; ++generation) {
    Process& process = of(id);
    process.asked = std::max(process.asked, time);
    version = version * kMix + process.version;
    if (process.parent == ProcessId{}) break;
    time = std::min(time, process.forked);
    id = process.parent;
  }
  return version;
}

std::size_t CodeTimelines::bytes() const {
  constexpr std::size_t kEntry = 96;  // with its node of a map
  std::size_t files = 0;
  for (const CodeFile& file : files_) files += 2 * file.path.size() + sizeof file + kEntry;
  return files + (kMostEntries - budget_) * kEntry + processes_.size() * (sizeof(Process) + kEntry);
}

}  // namespace tailor::query
