// One kind of error for names of things that are not there: it lists what there is.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "proto/base/result.h"

namespace tailor::query {

// `there is no level "x"; there are: ir, operator, task`. `known` is a range of strings, in the order to be
// shown.
template <typename Names>
Error no_such(std::string_view what, std::string_view name, const Names& known) {
  if (std::begin(known) == std::end(known))
    return invalid(fmt::format("there is no {} \"{}\"; there is none at all", what, name));
  return invalid(fmt::format("there is no {} \"{}\"; there are: {}", what, name, fmt::join(known, ", ")));
}

}  // namespace tailor::query
