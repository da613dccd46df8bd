// Runs of one query that an engine added up in one execution, because each of them is short. The record is
// one, and each run counts as an execution (tailor.v1.AddedRuns).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/profile/records.h"
#include "proto/base/result.h"
#include "tailor/v1/registration.pb.h"

namespace tailor::profile {

// The number of buckets that all times of 64 bits have. A time of bucket n is from 1.1^n ns up to 1.1^(n+1)
// ns (store/elapsed_buckets.h).
inline constexpr std::uint32_t kMostElapsedBuckets = 470;

// The label by which an engine says already at the begin that it will add up runs, as <tailor/agent.h> has
// it.
inline constexpr std::string_view kRunsLabel = "runs";
inline constexpr std::string_view kRunsLabelValue = "short runs of this plan, added up";

struct AddedRuns {
  std::uint64_t runs = 0, failed = 0;                               // that ended; of them, with an error
  std::uint64_t elapsed_sum = 0, elapsed_min = 0, elapsed_max = 0;  // ns
  // How many runs took how long: buckets, which rise, and their runs. All runs are in them.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> buckets;
  bool operator==(const AddedRuns&) const = default;
};

// Takes any message. Invalid where its numbers contradict each other: a part of them would be wrong sums.
Result<AddedRuns> decode_added_runs(const v1::AddedRuns& in);
void encode_added_runs(const AddedRuns& in, v1::AddedRuns& out);

// Whether the record stands for runs that are added up. While it runs, its label says so.
bool adds_up_runs(const ExecutionRecord& execution);
// Whether it adds up runs and has not said how many: it runs still, or is_untimed().
bool has_unknown_runs(const ExecutionRecord& execution);
// Whether it adds up runs and ended without saying how many: its engine's agent is old or died, or what it
// said was refused. It counts as one execution, and how long that took is not known: its own time has many
// runs, and the pauses between them.
bool is_untimed(const ExecutionRecord& execution);
// Whether the store added up the runs, of which none had a sample (store/unsampled_executions.h): an engine
// that adds up runs says so in a label.
bool is_sum_of_unsampled(const ExecutionRecord& execution);
// How many executions the record is: one, unless it ended and says more. 0: none of its runs ended.
std::uint64_t runs_of(const ExecutionRecord& execution);
// How many of them failed.
std::uint64_t failed_runs_of(const ExecutionRecord& execution);

// Bytes of memory that they take.
std::size_t bytes_of(const AddedRuns& runs);

// Elapsed times of the runs of a record that ended; ns. All 0 where no run ended, and where is_untimed().
struct RunTimes {
  std::uint64_t sum = 0, shortest = 0, longest = 0;
};
RunTimes run_times_of(const ExecutionRecord& execution);

}  // namespace tailor::profile
