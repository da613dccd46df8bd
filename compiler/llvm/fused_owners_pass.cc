#include "compiler/llvm/fused_owners_pass.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
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

bool does_work(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::BinaryOperator, llvm::LoadInst, llvm::CmpInst, llvm::SelectInst>(instruction);
}

// The instruction that `instruction` can have gone into: its only user, in the same block.
const llvm::Instruction* absorber(const llvm::Instruction& instruction) {
  if (!instruction.hasOneUse()) return nullptr;
  const auto* user = llvm::cast<llvm::Instruction>(*instruction.user_begin());
  const bool as_address = llvm::getLoadStorePointerOperand(user) == &instruction;
  return user->getParent() == instruction.getParent() && !as_address ? user : nullptr;
}

// What went into an IR instruction that was selected.
struct Fusion {
  Link parts;
  bool stores;  // it is a store
  const llvm::DILocation* location;
};

struct Located {
  llvm::MachineInstr* instruction;
  unsigned line;
};

class FusedOwnersPass final : public llvm::MachineFunctionPass {
 public:
  explicit FusedOwnersPass(ModuleLineage& lineage) : MachineFunctionPass(id_), lineage_(lineage) {}

  llvm::StringRef getPassName() const override { return "Tailor fused owners"; }
  // Only locations change: LLVM need compute nothing anew.
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    TickAdd time(lineage_.ticks);
    llvm::DenseSet<unsigned> selected;  // lines
    llvm::SmallVector<Located, 128> located;
    llvm::SmallVector<llvm::MachineInstr*, 64> without;
    // Neighbours mostly share a location, and reading one is a miss in the cache.
    const llvm::DILocation* last = nullptr;
    unsigned line = 0;
    for (llvm::MachineBasicBlock& block : function) {
      for (llvm::MachineInstr& instruction : block) {
        const llvm::DILocation* location = instruction.getDebugLoc().get();
        if (location == nullptr) {
          without.push_back(&instruction);
          continue;
        }
        if (location != last) {
          last = location;
          line = location->getLine();
          selected.insert(line);
        }
        located.push_back({&instruction, line});
      }
    }
    const FusionMap fusions = find_fusions(function.getFunction(), selected);
    if (!fusions.empty()) {
      for (const Located& each : located) {
        auto it = fusions.find(each.line);
        if (it != fusions.end()) fuse(*each.instruction, it->second);
      }
    }
    for (llvm::MachineInstr* instruction : without) give_constant_to_users(*instruction);
    return true;
  }

 private:
  // By line; copies of an instruction share it.
  using FusionMap = llvm::DenseMap<unsigned, llvm::SmallVector<Fusion, 1>>;

  // Instructions come in the order of the block, so what went into one has been seen before it. Of most
  // nothing did, and they cannot have gone into another: then their location, a miss in the cache, is not
  // looked at.
  FusionMap find_fusions(const llvm::Function& function, const llvm::DenseSet<unsigned>& selected) {
    FusionMap fusions;
    llvm::DenseMap<const llvm::Instruction*, Link> absorbed;
    for (const llvm::BasicBlock& block : function) {
      for (const llvm::Instruction& instruction : block) {
        const Link parts = absorbed.empty() ? Link() : absorbed.lookup(&instruction);
        const llvm::Instruction* into = does_work(instruction) ? absorber(instruction) : nullptr;
        if (parts.none() && into == nullptr) continue;
        const llvm::DebugLoc& location = instruction.getDebugLoc();
        if (!location) continue;
        if (!selected.contains(location.getLine())) {
          if (into == nullptr) continue;
          Link& link = absorbed[into];
          link = lineage_.sets.united(link, lineage_.sets.united(parts, lineage_of(location).link));
        } else if (!parts.none()) {
          fusions[location.getLine()].push_back(
              {parts, llvm::isa<llvm::StoreInst>(instruction), location.get()});
        }
      }
    }
    return fusions;
  }

  void fuse(llvm::MachineInstr& machine, llvm::ArrayRef<Fusion> fusions) {
    if (lineage_of(machine.getDebugLoc()).repaired) return;
    for (const Fusion& fusion : fusions) {
      if (fusion.stores && !machine.mayStore()) continue;
      const Link both = lineage_.sets.united(fusion.parts, lineage_of(machine.getDebugLoc()).link);
      // One IR instruction often became several machine instructions in a row.
      if (both != last_both_ || fusion.location != last_fused_) {
        last_ = location_of({both, false}, fusion.location->getScope(), fusion.location->getInlinedAt());
        last_both_ = both;
        last_fused_ = fusion.location;
      }
      machine.setDebugLoc(last_);
    }
  }

  // A constant is an operand in the IR; selection makes an instruction of it, without a location, that may
  // serve several.
  void give_constant_to_users(llvm::MachineInstr& instruction) {
    if (instruction.getNumExplicitDefs() != 1) return;
    if (!instruction.isMoveImmediate() && !instruction.isRematerializable()) return;
    const llvm::MachineOperand& made = instruction.getOperand(0);
    if (!made.isReg() || !made.getReg().isVirtual()) return;
    Link owners;
    const llvm::DebugLoc* location = nullptr;
    bool one_location = true;
    for (const llvm::MachineInstr& user :
         instruction.getMF()->getRegInfo().use_nodbg_instructions(made.getReg())) {
      if (location != nullptr && user.getDebugLoc() == *location) continue;
      const Lineage lineage = lineage_of(user.getDebugLoc());
      if (lineage.link.none() || lineage.repaired) return;
      owners = lineage_.sets.united(owners, lineage.link);
      one_location = location == nullptr;
      location = &user.getDebugLoc();
    }
    if (location == nullptr) return;
    instruction.setDebugLoc(one_location ? *location
                                         : location_of({owners, false},
                                                       llvm::cast<llvm::DILocalScope>(location->getScope()),
                                                       location->getInlinedAt()));
  }

  static char id_;
  ModuleLineage& lineage_;
  // What fuse() made last, and of what.
  llvm::DebugLoc last_;
  Link last_both_;
  const llvm::DILocation* last_fused_ = nullptr;
};

char FusedOwnersPass::id_ = 0;

}  // namespace

llvm::MachineFunctionPass* create_fused_owners_pass(ModuleLineage& lineage) {
  return new FusedOwnersPass(lineage);
}

}  // namespace tailor::jit
