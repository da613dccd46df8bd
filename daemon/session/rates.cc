#include "daemon/session/rates.h"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace tailor::session {

Status Rates::set(std::optional<ProcessId> whose, Rate rate) {
  std::set<std::uint64_t> frequencies = {rate.frequency};
  if (all_ && whose) frequencies.insert(all_->frequency);
  for (const auto& [process, own] : own_) {
    if (whose != process) frequencies.insert(own.frequency);
  }
  if (frequencies.size() > kMostRates)
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
