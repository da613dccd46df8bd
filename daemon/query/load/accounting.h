// What became of everything that was to be recorded. Every report shows it: shares are of what was received.
#pragma once

#include <cstdint>

#include "daemon/profile/sink.h"
#include "daemon/query/load/profile.h"

namespace tailor::query {

// Of the whole recording: nobody knows to which execution a lost sample belonged.
struct Accounting {
  profile::Accounting total;            // of all processes, and of what belongs to none
  std::uint64_t unwritten_samples = 0;  // attributed, but not in the profile: a full disk, damage

  std::uint64_t lost() const { return total.lost_ring + total.lost_hardware + unwritten_samples; }
  // lost / (received + lost), of the recorded processes. 0 to 1.
  double lost_share() const;
};

Accounting account_of(const Profile& profile);

}  // namespace tailor::query
