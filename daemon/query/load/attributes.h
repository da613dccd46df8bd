// What a plan says of a component besides its name and kind.
#pragma once

#include <string>
#include <string_view>

#include "tailor/v1/dictionary.pb.h"

namespace tailor::query {

// Its value, as reports show it.
std::string attribute_text(const v1::Attribute& attribute);

// Whether the attribute of this key is an estimate or a count, which differs from one execution to the next.
bool is_figure(std::string_view key);

}  // namespace tailor::query
