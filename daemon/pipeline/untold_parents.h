// Processes that the sink has not heard of, with children that it will hear of.
//
// A process that was never sampled and never spoke has no place in a profile. But a child has the code that
// its parent had, and that one what its own parent had. A shell that starts a program may be such a process
// between the two. When the child's first sample comes, it may be gone and forgotten.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "daemon/profile/sink.h"

namespace tailor::pipeline {

// Of one process: those it was forked off.
class UntoldParents {
 public:
  // No reader of a profile follows more generations.
  static constexpr std::size_t kMost = 16;

  // `parent` forks the process off at `time`; `of_parent` are those of `parent`. One that has a place in the
  // profile is told without this, and so are those it was forked off.
  void forked_off(const profile::ProcessRecord& parent, TimeNs time, UntoldParents& of_parent);

  // The process is that of `other`, under another identity.
  void take_line(const UntoldParents& other) { line_ = other.line_; }
  // Nobody knows any more whom it was forked off.
  void forget_line() { line_.clear(); }

  // The process itself is told next: before it those that were not told yet, the oldest first.
  void tell(profile::ProfileSink& sink);

 private:
  struct Parent {
    profile::ProcessRecord record;
    bool told = false;
  };
  std::shared_ptr<Parent> own_;                // the process itself, for its children
  std::vector<std::shared_ptr<Parent>> line_;  // the nearest comes last
};

}  // namespace tailor::pipeline
