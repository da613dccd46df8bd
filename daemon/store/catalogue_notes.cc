#include "daemon/store/catalogue_notes.h"

#include <algorithm>
#include <utility>

#include "daemon/profile/bytes_held.h"
#include "daemon/store/meta_codec.h"

namespace tailor::store {
namespace {

Status put_uses(Catalogue& catalogue, const NotePlace& place,
                const Result<std::vector<std::uint64_t>>& dictionaries) {
  if (!dictionaries) return dictionaries.error();
  for (const std::uint64_t dictionary : *dictionaries) {
    if (auto ok = catalogue.put_use(place.data, dictionary); !ok) return ok;
  }
  return Ok{};
}

}  // namespace

void CatalogueNotes::recording(const profile::RecordingInfo& info) {
  info_ = std::make_shared<const profile::RecordingInfo>(info);
  cpu_sources_.clear();
  for (const profile::Source& source : info.sources) {
    if (source.unit == profile::Unit::kNsOnCpu) cpu_sources_.insert(source.index);
  }
  rates(info.rates);
}

// Each recording tells all of them again and again: what has changed is noted.
void CatalogueNotes::rates(const std::vector<profile::RateSpan>& spans) {
  std::map<RateKey, TimeNs> told;
  for (const profile::RateSpan& span : spans) {
    const RateKey key{span.process, span.from};
    told[key] = span.to;
    const auto before = told_rates_.find(key);
    if (before != told_rates_.end() && before->second == span.to) continue;
    noted_.rates[key] = span;
    noted_.text_bytes += span.why.size();
  }
  told_rates_ = std::move(told);
}

void CatalogueNotes::owner(ProcessId process, std::optional<std::uint32_t> uid) {
  if (uid) noted_.owners.try_emplace(process, *uid);
}

void CatalogueNotes::entry(const EntryKey& key, const std::string& name) {
  noted_.text_bytes += name.size();
  std::string& known = noted_.entries[key];
  if (!name.empty()) known = name;
  // It may lie in another dictionary segment than what was known under this key before.
  if (known_uses_.erase(key) != 0) use(key);
}

void CatalogueNotes::process(const profile::ProcessRecord& process) {
  owner(process.process, process.uid);
  entry({process.process, EntryKind::kProcess, 0}, process_entry_name(process));
  if (!process.cgroup.empty()) entry({process.process, EntryKind::kCgroup, 0}, to_utf8(process.cgroup));
  if (process.parent != ProcessId{})
    entry({process.process, EntryKind::kParent, 0}, parent_entry_name(process.parent));
}

void CatalogueNotes::plan(TimeNs loaded, const v1::Plan& plan) {
  if (plan.late_until() != 0) noted_.late_since = std::min(noted_.late_since, loaded);
}

void CatalogueNotes::code(TimeNs loaded, const v1::CodeObject& code) {
  if (code.told_by() == v1::TOLD_BY_AGENT) return;
  noted_.late_since = std::min(noted_.late_since, code.told_by() == v1::TOLD_BY_PERF_MAP ? kTimeMin : loaded);
}

void CatalogueNotes::late(TimeNs loaded) {
  noted_.late_since = std::min(noted_.late_since, loaded);
}

void CatalogueNotes::use(const EntryKey& key) {
  if (known_uses_.insert(key).second) noted_.new_uses.insert(key);
}

void CatalogueNotes::execution(const profile::ExecutionRecord& execution) {
  noted_.text_bytes += profile::bytes_held(execution);
  noted_.executions[{execution.process, execution.handle}] = execution;
  owner(execution.process, execution.uid);
  use({execution.process, EntryKind::kProcess, 0});
  use({execution.process, EntryKind::kPlan, execution.plan});
}

void CatalogueNotes::samples(std::span<const profile::SampleRecord> samples) {
  const profile::SampleRecord* before = nullptr;
  for (const profile::SampleRecord& s : samples) {
    const profile::Attribution& a = s.attribution;
    if (a.execution != 0 && cpu_sources_.contains(s.source)) {
      ExecutionCost& cost = noted_.costs[{s.process, a.execution}];
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
  for (const auto& [key, name] : noted_.entries) {
    // Of a process it is entered: it is what executions are listed with, and chosen by.
    if (place.full_of && (key.kind == EntryKind::kPlan || key.kind == EntryKind::kCode)) {
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
  for (const auto& [key, execution] : noted_.executions) {
    if (place.full_of && execution.uid == *place.full_of) {
      auto known = catalogue.change_execution(place.recording, execution);
      if (!known) return known.error();
      left_out.executions += *known ? 0 : 1;
      continue;
    }
    // Older recordings do not have it.
    std::uint64_t wall = execution.wall_begin_ns;
    if (wall == 0 && info_ != nullptr) wall = info_->wall_of(execution.begin);
    if (auto ok = catalogue.put_execution(place.recording, execution, wall); !ok) return ok;
  }
  return Ok{};
}

// It may run what it has from them.
Status CatalogueNotes::write_uses_of_parents(Catalogue& catalogue, const NotePlace& place,
                                             ProcessId process) {
  const auto parents = catalogue.parents_of(place.recording, process);
  if (!parents) return parents.error();
  for (const ProcessId parent : *parents) {
    if (auto ok = put_uses(catalogue, place, catalogue.segments_with_code_of(place.recording, parent)); !ok)
      return ok;
  }
  return Ok{};
}

Status CatalogueNotes::write(Catalogue& catalogue, const NotePlace& place) const {
  RemovedOfUser left_out{place.full_of.value_or(std::nullopt), 0, 0, place.wall_ns, place.wall_ns};
  for (const auto& [process, uid] : noted_.owners) {
    if (auto ok = catalogue.put_owner(place.recording, process, uid); !ok) return ok;
  }
  for (const auto& [key, span] : noted_.rates) {
    if (auto ok = catalogue.put_rate(place.recording, span); !ok) return ok;
  }
  if (!noted_.rates.empty()) {
    if (auto ok = catalogue.drop_old_rates(place.recording); !ok) return ok;
  }
  if (auto ok = write_entries(catalogue, place, left_out); !ok) return ok;
  if (auto ok = write_executions(catalogue, place, left_out); !ok) return ok;
  if (left_out.executions + left_out.names > 0) {
    if (auto ok = catalogue.note_removed(left_out); !ok) return ok;
  }
  for (const auto& [key, cost] : noted_.costs) {
    if (auto ok = catalogue.add_cost(place.data, place.recording, key.first, key.second, cost); !ok)
      return ok;
  }
  for (const EntryKey& key : noted_.new_uses) {
    if (auto ok = put_uses(catalogue, place, catalogue.segments_of(place.recording, key)); !ok) return ok;
    if (key.kind != EntryKind::kProcess) continue;
    if (auto ok = write_uses_of_parents(catalogue, place, key.process); !ok) return ok;
  }
  if (noted_.late_since == kTimeMax || place.dictionary == 0) return Ok{};
  if (place.data != 0) {
    if (auto ok = catalogue.put_use(place.data, place.dictionary); !ok) return ok;
  }
  return catalogue.put_use_since(place.recording, noted_.late_since, place.dictionary);
}

CatalogueNotes CatalogueNotes::take() {
  CatalogueNotes taken;
  taken.info_ = info_;
  taken.noted_ = std::exchange(noted_, {});
  return taken;
}

void CatalogueNotes::add(CatalogueNotes&& later) {
  info_ = later.info_;
  Noted& more = later.noted_;
  for (auto& [key, execution] : more.executions) noted_.executions[key] = std::move(execution);
  for (const auto& [key, cost] : more.costs) {
    ExecutionCost& sum = noted_.costs[key];
    sum.samples += cost.samples;
    sum.cpu_ns += cost.cpu_ns;
  }
  for (auto& [key, name] : more.entries) {
    std::string& known = noted_.entries[key];
    if (!name.empty()) known = std::move(name);
  }
  for (auto& [key, span] : more.rates) noted_.rates[key] = std::move(span);
  // What was said first counts.
  noted_.owners.merge(more.owners);
  noted_.new_uses.merge(more.new_uses);
  noted_.late_since = std::min(noted_.late_since, more.late_since);
  noted_.text_bytes += more.text_bytes;
}

std::size_t CatalogueNotes::bytes() const {
  constexpr std::size_t kNode = 64;  // what a container needs around each
  return noted_.text_bytes + noted_.executions.size() * (sizeof(profile::ExecutionRecord) + kNode) +
         noted_.costs.size() * (sizeof(ExecutionCost) + kNode) +
         noted_.entries.size() * (sizeof(std::string) + kNode) +
         noted_.new_uses.size() * (sizeof(EntryKey) + kNode) +
         noted_.rates.size() * (sizeof(profile::RateSpan) + kNode) +
         noted_.owners.size() * (sizeof(ProcessId) + kNode);
}

}  // namespace tailor::store
