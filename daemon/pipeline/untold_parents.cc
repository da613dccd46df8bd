#include "daemon/pipeline/untold_parents.h"

#include <utility>

namespace tailor::pipeline {

void UntoldParents::forked_off(const profile::ProcessRecord& parent, TimeNs time, UntoldParents& of_parent) {
  if (parent.first_seen != 0) return;
  if (of_parent.own_ == nullptr) {
    of_parent.own_ = std::make_shared<Parent>();
    of_parent.own_->record = parent;
    of_parent.own_->record.first_seen = time;  // the fork shows that it was there
  }
  line_ = of_parent.line_;
  line_.push_back(of_parent.own_);
  if (line_.size() > kMost) line_.erase(line_.begin());
}

void UntoldParents::tell(profile::ProfileSink& sink) {
  for (const std::shared_ptr<Parent>& parent : std::exchange(line_, {})) {
    if (!std::exchange(parent->told, true)) sink.on_process(parent->record);
  }
  // What is told of it now is newer than what its children know.
  if (own_ != nullptr) own_->told = true;
}

}  // namespace tailor::pipeline
