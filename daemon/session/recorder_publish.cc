#include <algorithm>
#include <string_view>
#include <utility>

#include "daemon/session/recorder.h"

namespace tailor::session {
namespace {

constexpr TimeNs kPublishInterval = 100'000'000;  // a status has strings of all processes

std::map<std::uint32_t, UserResources> users_of(const pipeline::Pipeline& pipeline,
                                                const registration::Server& server) {
  std::map<std::uint32_t, UserResources> users;
  for (const auto& [uid, has] : pipeline.shares().users()) {
    users[uid].processes = has.processes;
    users[uid].memory_bytes = has.bytes;
  }
  for (const auto& [uid, taken] : server.shares().descriptors->all()) users[uid].descriptors = taken;
  for (const auto& [uid, taken] : server.shares().dictionaries->all()) users[uid].dictionaries = taken;
  return users;
}

// Why stacks have no begin. What waited for a file may lack its object, too.
void tell_ends_of_stacks(const unwind::EnricherCounts& counts, std::map<std::string, std::uint64_t>& limits) {
  for (std::size_t i = 0; i < unwind::kWalkEnds; ++i) {
    const std::string_view key = unwind::key_of(static_cast<unwind::WalkEnd>(i));
    if (!key.empty() && counts.ends[i] > 0) limits[std::string(key)] = counts.ends[i];
  }
  const std::string file(unwind::key_of(unwind::WalkEnd::kUnread));
  if (counts.unread > 0) limits[file] = std::max(limits[file], counts.unread);
}

}  // namespace

// What others may know of this thread's state.
void Recorder::publish() {
  const TimeNs now = os_.now();
  RecorderStatus status;
  status.published = now;
  status.pipeline = pipeline_.stats();
  status.total = pipeline_.total();
  status.stacks = stacks_.counts().stacks;
  status.objects = stacks_.counts().objects;
  status.sampling_notes = facts_.info().sampling_notes;
  status.own_cpu_ns = cpu_.own_ns();
  status.longest_step = step_.longest();
  status.long_steps = step_.too_long();
  status.recording = facts_.info();
  status.registration = server_->counters();
  status.limits = pipeline_.messages().refused_by_limit();
  status.limits.insert(status.registration.pauses.begin(), status.registration.pauses.end());
  tell_ends_of_stacks(stacks_.counts(), status.limits);
  if (ids_.counts().unread > 0) status.limits["mapped-file"] = ids_.counts().unread;
  if (stacks_.counts().left_out > 0) status.limits["unwind-table"] = stacks_.counts().left_out;
  status.all_paused = paused_.all();
  status.untagged_ppm = options_.untagged_ppm;
  status.clock_source = clock::name(clock_.model().source());
  status.clock_error_ns = clock_.model().error_bound_ns();
  const Pauses& pauses = paused_.pauses();
  const auto tell_rate = [this](const Rate* rate, auto& to) {
    if (rate == nullptr) return;
    to.frequency = rate->frequency;
    to.rate_until_ns = rate->until == kTimeMax ? 0 : facts_.info().wall_of(rate->until);
    to.rate_why = rate->why;
  };
  tell_rate(rates_.rates().of_all(), status);
  status.users = users_of(pipeline_, *server_);
  pipeline_.processes().for_each([&](const pipeline::ProcessEntry& entry) {
    if (entry.ended != kTimeMax) return;
    if (entry.record.uid)
      status.users[*entry.record.uid].messages_rejected += entry.accounting.messages_rejected;
    RecordedProcess process{entry.record, entry.accounting, false, {}};
    process.sampled = sampled_.contains(entry.id());
    tell_rate(rates_.rates().of(entry.id()), process);
    process.paused_ns = pauses.ns_of(entry.id(), now);
    if (pauses.is_paused(entry.id()))
      process.paused_since_ns = facts_.info().wall_of(pauses.since(entry.id()));
    process.not_sampled_because = sampled_.states().why_not(entry.id());
    status.processes.push_back(std::move(process));
  });
  next_publish_ = now + kPublishInterval;
  if (options_.on_publish) options_.on_publish();
  status_.publish(std::move(status));
}

}  // namespace tailor::session
