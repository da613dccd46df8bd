#include "compiler/weft/sql/scope.h"

namespace tailor::weft {

Scope::Lookup Scope::find(const std::string& qualifier, const std::string& name) const {
  Lookup result;
  for (const Relation& relation : relations) {
    if (!qualifier.empty() && relation.alias != qualifier) continue;
    for (const NamedColumn& column : relation.columns) {
      if (column.name != name) continue;
      if (result.found == Found::kOne) return {Found::kAmbiguous, nullptr};
      result = {Found::kOne, column.iu};
    }
  }
  if (result.found == Found::kNone && parent != nullptr) return parent->find(qualifier, name);
  return result;
}

}  // namespace tailor::weft
