// Summaries: a whole file where the first byte is odd, else the payload of a block whose checksum fits. What
// can be read says the same when it was written and read again, and bounding it changes no total.
#include <cmath>
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

double weight_of(const Summary& summary) {
  double sum = 0;
  for (const auto& [key, cost] : summary.costs) sum += cost.weight;
  return sum;
}

std::string as_file(std::string_view payload) {
  namespace store = tailor::store;
  const auto header = store::encode(store::FileHeader{store::FileKind::kSummary});
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
  const double before = weight_of(summary);
  const double after = weight_of(tailor::store::bounded(summary, {1, 1}));
  check(!std::isfinite(before) || std::fabs(before - after) <= 1e-9 * before);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string file = data[0] % 2 == 1 ? std::string(rest) : as_file(rest);
  tailor::store::MemoryInput input{std::string_view(file)};
  if (const auto summary = tailor::store::decode_summary(input)) look_at(*summary);
  return 0;
}
