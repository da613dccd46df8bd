// Generates the code of a pipeline as a data-centric query compiler does: scan, filter, expression, hash join
// and aggregation fused into one loop. The shape of the expressions follows from a seed.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/llvm/query_module.h"

namespace tailor::jit {

// Tasks of the plan that build_synthetic_query expects, in the order of their ids, 1 to 7.
inline constexpr const char* kSyntheticTasks[] = {"scan", "filter", "map", "probe", "group", "sum", "emit"};

// Adds operators and tasks.
void add_synthetic_plan(tagging::DictionaryBuilder& plan);

// Defines `void name(context, begin, end)`. The context is an array of pointers: six columns of 64-bit
// numbers, a hash directory of 1024 chains of {next, key, value}, and a table for synthetic_group. Calls the
// shared functions `ptr synthetic_group(ptr table, i64 key)` and `void synthetic_emit(i64, i64)`.
void build_synthetic_query(QueryModule& module, const std::string& name, unsigned seed);

// Data on which such a pipeline runs: about half of the tuples find join partners.
class SyntheticData {
 public:
  explicit SyntheticData(std::size_t tuples);
  SyntheticData(const SyntheticData&) = delete;
  SyntheticData& operator=(const SyntheticData&) = delete;

  const void* const* context() const { return context_; }
  std::int64_t tuples() const { return static_cast<std::int64_t>(columns_[0].size()); }

 private:
  struct Entry {
    const Entry* next;
    std::int64_t key, value;
  };

  std::vector<std::int64_t> columns_[6];
  std::vector<Entry> entries_;
  const Entry* directory_[1024] = {};
  std::int64_t groups_[256 * 4] = {};
  const void* context_[8] = {};
};

}  // namespace tailor::jit
