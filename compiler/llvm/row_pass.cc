#include "compiler/llvm/row_pass.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/CodeGen/AsmPrinter.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/IR/Function.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCObjectStreamer.h>
#include <llvm/MC/MCSectionELF.h>

#include <random>

#include "compiler/llvm/compile_options.h"
#include "compiler/llvm/location_repair.h"
#include "compiler/llvm/stopwatch.h"

namespace tailor::jit {
namespace {

void run_trial(LocationRepair& repair, const llvm::MachineFunction& function, tagging::LinkPool& sets,
               RepairTrial& trial, unsigned seed) {
  repair.begin(function);
  std::mt19937 random(seed);
  std::bernoulli_distribution hide(trial.hidden_fraction);
  std::vector<std::pair<std::size_t, tagging::Link>> hidden;
  for (std::size_t i = 0; i < repair.instructions().size(); ++i) {
    const NativeOwner owner = repair.instructions()[i].owner;
    // Nothing makes inline assembly anew, so its location is never lost.
    if (repair.instructions()[i].instruction->isInlineAsm()) continue;
    if (owner.flag != tagging::RowFlag::kExact || !hide(random)) continue;
    hidden.emplace_back(i, owner.link);
    repair.hide(i);
  }
  repair.repair();
  for (const auto& [at, link] : hidden) {
    RepairTrial::Guess& guess = trial.guesses.emplace_back();
    sets.expand(link, guess.recorded);
    sets.expand(repair.instructions()[at].owner.link, guess.inferred);
  }
}

class RowPass final : public llvm::MachineFunctionPass {
 public:
  explicit RowPass(ModuleLineage& lineage)
      : MachineFunctionPass(id_), lineage_(lineage), repair_(lineage.sets) {}

  llvm::StringRef getPassName() const override { return "Tailor rows"; }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    if (RepairTrial* trial = lineage_.trial) {
      for (unsigned i = 0; i < trial->rounds; ++i)
        run_trial(repair_, function, lineage_.sets, *trial, trial->seed + i);
    }
    TickAdd time(lineage_.ticks);
    repair_.begin(function);
    repair_.repair();
    if (lineage_.first == nullptr) lineage_.first = &function.getFunction();
    const NativeOwner* before = nullptr;
    for (const auto& [instruction, owner, own] : repair_.instructions()) {
      if (before == nullptr || *before != owner) lineage_.marks.push_back({instruction, owner});
      before = &owner;
    }
    return false;
  }

 private:
  static char id_;
  ModuleLineage& lineage_;
  LocationRepair repair_;
};

char RowPass::id_ = 0;

class RowEmitter final : public EmissionHandler {
 public:
  RowEmitter(llvm::AsmPrinter& printer, ModuleLineage& lineage)
      : EmissionHandler(printer), printer_(printer), lineage_(lineage) {}

  // A fragment is a stretch of code whose size is known by now; between fragments are jumps and padding,
  // whose size the assembler decides. Where a mark stands in its fragment needs no help of the assembler's.
  void beginInstruction(const llvm::MachineInstr* instruction) override {
    if (next_ == lineage_.marks.size() || lineage_.marks[next_].first != instruction) return;
    NativeMark& mark = lineage_.marks[next_++];
    auto& out = static_cast<llvm::MCObjectStreamer&>(*printer_.OutStreamer);
    const auto bytes = bases_.empty() ? std::nullopt : bytes_since(*bases_.back(), out);
    if (bytes) {
      mark.from_base = static_cast<std::uint32_t>(*bytes);
    } else {
      bases_.push_back(printer_.OutContext.createTempSymbol());
      out.emitLabel(bases_.back());
    }
  }

  void endModule() override {
    if (bases_.empty()) return;
    TickAdd time(lineage_.ticks);
    llvm::MCStreamer& out = *printer_.OutStreamer;
    out.switchSection(printer_.OutContext.getELFSection(kRowSection, llvm::ELF::SHT_PROGBITS, 0));
    const llvm::MCSymbol* first = printer_.getSymbol(lineage_.first);
    for (const llvm::MCSymbol* base : bases_) out.emitAbsoluteSymbolDiff(base, first, 4);
  }

 private:
  llvm::AsmPrinter& printer_;
  ModuleLineage& lineage_;
  std::size_t next_ = 0;                // of the marks
  std::vector<llvm::MCSymbol*> bases_;  // in order
};

}  // namespace

llvm::MachineFunctionPass* create_row_pass(ModuleLineage& lineage) {
  return new RowPass(lineage);
}

std::unique_ptr<EmissionHandler> create_row_emitter(llvm::AsmPrinter& printer, ModuleLineage& lineage) {
  return std::make_unique<RowEmitter>(printer, lineage);
}

}  // namespace tailor::jit
