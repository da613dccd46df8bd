// What was captured and is not taken yet. Messages stay in order: behind one that waits for a file all others
// wait, and so does the horizon.
#pragma once

#include <deque>
#include <functional>

#include "daemon/os/os.h"
#include "daemon/session/capture_queue.h"
#include "daemon/unwind/patience.h"

namespace tailor::session {

// Control thread only.
class CaptureBacklog {
 public:
  // What they refer to outlives this.
  CaptureBacklog(os::Os& os, CaptureQueue& queue, unwind::PatienceLimits patience)
      : os_(os), queue_(queue), patience_(os, patience) {}

  // Takes a message. With patience it may wait for a file: false.
  using Take = std::function<bool(CaptureMessage& message, unwind::Patience* patience)>;
  // As many as a round may take; `last`: all there are.
  void take(bool last, const Take& take);

  // Something waits.
  bool waits() const { return !messages_.empty(); }
  // More were there than the last round took.
  bool is_behind() const { return is_behind_; }

 private:
  os::Os& os_;
  CaptureQueue& queue_;
  unwind::Patience patience_;
  std::deque<CaptureMessage> messages_;
  TimeNs came_ = 0;  // when they did
  bool is_behind_ = false;
};

}  // namespace tailor::session
