#include "daemon/pipeline/mappings.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "daemon/profile/mapped_kind.h"
#include "proto/base/file_id.h"

namespace tailor::pipeline {
namespace {

// jit-PID.dump, by the number that the process has for itself.
bool is_jitdump_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("jit-") && name.ends_with(".dump");
}

constexpr const char* kAnonymous = "//anon";
constexpr std::uint64_t kAllAddresses = std::uint64_t{1} << 63;  // of user code

// Memory of no file, by the kernel's names for it.
bool is_anonymous(std::string_view path) {
  return path.empty() || path.starts_with("//") || path.starts_with("[anon");
}

process::FileRanges::File file_of(const profile::MappingRecord& mapping) {
  return {mapping.begin, mapping.size, mapping.file_offset, mapping.path, mapping.build_id};
}

std::string file_id_of(const capture::Batch& batch, const capture::Event& event) {
  const auto words = batch.chain(event);
  const bool of_content = (event.data_source & capture::kContentIdBit) != 0;
  const std::size_t bytes = std::min<std::size_t>(event.data_source & ~capture::kContentIdBit,
                                                  words.size() * sizeof(std::uint64_t));
  std::string out(of_content ? kContentId : "");
  for (std::size_t i = 0; i < bytes; ++i) out += fmt::format("{:02x}", words[i / 8] >> (i % 8 * 8) & 0xFF);
  return out;
}

void note_jitdump(ProcessEntry& entry, const std::string& path) {
  auto& known = entry.jitdumps;
  if (std::ranges::find(known, path) != known.end()) return;
  if (known.size() >= ProcessEntry::kMostJitdumps) known.erase(known.begin());
  known.push_back(path);
}

}  // namespace

void tell_agent(profile::ProfileSink& sink, const ProcessEntry& entry) {
  sink.on_component(entry.id(), process::kAgentComponent, process::kAgentComponentName);
}

// Generated code is registered, and data is never an address of code.
void Mappings::mapped(ProcessEntry& entry, const capture::Batch& batch, const capture::Event& event) {
  const std::string_view path = batch.text_of(event);
  entry.state.memory().map({event.address, event.size, event.flag_readable, event.flag_writable,
                            event.flag_executable, event.flag_shared, path});
  entry.last_area = std::max(entry.last_area, event.time);
  if (!event.flag_executable) return;
  profile::MappingRecord mapping{entry.id(),        event.time,        event.address,           event.size,
                                 event.page_offset, std::string(path), file_id_of(batch, event)};
  const bool anonymous = is_anonymous(path);
  if (anonymous) {
    mapping.path = kAnonymous;
    mapping.file_offset = 0;
  }
  if (event.time >= entry.executed_at) note_code(entry, mapping);
  // One that is late says nothing of what is there now.
  if (event.time < entry.last_mapping) return tell(entry, mapping);
  entry.last_mapping = event.time;
  if (!anonymous) return map_file(entry, mapping, mapping.time);
  if (entry.mappings_ended) return;
  if (entry.files.unmap(event.address, event.size)) tell(entry, mapping);
}

// Where generated code may be, and where there was other code.
void Mappings::note_code(ProcessEntry& entry, const profile::MappingRecord& mapping) {
  process::GeneratedMemory& generated = entry.state.generated();
  if (is_anonymous(mapping.path)) return generated.add(mapping.begin, mapping.size);
  generated.add_file(mapping.begin, mapping.size);
}

// What a look at the process saw: files, and memory of no file, of which a profile needs no record. When a
// file came there is not known, only that it was not there at the look before: an engine may have registered
// code of this file since.
void Mappings::map_known(ProcessEntry& entry, const profile::MappingRecord& mapping) {
  note_code(entry, mapping);
  if (mapping.path != kNamelessCode) map_file(entry, mapping, entry.looked_at);
}

// `since`: it was not there before.
void Mappings::map_file(ProcessEntry& entry, const profile::MappingRecord& mapping, TimeNs since) {
  if (is_jitdump_name(mapping.path)) note_jitdump(entry, mapping.path);
  if (entry.mappings_ended) return;
  const process::FileRanges::File file = file_of(mapping);
  const auto others = entry.files.others(file);
  if (!entry.files.map(file)) return;
  if (profile::ends_code(profile::mapped_kind(mapping.path))) {
    // The kernel tells of neighbours that it has merged as of one.
    for (const auto& [begin, end] : others) entry.state.end_code(begin, end, since, mapping.time);
  }
  tell(entry, mapping);
  if (mapping.path.rfind(process::kAgentLibrary) == std::string::npos) return;
  entry.state.set_agent_code(mapping.begin, mapping.size);
  tell_agent(sink_, entry);
}

std::optional<Mappings::Look> Mappings::take_due(TimeNs watermark) {
  const auto due = std::ranges::find_if(
      looks_, [&](const Look& each) { return each.time <= watermark && !each.process.more; });
  if (due == looks_.end()) return std::nullopt;
  Look look = std::move(*due);
  looks_.erase(due);
  return look;
}

void Mappings::apply(const Look& look) {
  const auto& [process, time] = look;
  ProcessEntry* entry = table_.find(process.process);
  if (entry == nullptr) return;
  if (time < entry->last_mapping) {
    map_late(*entry, process, time);
  } else {
    map_all(*entry, process, time);
  }
  entry->looked_at = time;
}

void Mappings::map_all(ProcessEntry& entry, const KnownProcess& process, TimeNs time) {
  std::vector<process::FileRanges::File> seen;
  for (const profile::MappingRecord& mapping : process.mappings) {
    if (mapping.path != kNamelessCode) seen.push_back(file_of(mapping));
  }
  for (const auto& [begin, size] : entry.files.keep_only(seen))
    tell(entry, {entry.id(), time, begin, size, 0, kAnonymous});
  for (profile::MappingRecord mapping : process.mappings) {
    mapping.time = time;
    map_known(entry, mapping);
  }
}

// What a look saw, where records may have told what is newer: that is known better.
void Mappings::map_late(ProcessEntry& entry, const KnownProcess& process, TimeNs time) {
  for (profile::MappingRecord mapping : process.mappings) {
    if (time != kTimeMin && entry.files.has(file_of(mapping))) continue;  // it is known already
    mapping.time = time;
    if (!entry.files.touches(mapping.begin, mapping.size)) {
      map_known(entry, mapping);
    } else if (mapping.path != kNamelessCode) {
      tell(entry, mapping);
    }
  }
}

// A process that maps code without end fills no profile, and one that lives longer may map more.
bool Mappings::may_tell(ProcessEntry& entry, TimeNs time) const {
  constexpr TimeNs kOneMoreEach = 50'000'000;
  if (entry.first_mapping == kTimeMin) entry.first_mapping = time;
  const bool has_time = entry.first_mapping != kTimeMin && time > entry.first_mapping;
  const TimeNs since = has_time ? time - entry.first_mapping : 0;
  return entry.mappings < most_ + static_cast<std::size_t>(since / kOneMoreEach);
}

void Mappings::tell(ProcessEntry& entry, const profile::MappingRecord& mapping) {
  if (entry.mappings_ended) return;
  if (entry.files.overflowed() || !may_tell(entry, mapping.time)) return end(entry, mapping.time);
  ++entry.mappings;
  sink_.on_mapping(mapping);
}

// What it had mapped, itself or by its parent, is gone; the program's own files are told next.
void Mappings::executed(ProcessEntry& entry, TimeNs time) {
  const bool has_room = may_tell(entry, time);
  if (entry.mappings_ended && !has_room) return;  // nothing is known, as before
  entry.mappings_ended = false;
  ++entry.mappings;
  sink_.on_mapping({entry.id(), time, 0, kAllAddresses, 0, ""});
  if (!has_room) end(entry, time);
}

// It is said, once, that nobody knows any more which file is where: what was told last must not own an
// address for good.
void Mappings::end(ProcessEntry& entry, TimeNs time) {
  entry.mappings_ended = true;
  ++entry.mappings;
  entry.files.clear();
  sink_.on_mapping({entry.id(), time, 0, kAllAddresses, 0, "[too many mappings]"});
}

void Mappings::seen(ProcessEntry& entry, const KnownProcess& process, TimeNs now) {
  map_areas(entry, process);
  if (!process.mappings.empty() || !process.memory.empty()) look(entry, process, now);
}

// Of an area that a record has told since the look was begun the record knows better.
void Mappings::map_areas(ProcessEntry& entry, const KnownProcess& process) {
  const bool late = process.since != kTimeMin && process.since < entry.last_area;
  process::MemoryMap& memory = entry.state.memory();
  const auto is_known = [&](std::uint64_t address) { return memory.find(address, 0).known; };
  for (const MemoryMapping& each : process.memory) {
    if (late && each.size > 0 && (is_known(each.begin) || is_known(each.begin + each.size - 1))) continue;
    memory.map(
        {each.begin, each.size, each.readable, each.writable, each.executable, each.shared, each.name});
  }
}

// A first look counts for all times before, as nothing else is known of them. Another one, after the process
// was not sampled for a while or after it has mapped more, counts since it was begun, when all of it is told.
void Mappings::look(ProcessEntry& entry, const KnownProcess& process, TimeNs now) {
  const bool goes_on = std::exchange(entry.look_goes_on, process.more);
  if (!goes_on) entry.looked_first = entry.mappings == 0;
  if (entry.looked_first) {
    if (process.since != kTimeMin && process.since < entry.last_mapping) {
      map_late(entry, process, kTimeMin);
    } else {
      for (const profile::MappingRecord& mapping : process.mappings) map_known(entry, mapping);
    }
    if (!process.more) entry.looked_at = process.since;
    return;
  }
  const auto known = std::ranges::find_if(looks_, [&](const Look& each) {
    return goes_on && each.process.more && each.process.process == process.process;
  });
  if (known == looks_.end()) {
    looks_.push_back({process, process.since == kTimeMin ? now : process.since});
    return;
  }
  auto& all = known->process.mappings;
  all.insert(all.end(), process.mappings.begin(), process.mappings.end());
  known->process.more = process.more;
}

void Mappings::lost(ProcessId process, TimeNs since) {
  const auto same = [&](const Lost& each) { return each.process == process; };
  if (std::ranges::any_of(lost_, same)) return;
  lost_.push_back({process, since});
}

}  // namespace tailor::pipeline
