#include "daemon/query/load/accounting.h"

#include <cstddef>
#include <numeric>

#include "daemon/profile/accounting.h"

namespace tailor::query {
namespace {

double part_of_samples(const profile::Accounting& total, std::uint64_t stacks) {
  const std::uint64_t samples = total.attributed + total.unattributed;
  return samples > 0 ? static_cast<double>(stacks) / static_cast<double>(samples) : 0;
}

}  // namespace

double Accounting::lost_share() const {
  const double gone = static_cast<double>(lost());
  return gone > 0 ? gone / (static_cast<double>(total.received - total.filtered) + gone) : 0;
}

std::uint64_t Accounting::stacks_walked() const {
  return std::accumulate(total.walks.begin(), total.walks.end(), std::uint64_t{0});
}

std::uint64_t Accounting::stacks_without_begin() const {
  std::uint64_t stacks = 0;
  for (std::size_t end = 0; end < profile::kWalkEnds; ++end) {
    if (profile::is_lack(static_cast<profile::WalkEnd>(end))) stacks += total.walks[end];
  }
  return stacks;
}

double Accounting::share_without_begin() const {
  return part_of_samples(total, stacks_without_begin());
}

double Accounting::share_of(profile::WalkEnd end) const {
  return part_of_samples(total, total.walks[static_cast<std::size_t>(end)]);
}

Accounting account_of(const Profile& profile) {
  Accounting account;
  for (const auto& [process, each] : profile.accounting()) profile::add(account.total, each);
  account.unwritten_samples = profile.said_loss().samples + profile.read_report().missing_samples;
  account.removed_samples = profile.said_loss().removed_samples;
  return account;
}

}  // namespace tailor::query
