// What a process has mapped: by the kernel's records, and by looks at it.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "daemon/pipeline/pipeline.h"
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

}  // namespace

// The profile is told of files with code, and where something else took their place: generated code is
// registered, and data is never an address of code.
void Pipeline::mapped(const capture::Batch& batch, const capture::Event& event) {
  ProcessEntry* entry = owner(event.pid, event.time);
  if (entry == nullptr) return;
  const std::string_view path = batch.text_of(event);
  entry->state.memory().map({event.address, event.size, event.flag_readable, event.flag_writable,
                             event.flag_executable, event.flag_shared, path});
  entry->last_area = std::max(entry->last_area, event.time);
  if (!event.flag_executable) return;
  profile::MappingRecord mapping{entry->id(),       event.time,        event.address,           event.size,
                                 event.page_offset, std::string(path), file_id_of(batch, event)};
  const bool anonymous = is_anonymous(path);
  if (anonymous) {
    mapping.path = kAnonymous;
    mapping.file_offset = 0;
  }
  if (event.time >= entry->executed_at) note_code(*entry, mapping);
  // One that is late says nothing of what is there now.
  if (event.time < entry->last_mapping) return tell_mapping(*entry, mapping);
  entry->last_mapping = event.time;
  if (!anonymous) return map_file(*entry, mapping);
  if (entry->mappings_ended) return;
  if (entry->files.unmap(event.address, event.size)) tell_mapping(*entry, mapping);
}

// Where generated code may be, and where there was other code.
void Pipeline::note_code(ProcessEntry& entry, const profile::MappingRecord& mapping) {
  process::GeneratedMemory& generated = entry.state.generated();
  if (is_anonymous(mapping.path)) return generated.add(mapping.begin, mapping.size);
  generated.add_file(mapping.begin, mapping.size);
}

// What a look at the process saw: files, and memory of no file, of which a profile needs no record.
void Pipeline::map_known(ProcessEntry& entry, const profile::MappingRecord& mapping) {
  note_code(entry, mapping);
  if (mapping.path != kNamelessCode) map_file(entry, mapping);
}

void Pipeline::map_file(ProcessEntry& entry, const profile::MappingRecord& mapping) {
  if (is_jitdump_name(mapping.path)) entry.jitdump = mapping.path;
  if (entry.mappings_ended || !entry.files.map(file_of(mapping))) return;
  tell_mapping(entry, mapping);
  if (mapping.path.rfind(process::kAgentLibrary) == std::string::npos) return;
  entry.state.set_agent_code(mapping.begin, mapping.size);
  name_agent(entry);
}

// One at a time: it may be large. Whether there was one.
bool Pipeline::look_again(TimeNs watermark) {
  const auto due = std::ranges::find_if(
      looks_, [&](const Look& each) { return each.time <= watermark && !each.process.more; });
  if (due == looks_.end()) return false;
  const Look look = std::move(*due);
  looks_.erase(due);
  if (look.time > sorter_.watermark()) sorter_.advance(look.time, Leaving{*this});
  end_spans();
  map_again(look.process, look.time);
  return true;
}

void Pipeline::map_again(const KnownProcess& process, TimeNs time) {
  ProcessEntry* entry = table_.find(process.process);
  if (entry == nullptr) return;
  if (time < entry->last_mapping) return map_late(*entry, process, time);
  std::vector<process::FileRanges::File> seen;
  for (const profile::MappingRecord& mapping : process.mappings) {
    if (mapping.path != kNamelessCode) seen.push_back(file_of(mapping));
  }
  for (const auto& [begin, size] : entry->files.keep_only(seen))
    tell_mapping(*entry, {entry->id(), time, begin, size, 0, kAnonymous});
  for (profile::MappingRecord mapping : process.mappings) {
    mapping.time = time;
    map_known(*entry, mapping);
  }
}

// What a look saw, where records may have told what is newer: that is known better.
void Pipeline::map_late(ProcessEntry& entry, const KnownProcess& process, TimeNs time) {
  for (profile::MappingRecord mapping : process.mappings) {
    if (time != kTimeMin && entry.files.has(file_of(mapping))) continue;  // it is known already
    mapping.time = time;
    if (!entry.files.touches(mapping.begin, mapping.size)) {
      map_known(entry, mapping);
    } else if (mapping.path != kNamelessCode) {
      tell_mapping(entry, mapping);
    }
  }
}

// A process that maps code without end fills no profile, and one that lives longer may map more.
bool Pipeline::may_tell_mapping(ProcessEntry& entry, TimeNs time) const {
  constexpr TimeNs kOneMoreEach = 50'000'000;
  if (entry.first_mapping == kTimeMin) entry.first_mapping = time;
  const bool has_time = entry.first_mapping != kTimeMin && time > entry.first_mapping;
  const TimeNs since = has_time ? time - entry.first_mapping : 0;
  return entry.mappings < options_.limits.mappings + static_cast<std::size_t>(since / kOneMoreEach);
}

void Pipeline::tell_mapping(ProcessEntry& entry, const profile::MappingRecord& mapping) {
  if (entry.mappings_ended) return;
  if (entry.files.overflowed() || !may_tell_mapping(entry, mapping.time))
    return end_mappings(entry, mapping.time);
  ++entry.mappings;
  sink_.on_mapping(mapping);
}

// What it had mapped, itself or by its parent, is gone; the program's own files are told next.
void Pipeline::tell_executed(ProcessEntry& entry, TimeNs time) {
  const bool has_room = may_tell_mapping(entry, time);
  if (entry.mappings_ended && !has_room) return;  // nothing is known, as before
  entry.mappings_ended = false;
  ++entry.mappings;
  sink_.on_mapping({entry.id(), time, 0, kAllAddresses, 0, ""});
  if (!has_room) end_mappings(entry, time);
}

// It is said, once, that nobody knows any more which file is where: what was told last must not own an
// address for good.
void Pipeline::end_mappings(ProcessEntry& entry, TimeNs time) {
  entry.mappings_ended = true;
  ++entry.mappings;
  entry.files.clear();
  sink_.on_mapping({entry.id(), time, 0, kAllAddresses, 0, "[too many mappings]"});
}

// Of an area that a record has told since the look was begun the record knows better.
void Pipeline::map_areas(ProcessEntry& entry, const KnownProcess& process) {
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
void Pipeline::take_look(ProcessEntry& entry, const KnownProcess& process) {
  const bool goes_on = std::exchange(entry.look_goes_on, process.more);
  if (!goes_on) entry.looked_first = entry.mappings == 0;
  if (entry.looked_first && process.since != kTimeMin && process.since < entry.last_mapping)
    return map_late(entry, process, kTimeMin);
  if (entry.looked_first) {
    for (const profile::MappingRecord& mapping : process.mappings) map_known(entry, mapping);
    return;
  }
  const auto known = std::ranges::find_if(looks_, [&](const Look& each) {
    return goes_on && each.process.more && each.process.process == process.process;
  });
  if (known == looks_.end()) {
    looks_.push_back({process, process.since == kTimeMin ? now_ : process.since});
    return;
  }
  auto& all = known->process.mappings;
  all.insert(all.end(), process.mappings.begin(), process.mappings.end());
  known->process.more = process.more;
}

// No sample was lost, but this process may have mapped something meanwhile.
void Pipeline::note_lost_maps(const capture::RingLayout& layout, TimeNs since) {
  const ProcessEntry* entry = owner(layout.pid, now_);
  if (entry == nullptr) return;
  const auto same = [&](const MapsLost& each) { return each.process == entry->id(); };
  if (std::ranges::any_of(lost_maps_, same)) return;
  lost_maps_.push_back({entry->id(), since});
}

}  // namespace tailor::pipeline
