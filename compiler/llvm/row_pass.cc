#include "compiler/llvm/row_pass.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/CodeGen/AsmPrinter.h>
#include <llvm/CodeGen/AsmPrinterHandler.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/IR/Function.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCSectionELF.h>
#include <llvm/MC/MCStreamer.h>

#include <random>

#include "compiler/llvm/jit.h"
#include "compiler/llvm/llvm_api.h"
#include "compiler/llvm/location_repair.h"
#include "compiler/llvm/stopwatch.h"

namespace tailor::jit {
namespace {

void RunTrial(const llvm::MachineFunction& function, tagging::LinkPool& sets, RepairTrial& trial,
              unsigned seed) {
  LocationRepair repair(function, sets);
  std::mt19937 random(seed);
  std::bernoulli_distribution hide(trial.hidden_fraction);
  std::vector<std::pair<std::size_t, tagging::Link>> hidden;
  for (std::size_t i = 0; i < repair.instructions().size(); ++i) {
    const NativeOwner owner = repair.instructions()[i].owner;
    // Nothing makes inline assembly anew, so its location is never lost.
    if (repair.instructions()[i].instruction->isInlineAsm()) continue;
    if (owner.flag != tagging::RowFlag::kExact || !hide(random)) continue;
    hidden.emplace_back(i, owner.link);
    repair.Hide(i);
  }
  repair.Repair();
  for (const auto& [at, link] : hidden) {
    RepairTrial::Guess& guess = trial.guesses.emplace_back();
    sets.Expand(link, guess.recorded);
    sets.Expand(repair.instructions()[at].owner.link, guess.inferred);
  }
}

class RowPass final : public llvm::MachineFunctionPass {
 public:
  explicit RowPass(ModuleLineage& lineage) : MachineFunctionPass(id_), lineage_(lineage) {}

  llvm::StringRef getPassName() const override { return "Tailor rows"; }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    if (RepairTrial* trial = lineage_.trial) {
      for (unsigned i = 0; i < trial->rounds; ++i) RunTrial(function, lineage_.sets, *trial, trial->seed + i);
    }
    TickAdd time(lineage_.ticks);
    LocationRepair repair(function, lineage_.sets);
    repair.Repair();
    FunctionMarks& out = lineage_.functions.emplace_back();
    out.function = &function.getFunction();
    for (const auto& [instruction, owner, own] : repair.instructions()) {
      if (!out.marks.empty() && out.marks.back().owner == owner) continue;
      llvm::MCSymbol* label = function.getContext().createTempSymbol();
      const_cast<llvm::MachineInstr*>(instruction)->setPreInstrSymbol(function, label);
      out.marks.push_back({label, owner});
    }
    return false;
  }

 private:
  static char id_;
  ModuleLineage& lineage_;
};

char RowPass::id_ = 0;

class RowEmitter final : public EmissionHandler {
 public:
  RowEmitter(llvm::AsmPrinter& printer, ModuleLineage& lineage) : printer_(printer), lineage_(lineage) {}

  void beginFunction(const llvm::MachineFunction*) override {}
  void endFunction(const llvm::MachineFunction*) override {}

  // A fragment is a stretch of code whose size is known by now; between fragments are jumps and padding,
  // whose size the assembler decides. Where a mark stands in its fragment needs no help of the assembler's.
  void endModule() override {
    if (lineage_.functions.empty()) return;
    TickAdd time(lineage_.ticks);
    llvm::MCStreamer& out = *printer_.OutStreamer;
    out.switchSection(printer_.OutContext.getELFSection(kRowSection, llvm::ELF::SHT_PROGBITS, 0));
    const llvm::MCSymbol* first = printer_.getSymbol(lineage_.functions.front().function);
    const llvm::MCSymbol* base = nullptr;
    for (FunctionMarks& function : lineage_.functions) {
      for (NativeMark& mark : function.marks) {
        const llvm::MCFragment* fragment = mark.symbol->getFragment();
        if (base == nullptr || fragment == nullptr || fragment != base->getFragment()) {
          out.emitAbsoluteSymbolDiff(mark.symbol, first, 4);
          base = mark.symbol;
        } else {
          mark.from_base = static_cast<std::uint32_t>(mark.symbol->getOffset() - base->getOffset());
        }
      }
    }
  }

 private:
  llvm::AsmPrinter& printer_;
  ModuleLineage& lineage_;
};

}  // namespace

llvm::MachineFunctionPass* CreateRowPass(ModuleLineage& lineage) {
  return new RowPass(lineage);
}

std::unique_ptr<llvm::AsmPrinterHandler> CreateRowEmitter(llvm::AsmPrinter& printer, ModuleLineage& lineage) {
  return std::make_unique<RowEmitter>(printer, lineage);
}

}  // namespace tailor::jit
