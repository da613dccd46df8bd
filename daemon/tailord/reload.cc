#include "daemon/tailord/reload.h"

#include <algorithm>

#include "daemon/tailord/settings.h"

namespace tailor::tailord {

Changes changes_of(const Options& before, const Options& after) {
  Changes changes;
  for (const auto& setting : settings()) {
    if (setting.same(before, after)) continue;
    const bool now = setting.takes_effect == config::TakesEffect::kAtRunTime;
    (now ? changes.at_run_time : changes.needs_restart).push_back(setting.key);
  }
  std::ranges::sort(changes.at_run_time);
  std::ranges::sort(changes.needs_restart);
  return changes;
}

void take_changes(Options& options, const Options& after) {
  for (const auto& setting : settings()) {
    if (setting.takes_effect == config::TakesEffect::kAtRunTime) setting.take(options, after);
  }
}

}  // namespace tailor::tailord
