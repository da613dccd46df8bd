// Functional dependencies: which group keys follow from others.
#pragma once

#include "compiler/weft/plan/logical.h"

namespace tailor::weft {

class Dependencies {
 public:
  // Collects what holds in the rows of the subtree: keys of tables, equalities, computed units.
  explicit Dependencies(const Logical& node) { collect(node); }

  // All units whose value follows from the given ones.
  IuSet closure(IuSet given) const;

 private:
  struct Dependency {
    IuSet from;
    IuSet to;
  };
  void collect(const Logical& node);
  void collect_equalities(const Logical& node);

  std::vector<Dependency> dependencies_;
};

// Splits keys into those that have to be compared and those that follow from them.
struct SplitKeys {
  std::vector<const Iu*> keys;
  std::vector<const Iu*> dependent;
};
SplitKeys split_keys(const std::vector<const Iu*>& keys, const Dependencies& dependencies);

}  // namespace tailor::weft
