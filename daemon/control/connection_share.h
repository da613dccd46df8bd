// Which connection to the control socket ends when there is room for no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tailor::control {

// One of those that are connected.
struct Connected {
  std::uint32_t user = 0;
  bool waits = false;  // for an answer that takes long
};

// Root, and the daemon's user beside it, are one user here.
constexpr std::uint32_t kOwner = 0;

// The index of the one that makes room for one more of `newcomer`. `connected` is not empty, and who spoke
// last comes last. All users have the same right to a place: the user with most of them gives one up, the
// newcomer's counted. The owner's do not count up to half of the places, so that nobody takes them by being
// many users. Of those of a user, the one that was silent longest goes, and one that waits only where all do.
std::size_t makes_room(std::span<const Connected> connected, std::uint32_t newcomer);

}  // namespace tailor::control
