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

void MemoryMap::Shared::count(std::size_t now) {
  if (budget != nullptr) budget->held += now - counted;
  counted = now;
}

// False where there is no room for a copy: what the parent mapped is forgotten then, never taken for what it
// no longer is.
bool MemoryMap::own() {
  if (areas_.use_count() == 1) return true;
  MapBudget* budget = areas_->budget;
  auto copy = std::make_shared<Shared>(budget);
  const bool room = budget == nullptr || budget->held + areas_->areas.size() <= budget->most;
  if (room) copy->areas = areas_->areas;
  copy->count(copy->areas.size());
  areas_ = std::move(copy);
  return room;
}

bool MemoryMap::has_room() const {
  const MapBudget* budget = areas_->budget;
  return areas_->areas.size() < most_ && (budget == nullptr || budget->held < budget->most);
}

void MemoryMap::clear() {
  areas_ = std::make_shared<Shared>(areas_->budget);
}

MemoryMap::Areas::const_iterator MemoryMap::area_at(std::uint64_t address) const {
  const Areas& areas = areas_->areas;
  const auto after = areas.upper_bound(address);
  if (after == areas.begin()) return areas.end();
  const auto found = std::prev(after);
  return address < found->second.end ? found : areas.end();
}

void MemoryMap::make_room(std::uint64_t begin, std::uint64_t end) {
  Areas& areas = areas_->areas;
  const auto keep_behind = [&](const Area& old) {
    if (old.end > end && has_room()) areas.emplace(end, old);
  };
  auto at = areas.lower_bound(begin);
  if (at != areas.begin()) {
    Area& before = std::prev(at)->second;
    const Area old = before;
    before.end = std::min(old.end, begin);
    keep_behind(old);
  }
  while (at != areas.end() && at->first < end) {
    const Area old = at->second;
    at = areas.erase(at);
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
  const auto before = mapping.begin == 0 ? areas_->areas.end() : area_at(mapping.begin - 1);
  const bool follows = before != areas_->areas.end() && before->second.what == MemoryArea::kStaticData;
  return follows ? MemoryArea::kStaticData : MemoryArea::kHeap;
}

void MemoryMap::map(const NewMapping& mapping) {
  const std::uint64_t end = mapping.begin + mapping.size;
  if (end <= mapping.begin) return;
  const MemoryArea what = kind_of(mapping);
  if (!own()) ++refused_;
  make_room(mapping.begin, end);
  const bool accessible = mapping.readable || mapping.writable || mapping.executable;
  if (accessible && has_room()) {
    areas_->areas.insert_or_assign(mapping.begin, Area{end, what});
  } else if (accessible) {
    ++refused_;
  }
  areas_->count(areas_->areas.size());
}

MemoryMap::Found MemoryMap::find(std::uint64_t address, std::uint64_t stack) const {
  const auto area = area_at(address);
  if (area == areas_->areas.end()) return {};
  const bool of_stack = area->second.what == MemoryArea::kHeap && stack != 0 && area_at(stack) == area &&
                        address + kRedZone >= stack && address < stack + kStackReach;
  return {true, of_stack ? MemoryArea::kStack : area->second.what};
}

}  // namespace tailor::process
