#include "daemon/profile/added_runs.h"

#include <algorithm>
#include <string>

namespace tailor::profile {
namespace {

Error bad_runs(const char* what) {
  return invalid(std::string("runs that were added up: ") + what);
}

bool has_runs_label(const ExecutionRecord& execution) {
  return std::any_of(execution.labels.begin(), execution.labels.end(), [](const auto& label) {
    return label.first == kRunsLabel && label.second == kRunsLabelValue;
  });
}

// Whether times between the shortest and the longest can have that sum.
bool times_fit(const AddedRuns& runs) {
  if (runs.runs == 0) return runs.elapsed_sum == 0 && runs.elapsed_min == 0 && runs.elapsed_max == 0;
  if (runs.elapsed_min > runs.elapsed_max) return false;
  // One of them took the shortest time, one took the longest.
  using Wide = unsigned __int128;
  const Wide others = runs.runs - 1;
  const Wide least = others * runs.elapsed_min + runs.elapsed_max;
  const Wide most = others * runs.elapsed_max + runs.elapsed_min;
  // An agent says the greatest number where the sum is greater.
  return std::min<Wide>(least, UINT64_MAX) <= runs.elapsed_sum && runs.elapsed_sum <= most;
}

}  // namespace

Result<AddedRuns> decode_added_runs(const v1::AddedRuns& in) {
  AddedRuns out{in.runs(), in.failed(), in.elapsed_sum(), in.elapsed_min(), in.elapsed_max(), {}};
  if (out.failed > out.runs) return bad_runs("more of them failed than there are");
  if (!times_fit(out)) return bad_runs("their elapsed times contradict each other");
  if (in.bucket_size() != in.bucket_runs_size() || in.bucket_size() > static_cast<int>(kMostElapsedBuckets))
    return bad_runs("their buckets are too many, or some have no number of runs");
  out.buckets.reserve(static_cast<std::size_t>(in.bucket_size()));
  std::uint64_t bucket = 0, counted = 0;
  for (int i = 0; i < in.bucket_size(); ++i) {
    const std::uint64_t step = in.bucket(i), count = in.bucket_runs(i);
    bucket += step;
    if ((i > 0 && step == 0) || bucket >= kMostElapsedBuckets) return bad_runs("a bucket cannot be");
    if (count == 0 || count > out.runs - counted) return bad_runs("a bucket has none of them, or too many");
    counted += count;
    out.buckets.emplace_back(static_cast<std::uint32_t>(bucket), count);
  }
  if (counted != out.runs) return bad_runs("some are in no bucket");
  return out;
}

void encode_added_runs(const AddedRuns& in, v1::AddedRuns& out) {
  out.set_runs(in.runs);
  out.set_failed(in.failed);
  out.set_elapsed_sum(in.elapsed_sum);
  out.set_elapsed_min(in.elapsed_min);
  out.set_elapsed_max(in.elapsed_max);
  std::uint32_t before = 0;
  for (const auto& [bucket, count] : in.buckets) {
    out.add_bucket(bucket - before);
    out.add_bucket_runs(count);
    before = bucket;
  }
}

bool adds_up_runs(const ExecutionRecord& execution) {
  return execution.added != nullptr || has_runs_label(execution);
}

bool is_sum_of_unsampled(const ExecutionRecord& execution) {
  return execution.added != nullptr && !has_runs_label(execution);
}

bool has_unknown_runs(const ExecutionRecord& execution) {
  return execution.added == nullptr && adds_up_runs(execution);
}

bool is_untimed(const ExecutionRecord& execution) {
  return execution.end != kTimeMax && has_unknown_runs(execution);
}

std::uint64_t runs_of(const ExecutionRecord& execution) {
  return execution.added != nullptr ? execution.added->runs : 1;
}

std::uint64_t failed_runs_of(const ExecutionRecord& execution) {
  if (execution.added != nullptr) return execution.added->failed;
  return execution.error.empty() ? 0 : 1;
}

std::size_t bytes_of(const AddedRuns& runs) {
  return sizeof(AddedRuns) + runs.buckets.size() * sizeof(runs.buckets.front());
}

RunTimes run_times_of(const ExecutionRecord& execution) {
  if (execution.added != nullptr)
    return {execution.added->elapsed_sum, execution.added->elapsed_min, execution.added->elapsed_max};
  if (execution.end == kTimeMax || is_untimed(execution)) return {};
  const auto elapsed = static_cast<std::uint64_t>(std::max<TimeNs>(0, execution.end - execution.begin));
  return {elapsed, elapsed, elapsed};
}

}  // namespace tailor::profile
