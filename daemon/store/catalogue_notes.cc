#include "daemon/store/catalogue_notes.h"

#include <algorithm>

namespace tailor::store {

void CatalogueNotes::recording(const profile::RecordingInfo& info) {
  info_ = info;
  cpu_sources_.clear();
  for (const profile::Source& source : info.sources) {
    if (source.unit == profile::Unit::kNsOnCpu) cpu_sources_.insert(source.index);
  }
}

void CatalogueNotes::owner(ProcessId process, std::optional<std::uint32_t> uid) {
  if (uid) owners_.try_emplace(process, *uid);
}

void CatalogueNotes::entry(const EntryKey& key, const std::string& name) {
  text_bytes_ += name.size();
  std::string& known = entries_[key];
  if (!name.empty()) known = name;
  // It may lie in another dictionary segment than what was known under this key before.
  if (known_uses_.erase(key) != 0) use(key);
}

void CatalogueNotes::plan(TimeNs loaded, const v1::Plan& plan) {
  if (plan.late_until() != 0) late_since_ = std::min(late_since_, loaded);
}

void CatalogueNotes::code(TimeNs loaded, const v1::CodeObject& code) {
  if (code.told_by() == v1::TOLD_BY_AGENT) return;
  late_since_ = std::min(late_since_, code.told_by() == v1::TOLD_BY_PERF_MAP ? kTimeMin : loaded);
}

void CatalogueNotes::use(const EntryKey& key) {
  if (known_uses_.insert(key).second) new_uses_.insert(key);
}

void CatalogueNotes::execution(const profile::ExecutionRecord& execution) {
  text_bytes_ += execution.error.size();
  for (const auto& [key, value] : execution.labels) text_bytes_ += key.size() + value.size();
  executions_[{execution.process, execution.handle}] = execution;
  owner(execution.process, execution.uid);
  use({execution.process, EntryKind::kProcess, 0});
  use({execution.process, EntryKind::kPlan, execution.plan});
}

void CatalogueNotes::samples(std::span<const profile::SampleRecord> samples) {
  const profile::SampleRecord* before = nullptr;
  for (const profile::SampleRecord& s : samples) {
    const profile::Attribution& a = s.attribution;
    if (a.execution != 0 && cpu_sources_.contains(s.source)) {
      ExecutionCost& cost = costs_[{s.process, a.execution}];
      ++cost.samples;
      cost.cpu_ns += static_cast<double>(s.weight);
    }
    // Neighbours mostly name the same things.
    const bool same = before != nullptr && before->process == s.process &&
                      before->attribution.plan == a.plan && before->attribution.code == a.code;
    before = &s;
    if (same) continue;
    use({s.process, EntryKind::kProcess, 0});
    if (a.plan != 0) use({s.process, EntryKind::kPlan, a.plan});
    if (a.code != 0) use({s.process, EntryKind::kCode, a.code});
  }
}

Status CatalogueNotes::write_entries(Catalogue& catalogue, const NotePlace& place,
                                     RemovedOfUser& left_out) const {
  for (const auto& [key, name] : entries_) {
    // Of a process it is entered: it is what executions are listed with.
    if (place.full_of && key.kind != EntryKind::kProcess) {
      auto owner = catalogue.owner(place.recording, key.process);
      if (!owner) return owner.error();
      left_out.names += *owner == *place.full_of ? 1 : 0;
      if (*owner == *place.full_of) continue;
    }
    if (auto ok = catalogue.put_entry(place.recording, key, place.dictionary, name); !ok) return ok;
  }
  return Ok{};
}

Status CatalogueNotes::write_executions(Catalogue& catalogue, const NotePlace& place,
                                        RemovedOfUser& left_out) const {
  for (const auto& [key, execution] : executions_) {
    if (place.full_of && execution.uid == *place.full_of) {
      auto known = catalogue.change_execution(place.recording, execution);
      if (!known) return known.error();
      left_out.executions += *known ? 0 : 1;
      continue;
    }
    // Older recordings do not have it.
    const std::uint64_t wall =
        execution.wall_begin_ns != 0 ? execution.wall_begin_ns : info_.wall_of(execution.begin);
    if (auto ok = catalogue.put_execution(place.recording, execution, wall); !ok) return ok;
  }
  return Ok{};
}

Status CatalogueNotes::write(Catalogue& catalogue, const NotePlace& place) const {
  RemovedOfUser left_out{place.full_of.value_or(std::nullopt), 0, 0, place.wall_ns, place.wall_ns};
  for (const auto& [process, uid] : owners_) {
    if (auto ok = catalogue.put_owner(place.recording, process, uid); !ok) return ok;
  }
  if (auto ok = write_entries(catalogue, place, left_out); !ok) return ok;
  if (auto ok = write_executions(catalogue, place, left_out); !ok) return ok;
  if (left_out.executions + left_out.names > 0) {
    if (auto ok = catalogue.note_removed(left_out); !ok) return ok;
  }
  for (const auto& [key, cost] : costs_) {
    if (auto ok = catalogue.add_cost(place.data, place.recording, key.first, key.second, cost); !ok)
      return ok;
  }
  for (const EntryKey& key : new_uses_) {
    auto segments = catalogue.segments_of(place.recording, key);
    if (!segments) return segments.error();
    for (std::uint64_t segment : *segments) {
      if (auto ok = catalogue.put_use(place.data, segment); !ok) return ok;
    }
  }
  if (late_since_ == kTimeMax || place.dictionary == 0) return Ok{};
  if (place.data != 0) {
    if (auto ok = catalogue.put_use(place.data, place.dictionary); !ok) return ok;
  }
  return catalogue.put_use_since(place.recording, late_since_, place.dictionary);
}

void CatalogueNotes::forget() {
  late_since_ = kTimeMax;
  entries_.clear();
  owners_.clear();
  executions_.clear();
  costs_.clear();
  new_uses_.clear();
  text_bytes_ = 0;
}

std::size_t CatalogueNotes::bytes() const {
  constexpr std::size_t kNode = 64;  // what a container needs around each
  return text_bytes_ + executions_.size() * (sizeof(profile::ExecutionRecord) + kNode) +
         costs_.size() * (sizeof(ExecutionCost) + kNode) + entries_.size() * (sizeof(std::string) + kNode) +
         new_uses_.size() * (sizeof(EntryKey) + kNode) + owners_.size() * (sizeof(ProcessId) + kNode);
}

}  // namespace tailor::store
