// Short runs that an engine added up in one execution.
#pragma once

#include <memory>
#include <utility>

#include "daemon/profile/added_runs.h"

namespace tailor::test {

// 990 runs of 1 ms and 10 of 50 ms, of which 3 failed.
inline std::shared_ptr<const profile::AddedRuns> thousand_runs() {
  profile::AddedRuns out;
  out.runs = 1000;
  out.failed = 3;
  out.elapsed_sum = 990 * 1'000'000 + 10 * 50'000'000;
  out.elapsed_min = 1'000'000;
  out.elapsed_max = 50'000'000;
  out.buckets = {{144, 990}, {185, 10}};
  return std::make_shared<const profile::AddedRuns>(std::move(out));
}

}  // namespace tailor::test
