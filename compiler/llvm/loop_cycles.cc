#include "compiler/llvm/loop_cycles.h"

#include <llvm/MC/MCInstrDesc.h>
#include <llvm/MC/MCInstrInfo.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/llvm/cycle_model.h"
#include "compiler/llvm/loop_code.h"
#include "compiler/llvm/loop_ways.h"
#include "compiler/llvm/tuple_loops.h"

namespace tailor::jit {
namespace {

constexpr const char* kNoTupleLoop = "LLVM left no loop that counts tuples";
constexpr const char* kMovesMemory =
    "LLVM copies or fills the memory of all tuples at once, and no model knows what that takes";

// The outermost loops that take the most tuples in one pass: the others do what is left at the end.
std::vector<std::size_t> tuple_loops(const FunctionLoops& known) {
  std::vector<std::size_t> out;
  std::uint64_t step = 0;
  bool has_uncounted = false;
  for (std::size_t i = 0; i < known.loops.size(); ++i) {
    const TupleLoop& loop = known.loops[i];
    if (loop.parent != kNoLoop) continue;
    if (loop.is_unclear) return {};
    if (loop.step == 0) has_uncounted = true;
    if (loop.step == 0 || loop.step < step) continue;
    if (loop.step > step) out.clear();
    step = loop.step;
    out.push_back(i);
  }
  // A loop that takes one tuple is no rest of another only if no other one is there.
  if (step == 1 && has_uncounted) return {};
  return out;
}

class Predictor {
 public:
  explicit Predictor(const llvm::TargetMachine& target) : info_(*target.getMCInstrInfo()), model_(target) {}

  LoopCycles of(const FunctionLoops& known, const FunctionCode& code) {
    if (known.loops.empty() && known.moves_memory) return unknown(kMovesMemory);
    const std::vector<std::size_t> wanted = tuple_loops(known);
    const auto of_code = match(known, code);
    LoopCycles out;
    bool first = true;
    for (const std::size_t loop : wanted) {
      const auto found = std::ranges::find(of_code, loop);
      if (found == of_code.end()) return unknown(kNoTupleLoop);
      std::vector<std::uint64_t> trips;
      for (const std::size_t each : of_code) trips.push_back(each == kNoLoop ? 0 : known.loops[each].trips);
      const auto number = static_cast<std::size_t>(found - of_code.begin());
      const auto tuples = static_cast<double>(known.loops[loop].step);
      std::vector<const llvm::MCInst*> before;
      for (const auto choice : {LoopWays::Choice::kShortest, LoopWays::Choice::kLongest}) {
        LoopWays ways(code, trips, choice);
        auto pass = ways.pass_of(number);
        if (!pass.ok()) return unknown(pass.error().message);
        if (pass->code == before) continue;  // there is one way only
        before = std::move(pass->code);
        PassCosts costs;
        const auto cost = cost_of(number, ways, costs);
        if (!cost.ok()) return unknown(cost.error().message);
        if (cost->is_empty) return unknown(kNoTupleLoop);
        const double each = cost->cycles / tuples;
        // The way with more instructions is not always the slower one.
        out.low = first ? each : std::min(out.low, each);
        out.high = first ? each : std::max(out.high, each);
        out.calls = std::max(out.calls, cost->calls / tuples);
        first = false;
      }
    }
    return first ? unknown(kNoTupleLoop) : out;
  }

  static LoopCycles unknown(std::string why) {
    LoopCycles out;
    out.unknown = std::move(why);
    return out;
  }

 private:
  // Of one pass through a loop, once many were there before.
  struct PassCost {
    double cycles = 0, calls = 0;
    bool is_empty = false;  // it has no instructions but calls
  };
  using PassCosts = std::map<std::size_t, PassCost>;

  // `costs` has those that are known of the ways. A pass that is left out takes what one takes in a loop that
  // goes on.
  Result<PassCost> cost_of(std::size_t loop, LoopWays& ways, PassCosts& costs) {
    if (const auto known = costs.find(loop); known != costs.end()) return known->second;
    auto pass = ways.pass_of(loop);
    if (!pass.ok()) return pass.error();
    PassCost out;
    out.calls = static_cast<double>(take_out_calls(pass->code));
    out.is_empty = pass->code.empty();
    if (!out.is_empty) {
      const auto cycles = model_.cycles_of(pass->code);
      if (!cycles.ok()) return cycles.error();
      out.cycles = *cycles;
    }
    for (const auto& [inner, passes] : pass->missing) {
      const auto cost = cost_of(inner, ways, costs);
      if (!cost.ok()) return cost.error();
      out.cycles += passes * cost->cycles;
      out.calls += passes * cost->calls;
    }
    costs[loop] = out;
    return out;
  }

  // For each loop of the code, the loop of the IR that it is made of. kNoLoop: none, or not one alone, or it
  // lies in another loop than there.
  static std::vector<std::size_t> match(const FunctionLoops& known, const FunctionCode& code) {
    std::vector<std::size_t> out;
    for (const CodeLoop& loop : code.loops) {
      const auto found = known.loop_of_block.find(loop.name);
      std::size_t number = found == known.loop_of_block.end() ? kNoLoop : found->second;
      const std::size_t around = loop.parent == kNoLoop ? kNoLoop : out[loop.parent];
      if (number != kNoLoop && known.loops[number].parent != around) number = kNoLoop;
      const auto same = std::ranges::find(out, number);
      if (number != kNoLoop && same != out.end()) *same = number = kNoLoop;
      out.push_back(number);
    }
    return out;
  }

  // How many calls were among the instructions.
  std::size_t take_out_calls(std::vector<const llvm::MCInst*>& way) const {
    return std::erase_if(way,
                         [&](const llvm::MCInst* each) { return info_.get(each->getOpcode()).isCall(); });
  }

  const llvm::MCInstrInfo& info_;
  CycleModel model_;
};

}  // namespace

Result<std::map<std::string, LoopCycles>> predict_loops(llvm::Module& module, llvm::TargetMachine& target,
                                                        llvm::FunctionAnalysisManager& analyses) {
  const auto known = name_loops(module, analyses);
  analyses.clear();  // they are of blocks that are about to change
  std::map<std::string, LoopCycles> out;
  Status compiled = with_loop_code(module, target, [&](const std::map<std::string, FunctionCode>& code) {
    Predictor predictor(target);
    for (const auto& [name, loops] : known) {
      const auto found = code.find(name);
      out[name] = found == code.end() ? Predictor::unknown(kNoTupleLoop) : predictor.of(loops, found->second);
    }
  });
  if (!compiled.ok()) return compiled.error();
  return out;
}

}  // namespace tailor::jit
