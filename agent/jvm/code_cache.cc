#include "agent/jvm/code_cache.h"

#include <algorithm>
#include <iterator>

namespace tailor::jvm {

// Takes [base, end) out of what was freed. Returns when the last of it was.
std::uint64_t CodeCacheMap::take(std::uint64_t base, std::uint64_t end) {
  std::uint64_t since = start_;
  auto at = freed_.upper_bound(base);
  if (at != freed_.begin() && std::prev(at)->second.end > base) --at;
  while (at != freed_.end() && at->first < end) {
    const auto [begin, freed] = *at;
    since = std::max(since, freed.time);
    at = freed_.erase(at);
    if (begin < base) freed_[begin] = {base, freed.time};
    if (freed.end > end) at = freed_.emplace(end, Freed{freed.end, freed.time}).first;
  }
  return since;
}

CodeCacheMap::Added CodeCacheMap::add(std::uint64_t base, std::uint32_t size, std::uint64_t id) {
  Added added{take(base, base + size), std::nullopt};
  auto [known, fresh] = live_.try_emplace(base, Live{id, size, false});
  if (!fresh) {
    added.replaced = known->second;
    known->second = {id, size, false};
  }
  return added;
}

std::optional<CodeCacheMap::Live> CodeCacheMap::remove(std::uint64_t base, std::uint64_t time) {
  const auto found = live_.find(base);
  if (found == live_.end()) return std::nullopt;
  const Live live = found->second;
  live_.erase(found);
  take(base, base + live.size);
  freed_[base] = {base + live.size, time};
  return live;
}

bool CodeCacheMap::renumber(std::uint64_t base, std::uint64_t from, std::uint64_t to) {
  const auto found = live_.find(base);
  if (found == live_.end() || found->second.id != from) return false;
  found->second.id = to;
  found->second.sent = false;
  return true;
}

bool CodeCacheMap::mark_sent(std::uint64_t base, std::uint64_t id) {
  const auto found = live_.find(base);
  if (found == live_.end() || found->second.id != id) return false;
  found->second.sent = true;
  return true;
}

}  // namespace tailor::jvm
