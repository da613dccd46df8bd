#include "daemon/session/foreign_processes.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "daemon/session/registered.h"

namespace tailor::session {
void ForeignProcesses::add(ProcessId process, NamesFrom names) {
  if (processes_.contains(process)) return;
  ForeignProcess foreign(os_, process, names);
  foreign.tell(input_, ForeignMoment::now(pipeline_.timeline()));
  processes_.emplace(process, std::move(foreign));
}

std::string ForeignProcesses::source_of(ProcessId process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? std::string() : found->second.source();
}

void ForeignProcesses::tell(const Moment& moment) {
  if (moment.follows_children) adopt_children();
  std::erase_if(processes_, [this](const auto& each) { return is_registered(pipeline_, each.first); });
  if (processes_.empty()) return;
  const ForeignMoment now = ForeignMoment::now(pipeline_.timeline());
  for (auto each = processes_.begin(); each != processes_.end();) {
    if (!moment.ending && !is_over(each->first, moment)) {
      (each++)->second.tell(input_, now);
      continue;
    }
    const pipeline::ProcessEntry* entry = pipeline_.processes().find(each->first);
    each->second.tell_last(input_, now, entry == nullptr ? std::string() : entry->jitdump);
    // What it mapped is known for certain when everything was read.
    if (moment.ending && !moment.all_read && each->second.functions() == 0) {
      ++each;
      continue;
    }
    spoken_for_.insert(each->first);
    each = processes_.erase(each);
  }
}

// Children of a process that is sampled with them.
void ForeignProcesses::adopt_children() {
  constexpr std::size_t kMost = 1024;
  pipeline_.processes().for_each([&](const pipeline::ProcessEntry& entry) {
    const ProcessId id = entry.id();
    if (entry.ended != kTimeMax || entry.record.first_seen == 0 || entry.connection != 0) return;
    if (processes_.contains(id) || spoken_for_.contains(id) ||
        spoken_for_.size() + processes_.size() >= kMost)
      return;
    if (entry.record.registered == kTimeMin) processes_.emplace(id, ForeignProcess(os_, id));
  });
}

// A process that was waited for has no directory any more, a zombie no memory.
bool ForeignProcesses::is_over(ProcessId process, const Moment& moment) const {
  if (moment.is_sampled(process)) return false;
  if (!moment.follows_children) return true;
  std::error_code gone;
  const auto directory = os_.proc() / std::to_string(process.pid);
  return !std::filesystem::exists(directory / "exe", gone) || gone;
}

}  // namespace tailor::session
