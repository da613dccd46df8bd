#include "compiler/llvm/loop_code.h"

#include <llvm/CodeGen/AsmPrinter.h>
#include <llvm/CodeGen/MachineDominators.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineInstr.h>
#include <llvm/CodeGen/MachineLoopInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/TargetRegistry.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "compiler/llvm/llvm_api.h"
#include "proto/base/errors.h"

namespace tailor::jit {
namespace {

using ModuleCode = std::map<std::string, FunctionCode>;

// The last machine pass: notes blocks, and the loops that they are in.
class LoopPass final : public llvm::MachineFunctionPass {
 public:
  explicit LoopPass(ModuleCode& out) : MachineFunctionPass(id_), out_(out) {}

  llvm::StringRef getPassName() const override { return "Tailor loops"; }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    FunctionCode& code = out_[function.getName().str()];
    code.blocks.resize(function.getNumBlockIDs());
    llvm::MachineDominatorTree dominators(function);
    const llvm::MachineLoopInfo info(dominators);
    std::map<const llvm::MachineLoop*, std::size_t> numbers;
    for (const llvm::MachineBasicBlock& block : function) {
      CodeBlock& noted = code.blocks[static_cast<std::size_t>(block.getNumber())];
      noted.loop = number_of(info.getLoopFor(&block), numbers, code);
      for (const llvm::MachineBasicBlock* next : block.successors())
        noted.successors.push_back(static_cast<std::size_t>(next->getNumber()));
    }
    return false;
  }

 private:
  static std::size_t number_of(const llvm::MachineLoop* loop,
                               std::map<const llvm::MachineLoop*, std::size_t>& numbers, FunctionCode& code) {
    if (loop == nullptr) return kNoLoop;
    const auto found = numbers.find(loop);
    if (found != numbers.end()) return found->second;
    CodeLoop made;
    made.parent = number_of(loop->getParentLoop(), numbers, code);
    made.header = static_cast<std::size_t>(loop->getHeader()->getNumber());
    const llvm::BasicBlock* origin = loop->getHeader()->getBasicBlock();
    if (origin != nullptr) made.name = origin->getName().str();
    numbers[loop] = code.loops.size();
    code.loops.push_back(std::move(made));
    return code.loops.size() - 1;
  }

  static char id_;
  ModuleCode& out_;
};

char LoopPass::id_ = 0;

// Where the instructions go that are emitted now.
struct EmittedBlock {
  std::vector<llvm::MCInst>* code = nullptr;
};

class BlockFollower final : public EmissionHandler {
 public:
  BlockFollower(llvm::AsmPrinter& printer, ModuleCode& out, EmittedBlock& now)
      : EmissionHandler(printer), out_(out), now_(now) {}

  void beginInstruction(const llvm::MachineInstr* instruction) override {
    const llvm::MachineBasicBlock& block = *instruction->getParent();
    FunctionCode& code = out_[block.getParent()->getName().str()];
    now_.code = &code.blocks.at(static_cast<std::size_t>(block.getNumber())).code;
  }
  void endModule() override {}

 private:
  ModuleCode& out_;
  EmittedBlock& now_;
};

// Keeps instructions, and writes nothing.
class InstructionKeeper final : public llvm::MCStreamer {
 public:
  InstructionKeeper(llvm::MCContext& context, EmittedBlock& now) : MCStreamer(context), now_(now) {
    new llvm::MCTargetStreamer(*this);  // gives itself to this streamer, which owns it
  }

  bool emitSymbolAttribute(llvm::MCSymbol*, llvm::MCSymbolAttr) override { return true; }
  void emitCommonSymbol(llvm::MCSymbol*, std::uint64_t, llvm::Align) override {}
  void emitZerofill(llvm::MCSection*, llvm::MCSymbol*, std::uint64_t, llvm::Align, llvm::SMLoc) override {}
  void emitInstruction(const llvm::MCInst& instruction, const llvm::MCSubtargetInfo&) override {
    if (now_.code != nullptr) now_.code->push_back(instruction);
  }

 private:
  EmittedBlock& now_;
};

}  // namespace

Status with_loop_code(llvm::Module& module, llvm::TargetMachine& target,
                      const std::function<void(const ModuleCode&)>& use) {
  auto& llvm_target = static_cast<TargetMachineImpl&>(target);
  ModuleCode out;
  EmittedBlock now;
  llvm::legacy::PassManager passes;
  auto* machine_info = new llvm::MachineModuleInfoWrapperPass(&llvm_target);
  llvm::TargetPassConfig* config = llvm_target.createPassConfig(passes);
  config->setDisableVerify(true);
  passes.add(config);
  passes.add(machine_info);
  if (config->addISelPasses()) return internal("this target has no instruction selection");
  config->addMachinePasses();
  passes.add(new LoopPass(out));
  config->setInitialized();
  auto keeper = std::make_unique<InstructionKeeper>(machine_info->getMMI().getContext(), now);
  auto* printer =
      static_cast<llvm::AsmPrinter*>(target.getTarget().createAsmPrinter(target, std::move(keeper)));
  if (printer == nullptr) return internal("this target has no assembly printer");
  add_handler(*printer, std::make_unique<BlockFollower>(*printer, out, now));
  passes.add(printer);
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  // Operands of the instructions are in memory of the passes.
  use(out);
  return Ok{};
}

}  // namespace tailor::jit
