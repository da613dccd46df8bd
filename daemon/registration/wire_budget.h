// Looks at a message before it is decoded; allocates nothing. Two bytes on the wire can become a sub-message
// of a hundred, so their number is bounded; and the protobuf library would complain of text that is not UTF-8
// on standard error, as often as a peer likes.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <string_view>

#include "proto/base/result.h"

namespace tailor::registration {

// Ok if the bytes are well-formed wire format with at most `max_elements` sub-messages and strings, at any
// depth. Fields that the descriptor does not know are refused as well when they are groups; else they count
// as strings.
Status check_wire_budget(std::string_view bytes, const google::protobuf::Descriptor& type,
                         std::size_t max_elements);

}  // namespace tailor::registration
