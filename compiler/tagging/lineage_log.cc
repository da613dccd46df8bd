#include "compiler/tagging/lineage_log.h"

namespace tailor::tagging {

void LineageLog::record(ComponentId lower, std::span<const ComponentId> uppers) {
  put(lower, pool_.intern(uppers));
}

void LineageLog::extend(ComponentId lower, std::span<const ComponentId> uppers) {
  put(lower, pool_.united(link_of(lower), pool_.intern(uppers)));
}

void LineageLog::record_run(ComponentId first, std::span<const Link> links, const LinkPool& pool) {
  std::vector<Link> own;  // of the other pool's sets
  own.reserve(pool.sets().size());
  for (const auto& set : pool.sets()) own.push_back(pool_.intern(set));
  if (first + links.size() > links_.size() + 1) links_.resize(first + links.size() - 1);
  for (std::size_t i = 0; i < links.size(); ++i) {
    put(first + static_cast<ComponentId>(i), links[i].is_set() ? own[links[i].index()] : links[i]);
  }
}

Link LineageLog::link_of(ComponentId lower) const {
  return lower == kNoComponent || lower > links_.size() ? Link() : links_[lower - 1];
}

std::vector<ComponentId> LineageLog::owners(ComponentId lower) const {
  std::vector<ComponentId> owners;
  pool_.expand(link_of(lower), owners);
  return owners;
}

void LineageLog::put(ComponentId lower, Link link) {
  if (lower == kNoComponent) return;
  if (lower > links_.size()) links_.resize(lower);
  links_[lower - 1] = link;
}

}  // namespace tailor::tagging
