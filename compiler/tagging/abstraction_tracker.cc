#include "compiler/tagging/abstraction_tracker.h"

#include <utility>

namespace tailor::tagging {

AbstractionTracker::Scope::Scope(Scope&& other) noexcept : tracker_(std::exchange(other.tracker_, nullptr)) {}

AbstractionTracker::Scope::~Scope() {
  if (tracker_ != nullptr) tracker_->leave();
}

AbstractionTracker::Scope AbstractionTracker::enter(ComponentId upper) {
  return enter({&upper, 1});
}

AbstractionTracker::Scope AbstractionTracker::enter(std::span<const ComponentId> uppers) {
  begins_.push_back(ids_.size());
  ids_.insert(ids_.end(), uppers.begin(), uppers.end());
  return Scope(*this);
}

std::span<const ComponentId> AbstractionTracker::active() const {
  if (begins_.empty()) return {};
  return std::span(ids_).subspan(begins_.back());
}

void AbstractionTracker::leave() {
  ids_.resize(begins_.back());
  begins_.pop_back();
}

}  // namespace tailor::tagging
