#include "compiler/llvm/cycle_model.h"

#include <fmt/format.h>
#include <llvm/MC/MCSchedule.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/MCA/Context.h>
#include <llvm/MCA/SourceMgr.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tailor::jit {
namespace {

// Instructions of the shorter one of two simulations. The longer one has three times as many.
constexpr std::size_t kSimulated = 4'000;
constexpr std::size_t kMostPasses = 200;
constexpr unsigned kCallLatency = 100;  // LLVM wants one; there are no calls

}  // namespace

CycleModel::CycleModel(const llvm::TargetMachine& target)
    : target_(target),
      analysis_(target.getTarget().createMCInstrAnalysis(target.getMCInstrInfo())),
      instruments_(*target.getMCSubtargetInfo(), *target.getMCInstrInfo()) {
  if (!target.getMCSubtargetInfo()->getSchedModel().hasInstrSchedModel()) return;
  builder_.emplace(*target.getMCSubtargetInfo(), *target.getMCInstrInfo(), *target.getMCRegisterInfo(),
                   analysis_.get(), instruments_, kCallLatency);
}

Result<double> CycleModel::cycles_of(std::span<const llvm::MCInst* const> pass) {
  if (!builder_)
    return unavailable(fmt::format("LLVM has no model of the CPU {}", target_.getTargetCPU().str()));
  const llvm::SmallVector<llvm::mca::Instrument*> no_instruments;
  Instructions instructions;
  for (const llvm::MCInst* each : pass) {
    auto made = builder_->createInstruction(*each, no_instruments);
    if (!made) {
      return unavailable(fmt::format("LLVM's model of the CPU {} lacks an instruction of it: {}",
                                     target_.getTargetCPU().str(), llvm::toString(made.takeError())));
    }
    instructions.push_back(std::move(*made));
  }
  const auto passes =
      static_cast<unsigned>(std::clamp<std::size_t>(kSimulated / instructions.size(), 2, kMostPasses));
  // What the first passes take longer, and what is left in the units at the end, is in both.
  const auto some = simulate(instructions, passes);
  if (!some.ok()) return some.error();
  const auto more = simulate(instructions, 3 * passes);
  if (!more.ok()) return more.error();
  return (*more - *some) / (2.0 * passes);
}

Result<double> CycleModel::simulate(const Instructions& pass, unsigned passes) const {
  const llvm::MCSubtargetInfo& subtarget = *target_.getMCSubtargetInfo();
  llvm::mca::CircularSourceMgr source(pass, passes);
  llvm::mca::CustomBehaviour behaviour(subtarget, source, *target_.getMCInstrInfo());
  const llvm::mca::PipelineOptions options(0, 0, 0, 0, 0, 0, /*NoAlias=*/true);  // 0: as the model says
  llvm::mca::Context context(*target_.getMCRegisterInfo(), subtarget);
  const auto pipeline = subtarget.getSchedModel().isOutOfOrder()
                            ? context.createDefaultPipeline(options, source, behaviour)
                            : context.createInOrderPipeline(options, source, behaviour);
  auto cycles = pipeline->run();
  if (!cycles) return unavailable("LLVM's model of the CPU stopped: " + llvm::toString(cycles.takeError()));
  return static_cast<double>(*cycles);
}

}  // namespace tailor::jit
