#include "daemon/session/pebs_times.h"

namespace tailor::session {

const Result<clock::RecordTimes>& PebsTimes::verdict(TimeNs now) {
  const bool known = verdict_ && verdict_->ok();
  if (known && **verdict_ == clock::RecordTimes::kDrain) return *verdict_;
  if (verdict_ && now - tried_ < kInterval) return *verdict_;
  tried_ = now;
  Result<clock::RecordTimes> result = trial_();
  const bool says = result.ok() && *result != clock::RecordTimes::kUnknown;
  const bool own = known && **verdict_ == clock::RecordTimes::kOwn;
  if (says || !own) verdict_ = std::move(result);
  return *verdict_;
}

}  // namespace tailor::session
