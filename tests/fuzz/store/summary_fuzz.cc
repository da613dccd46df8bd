// Summaries: a whole file where the first byte is odd, else the payload of a block whose checksum fits, of
// either version. What can be read says the same when it was written and read again, and bounding it or
// making days of its hours changes no total.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/store/block.h"
#include "daemon/store/summary_codec.h"

namespace {

using tailor::store::Summary;

void check(bool holds) {
  if (!holds) std::abort();
}

tailor::store::CostSum total_of(const Summary& summary) {
  tailor::store::CostSum sum;
  for (const auto& [key, cost] : summary.costs) sum.add(cost);
  return sum;
}

tailor::store::RunSum runs_of(const Summary& summary) {
  tailor::store::RunSum sum;
  for (const auto& [key, runs] : summary.runs) add(sum, runs);
  return sum;
}

// Counts are the same, and times and costs are of no more executions than there are.
void check_runs(const Summary& summary, const tailor::store::RunSum& same) {
  const tailor::store::RunSum sum = runs_of(summary);
  check(sum.executions == same.executions && sum.failed == same.failed && sum.untimed == same.untimed &&
        sum.not_drawn == same.not_drawn);
  check(sum.elapsed_sum == same.elapsed_sum && sum.elapsed_min == same.elapsed_min &&
        sum.elapsed_max == same.elapsed_max && sum.rows == same.rows);
  check(sum.untimed <= sum.executions && sum.elapsed.count() <= sum.timed());
  check(sum.not_drawn <= sum.executions && sum.sampled() == sum.executions - sum.not_drawn);
}

std::string as_file(std::string_view payload, std::uint16_t version) {
  namespace store = tailor::store;
  store::FileHeader head{store::FileKind::kSummary};
  head.version_major = version;
  const auto header = store::encode(head);
  std::string file(reinterpret_cast<const char*>(header.data()), header.size());
  file += store::make_block(store::BlockType::kSummary, 0, payload);
  return file + store::make_block(store::BlockType::kEnd, 1, "");
}

void look_at(const Summary& summary) {
  auto bytes = tailor::store::encode(summary);
  check(bytes.ok());
  tailor::store::MemoryInput input{std::string_view(*bytes)};
  const auto again = tailor::store::decode_summary(input);
  check(again.ok());
  check(again->costs.size() == summary.costs.size() && again->runs.size() == summary.runs.size());
  check(again->first == summary.first && again->last == summary.last);
  check(total_of(*again) == total_of(summary));
  const tailor::store::RunSum runs = runs_of(summary);
  check_runs(*again, runs);
  check_runs(tailor::store::bounded(summary, {1, 1}), runs);
  check(total_of(tailor::store::bounded(summary, {1, 1})) == total_of(summary));
  Summary days = summary;
  tailor::store::roll_up(days, INT64_MAX);
  check(total_of(days) == total_of(summary));
  check_runs(days, runs);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::uint16_t version =
      data[0] % 4 == 0 ? tailor::store::kSummaryVersionMajor : tailor::store::kVersionMajor;
  const std::string file = data[0] % 2 == 1 ? std::string(rest) : as_file(rest, version);
  tailor::store::MemoryInput input{std::string_view(file)};
  if (const auto summary = tailor::store::decode_summary(input)) look_at(*summary);
  return 0;
}
