#include "daemon/session/foreign_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/os/user_threads.h"
#include "daemon/session/registered.h"

namespace tailor::session {
namespace {

// Nobody's files hold the watermark back for longer.
constexpr TimeNs kMostHeldBack = 300'000'000;
// At the end nobody's samples wait for the control thread any more.
constexpr int kStepsAtTheEnd = 16;
// What holds less is not worth a look at the others of its user.
constexpr std::size_t kLittleMemory = std::size_t{1} << 20;

}  // namespace

void ForeignProcesses::add(ProcessId process, NamesFrom names) {
  if (processes_.contains(process) || is_registered(pipeline_, process)) return;
  look_at(start(process, names, pipeline_.processes().find(process)));
}

ForeignProcesses::Followed& ForeignProcesses::start(ProcessId process, NamesFrom names,
                                                    const pipeline::ProcessEntry* entry) {
  Followed followed;
  followed.reading = std::make_shared<Reading>(os_, process, names);
  followed.user = followed.reading->process.user();
  followed.source = followed.reading->process.source();
  follow(followed, entry);
  return processes_.insert_or_assign(process, std::move(followed)).first->second;
}

// False: the entry is of another process.
bool ForeignProcesses::follow(Followed& followed, const pipeline::ProcessEntry* entry) {
  if (entry == nullptr) return true;
  if (followed.number == 0) followed.number = entry->number;
  if (followed.number != entry->number) return false;
  if (std::exchange(followed.executed, entry->executed) != entry->executed)
    followed.executed_at = entry->executed_at;
  return true;
}

std::string ForeignProcesses::source_of(ProcessId process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? std::string() : found->second.source;
}

void ForeignProcesses::look(const Moment& moment) {
  ending_ = moment.ending;
  if (moment.follows_children) adopt_children();
  std::erase_if(processes_, [this](const auto& each) { return is_registered(pipeline_, each.first); });
  reads_dumps_ = std::ranges::any_of(processes_, [](const auto& each) { return each.second.dumps; });
  if (processes_.empty()) return;
  timeline_.reset();
  const TimeNs now = os_.now();
  for (auto each = processes_.begin(); each != processes_.end();) {
    const pipeline::ProcessEntry* entry = pipeline_.processes().find(each->first);
    Followed& followed = each->second;
    if (!follow(followed, entry)) {
      each = processes_.erase(each);
      continue;
    }
    if (moment.ending || is_over(each->first, moment)) {
      followed.over = true;
      followed.seen_dumps = entry == nullptr ? std::vector<std::string>() : entry->jitdumps;
      // What it mapped is known for certain when everything was read.
      followed.may_come_back = moment.ending && !moment.all_read;
    }
    if (!is_pending(followed) && (followed.over || followed.executed_at || followed.look_for_dump ||
                                  followed.reading->process.is_due(now)))
      look_at(followed);
    ++each;
  }
}

void ForeignProcesses::mapped_dump(std::int32_t pid) {
  for (auto at = processes_.lower_bound({pid, 0}); at != processes_.end() && at->first.pid == pid; ++at)
    at->second.dumps = at->second.look_for_dump = true;
}

// Nobody reads for it now, and everything that was read is said.
void ForeignProcesses::look_at(Followed& followed) {
  const TimeNs now = os_.now();
  if (waiting_ >= limits_.functions || now < followed.next) return;
  if (!timeline_) timeline_ = std::make_shared<const clock::Timeline>(pipeline_.timeline());
  if (followed.executed_at) followed.reading->process.executed(*followed.executed_at);
  followed.executed_at.reset();
  if (std::exchange(followed.look_for_dump, false)) followed.reading->process.mapped_dump();
  followed.since = now;
  followed.last = followed.over;
  followed.reading->busy = true;
  run_(followed.user, [&os = os_, reading = followed.reading, timeline = timeline_, last = followed.over,
                       dumps = followed.seen_dumps] {
    const ForeignMoment moment = ForeignMoment::now(os, *timeline);
    std::vector<Speech> said =
        last ? reading->process.look_at_last(moment, dumps) : reading->process.look(moment);
    for (Speech& each : said) {
      reading->functions += each.functions;
      reading->said.push_back(std::move(each));
    }
    reading->busy = false;
  });
}

void ForeignProcesses::say() {
  is_behind_ = false;
  waiting_ = 0;
  for (const auto& [id, followed] : processes_)
    if (is_pending(followed) && !followed.reading->busy) waiting_ += followed.reading->functions;
  const TimeNs end = os_.now() + limits_.step * (ending_ ? kStepsAtTheEnd : 1);
  auto at = processes_.lower_bound(next_);
  for (std::size_t left = processes_.size(); left > 0; --left) {
    if (at == processes_.end()) at = processes_.begin();
    Followed& followed = at->second;
    const auto here = at++;
    if (!is_pending(followed) || followed.reading->busy) continue;
    Reading& reading = *followed.reading;
    while (!reading.said.empty()) {
      waiting_ -= reading.said.front().functions;
      reading.functions -= reading.said.front().functions;
      say_now(std::move(reading.said.front()));
      reading.said.pop_front();
      if (os_.now() < end) continue;
      next_ = here->first;
      is_behind_ = true;
      return;
    }
    if (settle(here->first, followed)) processes_.erase(here);
  }
}

// Stacks are unwound before anything else sees them.
void ForeignProcesses::tell_frames(Speech& speech) const {
  for (Speech::Event& event : speech.events) {
    auto* said = std::get_if<registration::PeerMessage>(&event);
    if (said == nullptr || !said->message.has_code_load()) continue;
    v1::CodeObject& code = *said->message.mutable_code_load();
    if (hear_code_ && code.told_by() == v1::TOLD_BY_JITDUMP) hear_code_(said->process, code);
    code.clear_eh_frame();
    code.clear_eh_frame_address();
  }
}

void ForeignProcesses::say_now(Speech speech) {
  functions_ += speech.functions;
  tell_frames(speech);
  session::say(std::move(speech), os_.tsc(), input_);
}

// Everything that a look has found was said. True: the process is over, and was looked at for the last time.
bool ForeignProcesses::settle(ProcessId process, Followed& followed) {
  followed.since = kTimeMax;
  bound_memory(followed);
  const ForeignProcess& seen = followed.reading->process;
  followed.source = seen.source();
  if (seen.goes_on()) {
    if (followed.looks < limits_.burst) {
      ++followed.looks;
    } else {
      followed.next = os_.now() + limits_.interval;
    }
    look_at(followed);
    return false;
  }
  if (followed.looks > 0) --followed.looks;
  if (!followed.over) return false;
  if (!followed.last) {
    look_at(followed);
    return false;
  }
  if (followed.may_come_back && seen.functions() == 0) {
    followed.over = false;
    return false;
  }
  spoken_for_.emplace(process, followed.number);
  return true;
}

// Files of a process are no longer read once those of its user take too much memory.
void ForeignProcesses::bound_memory(Followed& followed) {
  followed.memory = followed.reading->process.memory();
  if (followed.memory < kLittleMemory) return;
  std::size_t all = 0;
  for (const auto& [id, each] : processes_)
    if (each.user == followed.user) all += each.memory;
  if (all <= limits_.user_memory) return;
  say_now(followed.reading->process.leave_unread(
      fmt::format("what is held of its user's files takes more than {} MB", limits_.user_memory >> 20)));
  followed.memory = 0;
}

TimeNs ForeignProcesses::known_until(TimeNs now) const {
  TimeNs known = now;
  for (const auto& [id, followed] : processes_) known = std::min(known, followed.since);
  return std::max(known, now - kMostHeldBack);
}

bool ForeignProcesses::is_pending(ProcessId process) const {
  const auto found = processes_.find(process);
  return found != processes_.end() && is_pending(found->second);
}

bool ForeignProcesses::is_pending() const {
  return std::ranges::any_of(processes_, [this](const auto& each) { return is_pending(each.second); });
}

void ForeignProcesses::give_up() {
  constexpr const char* kWhy = "the recording has ended";
  for (auto each = processes_.begin(); each != processes_.end();) {
    const auto here = each++;
    Followed& followed = here->second;
    if (!is_pending(followed)) continue;
    if (followed.reading->busy) {
      input_.on_rejected({registration::kSpeakers, here->first,
                          fmt::format("its jitdump or perf map is not read to its end: {}", kWhy)});
    } else {
      say_now(followed.reading->process.leave_unread(kWhy));
    }
    processes_.erase(here);
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
    if (entry.record.registered == kTimeMin) start(id, NamesFrom::kAuto, &entry);
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
