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
        auto way = LoopWays(code, trips, choice).pass_of(number);
        if (!way.ok()) return unknown(way.error().message);
        if (*way == before) continue;  // there is one way only
        before = *way;
        const double calls = static_cast<double>(take_out_calls(*way)) / tuples;
        if (way->empty()) return unknown(kNoTupleLoop);
        const auto cycles = model_.cycles_of(*way);
        if (!cycles.ok()) return unknown(cycles.error().message);
        const double each = *cycles / tuples;
        // The way with more instructions is not always the slower one.
        out.low = first ? each : std::min(out.low, each);
        out.high = first ? each : std::max(out.high, each);
        out.calls = std::max(out.calls, calls);
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
