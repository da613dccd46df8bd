#include "daemon/session/capture_backlog.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace tailor::session {
namespace {

// Agents are heard in between.
constexpr TimeNs kTakeAtOnce = 8'000'000;

}  // namespace

void CaptureBacklog::take(bool last, const Take& take) {
  if (messages_.empty() || last) {
    if (messages_.empty()) came_ = os_.now();
    std::vector<CaptureMessage> came = queue_.take();
    std::ranges::move(came, std::back_inserter(messages_));
  }
  patience_.begin_step(came_);
  unwind::Patience* const patience = last || queue_.is_filling() ? nullptr : &patience_;
  is_behind_ = false;
  const TimeNs end = os_.now() + kTakeAtOnce;
  while (!messages_.empty() && !is_behind_ && take(messages_.front(), patience)) {
    messages_.pop_front();
    is_behind_ = !last && !messages_.empty() && os_.now() >= end;
  }
}

}  // namespace tailor::session
