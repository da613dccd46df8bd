#include "compiler/tagging/lowering_step.h"

#include <cstdlib>
#include <utility>

namespace tailor::tagging {

LoweringStep::LoweringStep(DictionaryBuilder& dictionary, LevelIndex upper, LevelIndex lower)
    : dictionary_(dictionary), lower_(lower) {
  if (lower != upper + 1 || lower >= dictionary.level_count()) std::abort();
}

ComponentId LoweringStep::emit(ComponentSpec spec) {
  return dictionary_.add(lower_, std::move(spec), tracker_.active());
}

}  // namespace tailor::tagging
