#include "compiler/tagging/abstraction_tracker.h"

#include <utility>

namespace tailor::tagging {

AbstractionTracker::Scope::Scope(Scope&& other) noexcept : tracker_(std::exchange(other.tracker_, nullptr)) {}

AbstractionTracker::Scope::~Scope() {
  if (tracker_ != nullptr) tracker_->Leave();
}

AbstractionTracker::Scope AbstractionTracker::Enter(ComponentId upper) {
  return Enter({&upper, 1});
}

AbstractionTracker::Scope AbstractionTracker::Enter(std::span<const ComponentId> uppers) {
  begins_.push_back(ids_.size());
  ids_.insert(ids_.end(), uppers.begin(), uppers.end());
  return Scope(*this);
}

std::span<const ComponentId> AbstractionTracker::active() const {
  if (begins_.empty()) return {};
  return std::span(ids_).subspan(begins_.back());
}

void AbstractionTracker::Leave() {
  ids_.resize(begins_.back());
  begins_.pop_back();
}

}  // namespace tailor::tagging
