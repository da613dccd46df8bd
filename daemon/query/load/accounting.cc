#include "daemon/query/load/accounting.h"

#include "daemon/profile/accounting.h"

namespace tailor::query {

double Accounting::lost_share() const {
  const double gone = static_cast<double>(lost());
  return gone > 0 ? gone / (static_cast<double>(total.received - total.filtered) + gone) : 0;
}

Accounting account_of(const Profile& profile) {
  Accounting account;
  for (const auto& [process, each] : profile.accounting()) profile::add(account.total, each);
  account.unwritten_samples = profile.said_loss().samples + profile.read_report().missing_samples;
  return account;
}

}  // namespace tailor::query
