#include "agent/jvm/row_table.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace tailor::jvm {
namespace {

constexpr std::size_t kLeastStates = 40, kLeastReturns = 12, kSharePart = 20;  // 1 of 20: 5 %

// The frames of a state as a key.
std::vector<std::pair<std::uint32_t, std::int32_t>> frames_of(const CompiledCode& code,
                                                              const PcState& state) {
  std::vector<std::pair<std::uint32_t, std::int32_t>> key;
  for (std::uint32_t i = 0; i < state.frames; ++i) {
    const InlineFrame& frame = code.frames[state.first_frame + i];
    key.emplace_back(frame.method, frame.line);
  }
  return key;
}

}  // namespace

std::vector<bool> bulk_states(const CompiledCode& code) {
  std::vector<bool> bulk(code.states.size(), false);
  if (code.states.size() < kLeastStates) return bulk;
  // How often a state is come back to: neighbours that say the same are one place.
  std::map<std::vector<std::pair<std::uint32_t, std::int32_t>>, std::vector<std::size_t>> places;
  std::map<std::vector<std::pair<std::uint32_t, std::int32_t>>, std::size_t> returns;
  const std::vector<std::pair<std::uint32_t, std::int32_t>>* before = nullptr;
  for (std::size_t i = 0; i < code.states.size(); ++i) {
    auto [at, fresh] = places.try_emplace(frames_of(code, code.states[i]));
    at->second.push_back(i);
    if (before != &at->first) ++returns[at->first];
    before = &at->first;
  }
  for (const auto& [frames, where] : places) {
    const std::size_t often = returns[frames];
    if (often < kLeastReturns || often * kSharePart <= code.states.size()) continue;
    for (std::size_t i : where) bulk[i] = true;
  }
  return bulk;
}

namespace {

// A state is that of a method's return if it ends between the `pop` and the `ret`, at the poll: the `ret` is
// its own, too. Returns the end of its range.
std::uint32_t with_return(const CompiledCode& code, std::uint32_t end) {
  const auto pop = std::lower_bound(code.pops.begin(), code.pops.end(), end,
                                    [](const FramePop& each, std::uint32_t at) { return each.end <= at; });
  return pop != code.pops.end() && pop->after_pop <= end ? pop->end - 1 : end;
}

}  // namespace

std::vector<CodeRun> runs_of(const CompiledCode& code) {
  std::vector<CodeRun> runs;
  std::vector<bool> bulk(code.states.size(), false);
  if (code.facts.level == 4) bulk = bulk_states(code);
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < code.states.size() && begin < code.size; ++i) {
    const PcState& state = code.states[i];
    if (state.end < begin || state.end >= code.size || state.frames == 0) continue;
    runs.push_back({begin, static_cast<std::uint32_t>(i), true, bulk[i] || !code.detailed});
    begin = with_return(code, state.end) + 1;
  }
  // C2 says nothing of the instructions that take down the frame and return.
  const std::uint32_t returned = code.pops.empty() ? 0 : code.pops.back().end;
  if (begin < returned && !runs.empty()) {
    runs.push_back({begin, runs.back().state, true, true});
    begin = returned;
  }
  if (begin < code.size) runs.push_back({begin, 0, false, false});
  return runs;
}

}  // namespace tailor::jvm
