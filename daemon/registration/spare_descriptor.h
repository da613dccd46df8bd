// A descriptor that is kept for the time when no other is left. In its place a newcomer is taken out of the
// backlog of a listener, to be turned away: there it would wake the server forever.
#pragma once

#include "proto/base/unique_fd.h"

namespace tailor::registration {

class SpareDescriptor {
 public:
  SpareDescriptor() { (void)refill(); }

  // The next newcomer, in its place; nothing where there is none, or where the place went to somebody else.
  // The caller must not close it: that takes as long as the newcomer likes (descriptor_closer.h).
  UniqueFd accept_in_its_place(int listener);
  // Whether there is one, again.
  bool refill();

 private:
  UniqueFd fd_;
};

}  // namespace tailor::registration
