#include "daemon/process/retired_code.h"

#include <bit>
#include <utility>

namespace tailor::process {

RetiredCode::Place RetiredCode::place_of(const CodeState& code) {
  return {static_cast<unsigned>(std::bit_width(code.end - code.base)), code.base, code.loaded, &code};
}

std::uint64_t RetiredCode::lowest_base(std::uint64_t address, unsigned width) {
  const std::uint64_t largest = width < 64 ? (std::uint64_t{1} << width) - 1 : UINT64_MAX;
  return address >= largest ? address - largest + 1 : 0;
}

void RetiredCode::add(std::unique_ptr<CodeState> code, TimeNs end) {
  const Place place = place_of(*code);
  places_.emplace(place, by_end_.emplace(end, std::move(code)));
  ++of_width_[place.width];
}

std::unique_ptr<CodeState> RetiredCode::take_first() {
  const auto first = by_end_.begin();
  const Place place = place_of(*first->second);
  places_.erase(place);
  --of_width_[place.width];
  std::unique_ptr<CodeState> code = std::move(first->second);
  by_end_.erase(first);
  return code;
}

void RetiredCode::move_end(const Found& found, TimeNs end) {
  ByEnd::iterator& entry = places_.find(place_of(*found.code))->second;
  auto node = by_end_.extract(entry);
  node.key() = end;
  entry = by_end_.insert(std::move(node));
}

const CodeState* RetiredCode::at(std::uint64_t address, TimeNs time) const {
  if (last_end() <= time) return nullptr;
  std::size_t looks = 1024;  // a process that needs more misses code of its own, and the daemon goes on
  for (unsigned width = 1; width < of_width_.size(); ++width) {
    if (of_width_[width] == 0) continue;
    if (const CodeState* code = of_width_at(width, address, time, looks)) return code;
  }
  return nullptr;
}

// From the nearest begin down. Of those that began at one address, the last one that was loaded by then is
// the one, or the one before those that ended at once.
const CodeState* RetiredCode::of_width_at(unsigned width, std::uint64_t address, TimeNs time,
                                          std::size_t& looks) const {
  const std::uint64_t lowest = lowest_base(address, width);
  const auto behind = [&](std::uint64_t base, TimeNs loaded) {
    return places_.lower_bound({width, base, loaded, nullptr});
  };
  for (auto next = behind(address, time + 1); next != places_.begin() && looks > 0; --looks) {
    const auto each = std::prev(next);
    const auto& [place, entry] = *each;
    if (place.width != width || place.base < lowest) break;
    if (place.loaded > time) {
      next = behind(place.base, time + 1);
    } else if (place.code->end > address && entry->first > time) {
      return place.code;
    } else {
      next = entry->first > place.loaded ? behind(place.base, kTimeMin) : each;
    }
  }
  return nullptr;
}

}  // namespace tailor::process
