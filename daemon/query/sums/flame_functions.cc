#include "daemon/query/sums/flame_functions.h"

#include <fmt/format.h>

#include <algorithm>

#include "proto/base/utf8.h"

namespace tailor::query {
namespace {

// Of a chain, the innermost; a tree is drawn as deep as this.
constexpr std::size_t kMostFrames = 128;

}  // namespace

FlameStep flame_step_of(const Function& function) {
  FlameStep step{"", "function", shown_name(function), 0};
  if (!function.object.empty() && function.object != step.name) step.name += " (" + function.object + ")";
  step.key = fmt::format("function:{}:{}", function.object, function.name);
  return step;
}

FlameFunctions::FlameFunctions(const Profile& profile, const std::function<bool(const TimedSample&)>& keep)
    : profile_(profile), names_(profile) {
  for (const TimedSample& sample : profile.samples()) {
    if (keep && !keep(sample)) continue;
    Cell& cell = sums_[sample.key][sample.node];
    const auto weight = static_cast<double>(sample.weight);
    ++cell.samples;
    cell.weight += weight;
    cell.weight_squares += weight * weight;
  }
}

void FlameFunctions::for_each(const CellKey& key,
                              const std::function<void(const Cell&, const FlameCode&)>& use) const {
  const auto found = sums_.find(&key);
  if (found == sums_.end()) return;
  for (const auto& [node, cell] : found->second) use(cell, {chain_of(node), address_of(node)});
}

FlameStep FlameFunctions::address_of(std::uint32_t node) const {
  if (node == 0) return {};
  const std::uint32_t place = profile_.functions().nodes[node].place;
  const CodePlace& code = profile_.functions().places[place];
  if (code.address == 0) return {};
  const std::string where = code.kind == CodePlace::Kind::kFile
                                ? replace_non_utf8(profile_.functions().files[code.file].path)
                                : std::to_string(code.process.pid);
  return {fmt::format("address:{}:{:x}", where, code.address), "address",
          place_name(code, names_.at(names_.of_place(place))), 0};
}

std::vector<FlameStep> FlameFunctions::chain_of(std::uint32_t node) const {
  const FunctionSums& sums = profile_.functions();
  std::vector<FlameStep> chain;
  for (; node != 0 && chain.size() < kMostFrames; node = sums.nodes[node].caller) {
    const Function& function = names_.at(names_.of_place(sums.nodes[node].place));
    chain.push_back(flame_step_of(function));
    if (function.kind == Function::Kind::kGenerated) break;
  }
  std::ranges::reverse(chain);
  return chain;
}

}  // namespace tailor::query
