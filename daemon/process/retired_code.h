// Code objects that have ended, until nobody asks for their time any more.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>

#include "daemon/process/code_state.h"
#include "proto/base/ids.h"

namespace tailor::process {

// By their ends, and by their addresses: thousands may have ended at a time, and what is told late is
// compared with those that lay at its place alone. No two were at one place at one time. Threads may ask
// while none changes it.
class RetiredCode {
 public:
  bool empty() const { return by_end_.empty(); }
  std::size_t size() const { return by_end_.size(); }
  // kTimeMin: there are none.
  TimeNs first_end() const { return empty() ? kTimeMin : by_end_.begin()->first; }
  TimeNs last_end() const { return empty() ? kTimeMin : std::prev(by_end_.end())->first; }

  void add(std::unique_ptr<CodeState> code, TimeNs end);
  // The one that ended first is forgotten. Returns it.
  std::unique_ptr<CodeState> take_first();
  // The one that was at `address` at `time`, else NULL. Where very many lay over it that began at different
  // addresses, it may not be found.
  const CodeState* at(std::uint64_t address, TimeNs time) const;

  struct Found {
    TimeNs ended;
    CodeState* code;
  };
  // It ended at another time.
  void move_end(const Found& found, TimeNs end);
  // Those that lay in a range in part at least, in no order, while `visit` returns true. It changes nothing
  // here.
  template <typename Visit>
  void overlapping(std::uint64_t begin, std::uint64_t end, const Visit& visit) const {
    for (unsigned width = 1; width < of_width_.size(); ++width) {
      if (of_width_[width] == 0) continue;
      for (auto each = places_.lower_bound({width, lowest_base(begin, width), kTimeMin, nullptr});
           each != places_.end(); ++each) {
        if (each->first.width != width || each->first.base >= end) break;
        CodeState& code = *each->second->second;
        if (code.end > begin && !visit(Found{each->second->first, &code})) return;
      }
    }
  }
  template <typename Visit>
  void all(const Visit& visit) {
    for (auto& [end, code] : by_end_) visit(*code);
  }

 private:
  using ByEnd = std::multimap<TimeNs, std::unique_ptr<CodeState>>;
  // Objects of about one size lie side by side: of those at an address, few begin far below it.
  struct Place {
    unsigned width;  // bits of the size
    std::uint64_t base;
    TimeNs loaded;
    const CodeState* code;
    auto operator<=>(const Place&) const = default;
  };
  using Places = std::map<Place, ByEnd::iterator>;
  static Place place_of(const CodeState& code);
  const CodeState* of_width_at(unsigned width, std::uint64_t address, TimeNs time, std::size_t& looks) const;
  // Where an object of this width may begin at least that reaches beyond an address.
  static std::uint64_t lowest_base(std::uint64_t address, unsigned width);

  ByEnd by_end_;
  Places places_;
  std::array<std::size_t, 65> of_width_{};
};

}  // namespace tailor::process
