// One lowering step: a tracker of the upper level and the one place where components of the lower level come
// into being, linked to whatever is active.
//
//   LoweringStep to_tasks(dictionary, operators, tasks);
//   auto scope = to_tasks.tracker().enter(join);
//   ComponentId build = to_tasks.emit({.name = "Build", .kind = "hash_build"});   // descends from join
#pragma once

#include "compiler/tagging/abstraction_tracker.h"
#include "compiler/tagging/deprecated_names.h"
#include "compiler/tagging/dictionary_builder.h"

namespace tailor::tagging {

class LoweringStep : public DeprecatedStepNames<LoweringStep, ComponentSpec> {
 public:
  // `lower` must be the level below `upper`. `dictionary` outlives the step.
  LoweringStep(DictionaryBuilder& dictionary, LevelIndex upper, LevelIndex lower);

  AbstractionTracker& tracker() { return tracker_; }
  // A new component of the lower level that descends from the active ones.
  ComponentId emit(ComponentSpec spec);

 private:
  DictionaryBuilder& dictionary_;
  LevelIndex lower_;
  AbstractionTracker tracker_;
};

}  // namespace tailor::tagging
