// The account of a recording some of whose stacks have no begin.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/profile/accounting.h"

namespace tailor::test {

// With the samples that are there, it makes `samples` of all. 60 of its stacks lead to a begin, 8 are of
// samples that are known, 8 are longer than their copy and 4 have no rule.
inline profile::Accounting walked_stacks(std::uint64_t there, std::uint64_t samples) {
  using profile::WalkEnd;
  profile::Accounting account;
  account.received = account.attributed = samples - there;
  const auto set = [&](WalkEnd end, std::uint64_t stacks) {
    account.walks[static_cast<std::size_t>(end)] = stacks;
  };
  set(WalkEnd::kKnown, 8);
  set(WalkEnd::kBegin, 60);
  set(WalkEnd::kShortStack, 8);
  set(WalkEnd::kNoRule, 4);
  return account;
}

}  // namespace tailor::test
