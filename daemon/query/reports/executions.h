// Executions of a store as a profile: no more of the store is read than the times in which they ran.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/load/recording_chain.h"
#include "daemon/query/sums/costs.h"
#include "daemon/store/catalogue.h"
#include "proto/base/result.h"

namespace tailor::query {

struct LoadedExecutions {
  Profile profile;
  Selection selection;                             // of just these executions
  std::map<Unchained, std::size_t> left_out = {};  // executions, by why
};

// `rows` is not empty. Those of several recordings come as one profile, with the times of the newest. The
// range of `options` is set here. Fails where Profile::load_store does.
Result<LoadedExecutions> load_executions(const std::string& directory, const store::Catalogue& catalogue,
                                         std::span<const store::ExecutionRow> rows,
                                         const LoadOptions& options = {});

// The executions of these ids, in their order. Fails, naming it, for an id that the catalogue does not hold.
Result<std::vector<store::ExecutionRow>> find_executions(const store::Catalogue& catalogue,
                                                         std::span<const ExecutionId> ids);

}  // namespace tailor::query
