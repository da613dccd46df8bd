// What `tailor doctor` finds about stacks that were unwound.
#pragma once

#include <vector>

#include "daemon/query/load/accounting.h"
#include "viewer/cli/finding.h"

namespace tailor::cli {

// One finding for each reason why stacks have no begin, the most frequent first. Reasons that concern less
// than a hundredth of the samples are left out; if no other is there, the only finding says that it is fine.
// None where no stack was unwound.
std::vector<Finding> look_at_stacks(const query::Accounting& account);

}  // namespace tailor::cli
