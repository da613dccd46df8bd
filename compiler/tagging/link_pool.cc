#include "compiler/tagging/link_pool.h"

#include <algorithm>
#include <utility>

namespace tailor::tagging {

Link LinkPool::intern_many(std::span<const ComponentId> ids) {
  if (std::ranges::equal(ids, last_)) return last_link_;
  last_.assign(ids.begin(), ids.end());
  return last_link_ = intern_set(last_);
}

Link LinkPool::intern_set(std::vector<ComponentId> set) {
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  std::erase(set, kNoComponent);
  if (set.empty()) return Link();
  if (set.size() == 1) return Link::one(set.front());
  auto [it, added] = numbers_.try_emplace(std::move(set), static_cast<std::uint32_t>(sets_.size()));
  if (added) sets_.push_back(it->first);
  return Link::set(it->second);
}

Link LinkPool::unite_owners(Link a, Link b) {
  std::vector<ComponentId> ids;
  ids.reserve(4);  // nearly all are two
  expand(a, ids);
  expand(b, ids);
  return intern_set(std::move(ids));
}

void LinkPool::expand(Link link, std::vector<ComponentId>& out) const {
  if (link.none()) return;
  if (!link.is_set()) {
    out.push_back(link.index());
    return;
  }
  const auto& set = sets_.at(link.index());
  out.insert(out.end(), set.begin(), set.end());
}

}  // namespace tailor::tagging
