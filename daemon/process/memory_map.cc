#include "daemon/process/memory_map.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace tailor::process {
namespace {

// Memory of no file, by the kernel's names for it.
bool is_anonymous(std::string_view name) {
  return name.empty() || name.starts_with("//") || name.starts_with("[") ||
         name.starts_with("/anon_hugepage") || name.starts_with("/dev/zero");
}

}  // namespace

std::string_view name_of(MemoryArea area) {
  constexpr std::array<std::string_view, kMemoryAreas> kNames = {
      "stack", "code", "constants", "static data", "shared memory", "other heap"};
  return kNames[static_cast<std::size_t>(area)];
}

MemoryMap::Areas::const_iterator MemoryMap::area_at(std::uint64_t address) const {
  const auto after = areas_.upper_bound(address);
  if (after == areas_.begin()) return areas_.end();
  const auto found = std::prev(after);
  return address < found->second.end ? found : areas_.end();
}

void MemoryMap::make_room(std::uint64_t begin, std::uint64_t end) {
  const auto keep_behind = [&](const Area& old) {
    if (old.end > end && areas_.size() < most_) areas_.emplace(end, old);
  };
  auto at = areas_.lower_bound(begin);
  if (at != areas_.begin()) {
    Area& before = std::prev(at)->second;
    const Area old = before;
    before.end = std::min(old.end, begin);
    keep_behind(old);
  }
  while (at != areas_.end() && at->first < end) {
    const Area old = at->second;
    at = areas_.erase(at);
    keep_behind(old);
  }
}

MemoryArea MemoryMap::kind_of(const NewMapping& mapping) const {
  if (mapping.executable) return MemoryArea::kCode;
  if (mapping.name.starts_with("[stack")) return MemoryArea::kStack;
  if (!mapping.writable) return MemoryArea::kConstants;
  if (mapping.shared) return MemoryArea::kSharedMemory;
  if (!is_anonymous(mapping.name)) return MemoryArea::kStaticData;
  if (mapping.name.starts_with("[heap")) return MemoryArea::kHeap;
  // Data that a file does not hold because it is zero comes right behind what it holds.
  const auto before = mapping.begin == 0 ? areas_.end() : area_at(mapping.begin - 1);
  const bool follows = before != areas_.end() && before->second.what == MemoryArea::kStaticData;
  return follows ? MemoryArea::kStaticData : MemoryArea::kHeap;
}

void MemoryMap::map(const NewMapping& mapping) {
  const std::uint64_t end = mapping.begin + mapping.size;
  if (end <= mapping.begin) return;
  const MemoryArea what = kind_of(mapping);
  make_room(mapping.begin, end);
  if (!mapping.readable && !mapping.writable && !mapping.executable) return;
  if (areas_.size() >= most_) {
    ++refused_;
    return;
  }
  areas_.insert_or_assign(mapping.begin, Area{end, what});
}

MemoryMap::Found MemoryMap::find(std::uint64_t address, std::uint64_t stack) const {
  const auto area = area_at(address);
  if (area == areas_.end()) return {};
  const bool of_stack = area->second.what == MemoryArea::kHeap && stack != 0 && area_at(stack) == area &&
                        address + kRedZone >= stack && address < stack + kStackReach;
  return {true, of_stack ? MemoryArea::kStack : area->second.what};
}

}  // namespace tailor::process
