#include "daemon/session/foreign_processes.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "daemon/session/registered.h"

namespace tailor::session {

void ForeignProcesses::add(ProcessId process, NamesFrom names) {
  if (processes_.contains(process)) return;
  Followed followed{ForeignProcess(os_, process, names)};
  follow(followed, pipeline_.processes().find(process));
  followed.process.tell(input_, ForeignMoment::now(pipeline_.timeline()));
  processes_.emplace(process, std::move(followed));
}

// False: the entry is of another process.
bool ForeignProcesses::follow(Followed& followed, const pipeline::ProcessEntry* entry) {
  if (entry == nullptr) return true;
  if (followed.number == 0) followed.number = entry->number;
  if (followed.number != entry->number) return false;
  if (std::exchange(followed.executed, entry->executed) != entry->executed)
    followed.process.executed(entry->executed_at);
  return true;
}

std::string ForeignProcesses::source_of(ProcessId process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? std::string() : found->second.process.source();
}

void ForeignProcesses::tell(const Moment& moment) {
  if (moment.follows_children) adopt_children();
  std::erase_if(processes_, [this](const auto& each) { return is_registered(pipeline_, each.first); });
  if (processes_.empty()) return;
  const ForeignMoment now = ForeignMoment::now(pipeline_.timeline());
  for (auto each = processes_.begin(); each != processes_.end();) {
    const pipeline::ProcessEntry* entry = pipeline_.processes().find(each->first);
    Followed& followed = each->second;
    if (!follow(followed, entry)) {
      each = processes_.erase(each);
      continue;
    }
    if (!moment.ending && !is_over(each->first, moment)) {
      followed.process.tell(input_, now);
      ++each;
      continue;
    }
    followed.process.tell_last(input_, now, entry == nullptr ? std::string() : entry->jitdump);
    // What it mapped is known for certain when everything was read.
    if (moment.ending && !moment.all_read && followed.process.functions() == 0) {
      ++each;
      continue;
    }
    spoken_for_.emplace(each->first, followed.number);
    each = processes_.erase(each);
  }
}

// Children of a process that is sampled with them.
void ForeignProcesses::adopt_children() {
  constexpr std::size_t kMost = 1024;
  pipeline_.processes().for_each([&](const pipeline::ProcessEntry& entry) {
    const ProcessId id = entry.id();
    if (entry.ended != kTimeMax || entry.record.first_seen == 0 || entry.connection != 0) return;
    if (processes_.contains(id) || spoken_for_.contains({id, entry.number}) ||
        spoken_for_.size() + processes_.size() >= kMost)
      return;
    if (entry.record.registered != kTimeMin) return;
    Followed followed{ForeignProcess(os_, id)};
    follow(followed, &entry);
    processes_.emplace(id, std::move(followed));
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
