// Executions of a store as a profile: no more of the store is read than the time in which they ran.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "daemon/store/catalogue.h"
#include "proto/base/result.h"

namespace tailor::query {

struct LoadedExecutions {
  Profile profile;
  Selection selection;  // of just these executions
};

// `rows` is not empty and of one recording. The range of `options` is set here. Fails where
// Profile::load_store does.
Result<LoadedExecutions> load_executions(const std::string& directory, const store::Catalogue& catalogue,
                                         std::span<const store::ExecutionRow> rows,
                                         const LoadOptions& options = {});

// The executions of these ids, in their order. Fails, naming it, for an id that the catalogue does not hold,
// and where they are not of one recording.
Result<std::vector<store::ExecutionRow>> find_executions(const store::Catalogue& catalogue,
                                                         std::span<const ExecutionId> ids);

}  // namespace tailor::query
