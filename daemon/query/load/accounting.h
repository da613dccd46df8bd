// What became of everything that was to be recorded. Every report shows it: shares are of what was received.
#pragma once

#include <cstdint>

#include "daemon/profile/sink.h"
#include "daemon/profile/walk_end.h"
#include "daemon/query/load/profile.h"

namespace tailor::query {

// Of the whole recording: nobody knows to which execution a lost sample belonged.
struct Accounting {
  profile::Accounting total;            // of all processes, and of what belongs to none
  std::uint64_t unwritten_samples = 0;  // attributed, but not in the profile: a full disk, damage
  // Were in the store until their user had more than a share of its disk.
  std::uint64_t removed_samples = 0;

  std::uint64_t lost() const { return total.lost_ring + total.lost_hardware + unwritten_samples; }
  // lost / (received + lost), of the recorded processes. 0 to 1.
  double lost_share() const;

  std::uint64_t stacks_walked() const;         // samples that brought a piece of their stack
  std::uint64_t stacks_without_begin() const;  // those whose callers do not lead to where a thread begins
  // Parts of attributed + unattributed, 0 to 1: of all stacks without a begin, and of those that ended so.
  double share_without_begin() const;
  double share_of(profile::WalkEnd end) const;
};

// From this share of the samples on, stacks without a begin are worth a word.
inline constexpr double kStacksMatter = 0.01;

Accounting account_of(const Profile& profile);

}  // namespace tailor::query
