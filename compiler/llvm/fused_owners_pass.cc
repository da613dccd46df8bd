#include "compiler/llvm/fused_owners_pass.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/IR/Instructions.h>

#include "compiler/llvm/line_code.h"
#include "compiler/llvm/stopwatch.h"

namespace tailor::jit {
namespace {

using tagging::Link;

bool DoesWork(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::BinaryOperator, llvm::LoadInst, llvm::CmpInst, llvm::SelectInst>(instruction);
}

// The instruction that `instruction` can have gone into: its only user, in the same block.
const llvm::Instruction* Absorber(const llvm::Instruction& instruction) {
  if (!instruction.hasOneUse()) return nullptr;
  const auto* user = llvm::cast<llvm::Instruction>(*instruction.user_begin());
  const bool as_address = llvm::getLoadStorePointerOperand(user) == &instruction;
  return user->getParent() == instruction.getParent() && !as_address ? user : nullptr;
}

class FusedOwnersPass final : public llvm::MachineFunctionPass {
 public:
  explicit FusedOwnersPass(ModuleLineage& lineage) : MachineFunctionPass(id_), lineage_(lineage) {}

  llvm::StringRef getPassName() const override { return "Tailor fused owners"; }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    StopwatchAdd time(lineage_.milliseconds);
    llvm::DenseMap<unsigned, llvm::SmallVector<llvm::MachineInstr*, 4>> selected;  // by line
    for (llvm::MachineBasicBlock& block : function) {
      for (llvm::MachineInstr& instruction : block) {
        if (const llvm::DebugLoc& location = instruction.getDebugLoc()) {
          selected[location.getLine()].push_back(&instruction);
        }
      }
    }
    llvm::DenseMap<const llvm::Instruction*, Link> absorbed;
    for (const llvm::BasicBlock& block : function.getFunction()) {
      for (const llvm::Instruction& instruction : block) Visit(instruction, selected, absorbed);
    }
    for (llvm::MachineBasicBlock& block : function) {
      for (llvm::MachineInstr& instruction : block) GiveConstantToUsers(instruction);
    }
    return true;
  }

 private:
  // Instructions come in the order of the block, so what went into `instruction` has been seen.
  void Visit(const llvm::Instruction& instruction,
             const llvm::DenseMap<unsigned, llvm::SmallVector<llvm::MachineInstr*, 4>>& selected,
             llvm::DenseMap<const llvm::Instruction*, Link>& absorbed) {
    const llvm::DebugLoc& location = instruction.getDebugLoc();
    if (!location) return;
    const Link parts = absorbed.lookup(&instruction);
    auto it = selected.find(location.getLine());
    if (it == selected.end()) {
      const llvm::Instruction* into = DoesWork(instruction) ? Absorber(instruction) : nullptr;
      if (into == nullptr) return;
      Link& link = absorbed[into];
      link = lineage_.sets.Union(link, lineage_.sets.Union(parts, LineageOf(location).link));
      return;
    }
    if (parts.none()) return;
    const bool memory = llvm::isa<llvm::StoreInst>(instruction);
    for (llvm::MachineInstr* machine : it->second) {
      if ((memory && !machine->mayStore()) || LineageOf(machine->getDebugLoc()).repaired) continue;
      Link both = lineage_.sets.Union(parts, LineageOf(machine->getDebugLoc()).link);
      machine->setDebugLoc(LocationOf({both, false}, llvm::cast<llvm::DILocalScope>(location.getScope()),
                                      location.getInlinedAt()));
    }
  }

  // A constant is an operand in the IR; selection makes an instruction of it, without a location, that may
  // serve several.
  void GiveConstantToUsers(llvm::MachineInstr& instruction) {
    if (instruction.getDebugLoc() || instruction.getNumExplicitDefs() != 1) return;
    if (!instruction.isMoveImmediate() && !instruction.isRematerializable()) return;
    const llvm::MachineOperand& made = instruction.getOperand(0);
    if (!made.isReg() || !made.getReg().isVirtual()) return;
    Link owners;
    const llvm::DebugLoc* location = nullptr;
    for (const llvm::MachineInstr& user :
         instruction.getMF()->getRegInfo().use_nodbg_instructions(made.getReg())) {
      const Lineage lineage = LineageOf(user.getDebugLoc());
      if (lineage.link.none() || lineage.repaired) return;
      owners = lineage_.sets.Union(owners, lineage.link);
      location = &user.getDebugLoc();
    }
    if (location == nullptr) return;
    instruction.setDebugLoc(LocationOf({owners, false}, llvm::cast<llvm::DILocalScope>(location->getScope()),
                                       location->getInlinedAt()));
  }

  static char id_;
  ModuleLineage& lineage_;
};

char FusedOwnersPass::id_ = 0;

}  // namespace

llvm::MachineFunctionPass* CreateFusedOwnersPass(ModuleLineage& lineage) {
  return new FusedOwnersPass(lineage);
}

}  // namespace tailor::jit
