// Ends the wait of a thread for its epoll set. The waking thread may live longer than the one that waits.
#pragma once

#include "proto/base/unique_fd.h"

namespace tailor::registration {

// Any thread.
class Wakeup {
 public:
  Wakeup();
  bool ok() const { return static_cast<bool>(counter_); }
  // Readable from wake() until clear().
  int descriptor() const { return counter_.get(); }
  void wake() const;
  void clear() const;

 private:
  UniqueFd counter_;
};

}  // namespace tailor::registration
