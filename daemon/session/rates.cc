#include "daemon/session/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "daemon/bpf/suited_events.h"

namespace tailor::session {
namespace {

// Rates of one kind share timers.
using Kind = std::tuple<std::uint64_t, bool, bool>;

Kind kind_of(const Rate& rate) {
  return {rate.frequency, rate.capture->callchain, rate.capture->all_registers};
}

}  // namespace

bool keeps_sources_with_chains(const capture::CaptureOptions& usual) {
  return std::ranges::is_partitioned(usual.events, bpf::suits);
}

Status Rates::set(std::optional<ProcessId> whose, Rate rate) {
  std::set<Kind> kinds = {kind_of(rate)};
  if (all_ && whose) kinds.insert(kind_of(*all_));
  for (const auto& [process, own] : own_) {
    if (whose != process) kinds.insert(kind_of(own));
  }
  if (kinds.size() > kMostRates)
    return exhausted(fmt::format("there are {} other rates already, and no more at a time", kMostRates));
  if (!whose) {
    all_ = std::move(rate);
    return Ok{};
  }
  if (!own_.contains(*whose) && own_.size() >= kMostProcesses)
    return exhausted(fmt::format("{} processes have rates of their own already", kMostProcesses));
  own_.insert_or_assign(*whose, std::move(rate));
  return Ok{};
}

bool Rates::reset(std::optional<ProcessId> whose) {
  if (whose) return own_.erase(*whose) > 0;
  return std::exchange(all_, std::nullopt).has_value();
}

bool Rates::expire(TimeNs now) {
  const bool over = all_ && all_->until <= now;
  if (over) all_.reset();
  return std::erase_if(own_, [&](const auto& each) { return each.second.until <= now; }) > 0 || over;
}

const Rate* Rates::of(ProcessId process) const {
  const auto own = own_.find(process);
  return own == own_.end() ? of_all() : &own->second;
}

}  // namespace tailor::session
