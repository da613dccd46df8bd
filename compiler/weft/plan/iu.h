// Information units: the values that flow through a plan (after Moerkotte and Neumann). A scan makes one per
// column it reads, a map one per expression, an aggregation one per aggregate. Operators name the values they
// need by unit; where a unit's value is kept (register, hash table tuple) is the code generator's business.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "compiler/weft/types/type.h"

namespace tailor::weft {

struct Iu {
  std::uint32_t id = 0;  // dense from 0 within a plan
  std::string name;      // for people; not unique
  Type type;             // nullable if it can be null anywhere in the plan (outer joins make it so)
  Range range;           // proven: integers, decimals and dates
  double distinct = 0;   // estimated number of values; 0: not known

  Width width() const { return width_of(type, range); }
};

// Owns the units of a plan; addresses are stable.
class IuPool {
 public:
  Iu* make(std::string name, Type type, Range range) {
    ius_.push_back({static_cast<std::uint32_t>(ius_.size()), std::move(name), type, range, 0});
    return &ius_.back();
  }
  std::size_t size() const { return ius_.size(); }

 private:
  std::deque<Iu> ius_;
};

}  // namespace tailor::weft
