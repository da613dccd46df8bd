// The functions of samples, as steps of a flame graph.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/named_functions.h"

namespace tailor::query {

// A node of the tree, below its parent.
struct FlameStep {
  std::string key, kind, name;
  std::uint32_t id = 0;
};

FlameStep flame_step_of(const Function& function);

// The code of samples that share a call chain.
struct FlameCode {
  std::vector<FlameStep> functions;  // from the outermost in: from the last generated code inwards, else all
  FlameStep address;                 // of the innermost; without a key where none is known
};

class FlameFunctions {
 public:
  // Of the samples that `keep` lets through; empty: of all. `profile` must outlive it, and must have been
  // loaded with LoadOptions::keep_samples and LoadOptions::functions.
  FlameFunctions(const Profile& profile, const std::function<bool(const TimedSample&)>& keep);

  // Calls `use` for each call chain that samples of the cell `key` have, with their sum.
  void for_each(const CellKey& key, const std::function<void(const Cell&, const FlameCode&)>& use) const;

 private:
  std::vector<FlameStep> chain_of(std::uint32_t node) const;
  FlameStep address_of(std::uint32_t node) const;

  const Profile& profile_;
  NamedFunctions names_;
  std::map<const CellKey*, std::map<std::uint32_t, Cell>> sums_;  // by the innermost frame
};

}  // namespace tailor::query
