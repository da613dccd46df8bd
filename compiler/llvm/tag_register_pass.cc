#include "compiler/llvm/tag_register_pass.h"

#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

#include <cstdlib>

#include "compiler/llvm/tag_code.h"

namespace tailor::jit {
namespace {

// The numbers of the target's registers and instructions are in no installed header: find them by name.
struct TargetNames {
  llvm::MCRegister tag_register;
  const llvm::TargetRegisterClass* tag_class;
  unsigned move_immediate;  // 64 bits into a register

  TargetNames(const llvm::TargetSubtargetInfo& target, const char* register_name) {
    const auto& registers = *target.getRegisterInfo();
    for (unsigned r = 1; r < registers.getNumRegs(); ++r) {
      if (llvm::StringRef(registers.getName(r)) == register_name) tag_register = r;
    }
    if (!tag_register.isValid()) std::abort();
    tag_class = registers.getMinimalPhysRegClass(tag_register);
    static const unsigned opcode = find_opcode(*target.getInstrInfo(), "MOV64ri");
    move_immediate = opcode;
  }

  static unsigned find_opcode(const llvm::TargetInstrInfo& instructions, const char* name) {
    for (unsigned i = 0; i < instructions.getNumOpcodes(); ++i) {
      if (instructions.getName(i) == name) return i;
    }
    std::abort();
  }
};

class TagRegisterPass final : public llvm::MachineFunctionPass {
 public:
  TagRegisterPass(TagStrategy strategy, bool always_live,
                  std::function<std::uint64_t(const llvm::MachineInstr&)> tag_of,
                  std::set<std::string>& untagged)
      : MachineFunctionPass(id_),
        strategy_(strategy),
        always_live_(always_live),
        tag_of_(std::move(tag_of)),
        untagged_(untagged) {}

  llvm::StringRef getPassName() const override { return "Tailor tag register"; }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    TargetNames names(function.getSubtarget(), strategy_ == TagStrategy::kSwiftSelf ? "R13" : "R15");
    for (llvm::MachineBasicBlock& block : function) {
      if (strategy_ == TagStrategy::kR15) block.addLiveIn(names.tag_register);
      if (always_live_) end_with_jump(function, block);
      for (llvm::MachineInstr& instruction : llvm::make_early_inc_range(block)) {
        if (strategy_ == TagStrategy::kR15) name_tag_of_assembly(function, instruction, names);
        if (instruction.isCall()) tag_inserted_call(function, instruction, names);
        if (strategy_ == TagStrategy::kR15 && must_see_tag(instruction, names))
          use(function, instruction, names);
      }
    }
    return true;
  }

 private:
  bool must_see_tag(const llvm::MachineInstr& instruction, const TargetNames& names) const {
    if (instruction.isCall() || instruction.isTerminator()) return true;
    return always_live_ && !instruction.isPHI() && !instruction.isMetaInstruction() &&
           !instruction.modifiesRegister(names.tag_register, nullptr);
  }

  // Liveness of registers is known within blocks only: a tag that is written last in a block is kept if the
  // end of the block sees it, and a block that falls through has no instruction for that. Jumps to what
  // follows vanish later.
  static void end_with_jump(llvm::MachineFunction& function, llvm::MachineBasicBlock& block) {
    if (block.succ_size() != 1 || (*block.succ_begin())->isEHPad()) return;
    if (block.getFirstTerminator() != block.end()) return;
    function.getSubtarget().getInstrInfo()->insertBranch(block, *block.succ_begin(), nullptr, {},
                                                         llvm::DebugLoc());
  }

  // A register that is written is saved and restored by the function, also for exceptions that pass it.
  static void name_tag_of_assembly(llvm::MachineFunction& function, llvm::MachineInstr& instruction,
                                   const TargetNames& names) {
    if (!instruction.isInlineAsm() || !instruction.getOperand(0).isSymbol()) return;
    const llvm::StringRef text = instruction.getOperand(0).getSymbolName();
    const bool writes = text == kWriteImmediateAssembly || text == kWriteAssembly;
    if (!writes && text != kReadAssembly) return;
    instruction.addOperand(function,
                           llvm::MachineOperand::CreateReg(names.tag_register, writes, /*isImp=*/true));
  }

  static void use(llvm::MachineFunction& function, llvm::MachineInstr& instruction,
                  const TargetNames& names) {
    instruction.addOperand(function, llvm::MachineOperand::CreateReg(names.tag_register, /*isDef=*/false,
                                                                     /*isImp=*/true));
  }

  void note_call(const llvm::GlobalValue& callee) {
    const auto* function = llvm::dyn_cast<llvm::Function>(&callee);
    if (function == nullptr || !function->isDeclaration() || function->hasFnAttribute(kSharedAttribute))
      return;
    untagged_.insert(function->getName().str());
  }

  // Calls of the front end name a function of the module; those of instruction selection name a bare symbol.
  void tag_inserted_call(llvm::MachineFunction& function, llvm::MachineInstr& call,
                         const TargetNames& names) {
    if (call.getNumOperands() == 0) return;
    const llvm::MachineOperand& callee = call.getOperand(0);
    if (callee.isGlobal()) note_call(*callee.getGlobal());
    if (!callee.isSymbol()) return;
    const std::uint64_t tag = tag_of_(call);
    if (tag == 0) {
      untagged_.insert(callee.getSymbolName());
      return;
    }
    llvm::MachineBasicBlock& block = *call.getParent();
    const auto& instructions = *function.getSubtarget().getInstrInfo();
    const llvm::DebugLoc location = call.getDebugLoc();
    llvm::Register before;
    if (strategy_ == TagStrategy::kR15) {
      before = function.getRegInfo().createVirtualRegister(names.tag_class);
      llvm::BuildMI(block, call, location, instructions.get(llvm::TargetOpcode::COPY), before)
          .addReg(names.tag_register);
    }
    llvm::BuildMI(block, call, location, instructions.get(names.move_immediate), names.tag_register)
        .addImm(static_cast<std::int64_t>(tag));
    if (strategy_ == TagStrategy::kSwiftSelf) {
      use(function, call, names);
      return;
    }
    llvm::BuildMI(block, std::next(call.getIterator()), location, instructions.get(llvm::TargetOpcode::COPY),
                  names.tag_register)
        .addReg(before);
  }

  static char id_;
  TagStrategy strategy_;
  bool always_live_;
  std::function<std::uint64_t(const llvm::MachineInstr&)> tag_of_;
  std::set<std::string>& untagged_;
};

char TagRegisterPass::id_ = 0;

}  // namespace

llvm::MachineFunctionPass* create_tag_register_pass(
    TagStrategy strategy, bool always_live, std::function<std::uint64_t(const llvm::MachineInstr&)> tag_of,
    std::set<std::string>& untagged) {
  return new TagRegisterPass(strategy, always_live, std::move(tag_of), untagged);
}

}  // namespace tailor::jit
