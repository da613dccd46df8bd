#include "daemon/tailord/damage_log.h"

namespace tailor::tailord {

bool DamageLog::may(const std::string& text, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(written_, [&](const auto& each) { return now - each.second >= kAgain; });
  if (written_.size() >= kMostTexts) return false;
  return written_.try_emplace(text, now).second;
}

}  // namespace tailor::tailord
