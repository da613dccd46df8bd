#include "compiler/tagging/link_pool.h"

#include <algorithm>
#include <utility>

namespace tailor::tagging {

Link LinkPool::InternMany(std::span<const ComponentId> ids) {
  if (std::ranges::equal(ids, last_)) return last_link_;
  last_.assign(ids.begin(), ids.end());
  return last_link_ = InternSet(last_);
}

Link LinkPool::InternSet(std::vector<ComponentId> set) {
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  std::erase(set, kNoComponent);
  if (set.empty()) return Link();
  if (set.size() == 1) return Link::One(set.front());
  auto [it, added] = numbers_.try_emplace(std::move(set), static_cast<std::uint32_t>(sets_.size()));
  if (added) sets_.push_back(it->first);
  return Link::Set(it->second);
}

Link LinkPool::UniteOwners(Link a, Link b) {
  std::vector<ComponentId> ids;
  ids.reserve(4);  // nearly all are two
  Expand(a, ids);
  Expand(b, ids);
  return InternSet(std::move(ids));
}

void LinkPool::Expand(Link link, std::vector<ComponentId>& out) const {
  if (link.none()) return;
  if (!link.is_set()) {
    out.push_back(link.index());
    return;
  }
  const auto& set = sets_.at(link.index());
  out.insert(out.end(), set.begin(), set.end());
}

}  // namespace tailor::tagging
