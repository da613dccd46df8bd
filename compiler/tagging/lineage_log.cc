#include "compiler/tagging/lineage_log.h"

namespace tailor::tagging {

void LineageLog::Record(ComponentId lower, std::span<const ComponentId> uppers) {
  Put(lower, pool_.Intern(uppers));
}

void LineageLog::Extend(ComponentId lower, std::span<const ComponentId> uppers) {
  Put(lower, pool_.Union(LinkOf(lower), pool_.Intern(uppers)));
}

Link LineageLog::LinkOf(ComponentId lower) const {
  return lower == kNoComponent || lower > links_.size() ? Link() : links_[lower - 1];
}

std::vector<ComponentId> LineageLog::Owners(ComponentId lower) const {
  std::vector<ComponentId> owners;
  pool_.Expand(LinkOf(lower), owners);
  return owners;
}

void LineageLog::Put(ComponentId lower, Link link) {
  if (lower == kNoComponent) return;
  if (lower > links_.size()) links_.resize(lower);
  links_[lower - 1] = link;
}

}  // namespace tailor::tagging
