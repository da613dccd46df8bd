#include "viewer/cli/runs_of_query.h"

#include <fmt/format.h>

#include <cstddef>

#include "daemon/query/sums/keys.h"
#include "daemon/serve/fingerprint.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

// Executions that are looked at: a store may hold millions.
constexpr std::size_t kMostLookedAt = 500'000;

}  // namespace

serve::Target RunsOfQuery::target() const {
  serve::ExecutionFilter filter;
  filter.fingerprint = fingerprint;
  return runs.target(std::move(filter));
}

std::string RunsOfQuery::text() const {
  const char* which = older ? "the newest" : "all";
  if (runs.executions() != runs.taken())
    return fmt::format(
        "These are {} {} runs of the query. Their engine added up short ones, so that they are {} {}.", which,
        grouped(runs.executions()), grouped(runs.taken()), runs.taken() == 1 ? "execution" : "executions");
  if (runs.taken() == 1)
    return fmt::format("This is {} run of the query.", older ? "the newest" : "the only");
  return fmt::format("These are {} {} runs of the query. {} of them {} samples.", which,
                     grouped(runs.taken()), grouped(runs.sampled()), runs.sampled() == 1 ? "has" : "have");
}

Result<RunsOfQuery> runs_of_query(serve::Service& service, const std::string& fingerprint) {
  RunsOfQuery found;
  found.fingerprint = fingerprint;
  std::size_t looked_at = 0;
  const auto take = [&](const store::ExecutionRow& row) {
    if (++looked_at > kMostLookedAt || found.runs.is_full()) {
      found.older = true;
      return false;
    }
    if (serve::fingerprint_of(row) != fingerprint) return true;
    found.runs.add(row);
    if (found.last_sampled.empty() && row.cost.samples > 0) found.last_sampled = query::hex(row.record.id);
    return true;
  };
  Status read = service.visit(serve::in_order_of_time({}), serve::Access::everything(), Stop(), take);
  if (!read) return read.error();
  found.older = found.older || found.runs.left_out() > 0;
  return found;
}

Result<std::string> newest_query(serve::Service& service) {
  std::string fingerprint;
  std::size_t looked_at = 0;
  const auto take = [&](const store::ExecutionRow& row) {
    if (row.cost.samples > 0) fingerprint = serve::fingerprint_of(row);
    return fingerprint.empty() && ++looked_at < kMostLookedAt;
  };
  Status read = service.visit({}, serve::Access::everything(), Stop(), take);
  if (!read) return read.error();
  return fingerprint;
}

}  // namespace tailor::cli
