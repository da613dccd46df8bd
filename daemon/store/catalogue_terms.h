// Words of the catalogue's SQL that its parts share.
#pragma once

#include <string>

#include "proto/base/ids.h"

namespace tailor::store {

// The column `id` of an execution: hexadecimal digits.
std::string id_text(const ExecutionId& id);

// What the records that Catalogue::end_running() ended have in common. An index is used where the condition
// has its words.
std::string killed_condition();

}  // namespace tailor::store
