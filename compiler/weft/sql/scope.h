// Names that are visible at a place of a statement.
#pragma once

#include <string>
#include <vector>

#include "compiler/weft/plan/iu.h"

namespace tailor::weft {

struct NamedColumn {
  std::string name;
  const Iu* iu;
};

struct Relation {
  std::string alias;
  std::vector<NamedColumn> columns;
};

struct Scope {
  std::vector<Relation> relations;
  const Scope* parent = nullptr;  // of the statement around a subquery

  enum class Found { kOne, kNone, kAmbiguous };
  struct Lookup {
    Found found = Found::kNone;
    const Iu* iu = nullptr;
  };
  // The innermost scope that knows the name decides. `qualifier` may be empty.
  Lookup find(const std::string& qualifier, const std::string& name) const;
};

}  // namespace tailor::weft
