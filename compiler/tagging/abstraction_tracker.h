// Which component of the upper level is being lowered right now (Tailored Profiling, EuroSys 2021, section
// 4.2.1: "Abstraction Tracker").
//
// A lowering step owns one tracker. The driver of the step (the one place that calls produce and consume)
// enters a component before its code generates and leaves it after; everything that is generated in between
// is linked to it. Components do not know that they are tracked.
#pragma once

#include <span>
#include <vector>

#include "compiler/tagging/deprecated_names.h"
#include "proto/base/ids.h"

namespace tailor::tagging {

// Not thread-safe: a lowering step runs in one thread.
class AbstractionTracker : public DeprecatedTrackerNames<AbstractionTracker> {
 public:
  // Leaves the component when it ends. Scopes must end in the reverse order of their beginning.
  class [[nodiscard]] Scope {
   public:
    Scope(Scope&& other) noexcept;
    Scope& operator=(Scope&&) = delete;
    ~Scope();

   private:
    friend class AbstractionTracker;
    explicit Scope(AbstractionTracker& tracker) : tracker_(&tracker) {}
    AbstractionTracker* tracker_;
  };

  // `upper` is active until the scope ends.
  Scope enter(ComponentId upper);
  // All of `uppers` are: the code that is generated is shared by them (loop control of fused loops, say).
  Scope enter(std::span<const ComponentId> uppers);

  // The active components; empty outside every scope.
  std::span<const ComponentId> active() const;
  std::size_t depth() const { return begins_.size(); }

 private:
  void leave();

  std::vector<ComponentId> ids_;     // of all scopes, the innermost last
  std::vector<std::size_t> begins_;  // where each scope's ids begin
};

}  // namespace tailor::tagging
