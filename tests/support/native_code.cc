#include "tests/support/native_code.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace tailor {
namespace {

// x86 memory operands: base, scale, index, displacement, segment.
constexpr unsigned kMemoryOperands = 5;

// How LLVM wants the target named.
#if LLVM_VERSION_MAJOR >= 22
using TargetName = llvm::Triple;
#else
using TargetName = std::string;
#endif

class Decoder {
 public:
  Decoder() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetDisassembler();
    const TargetName triple(llvm::sys::getDefaultTargetTriple());
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (target == nullptr) fail(error.c_str());
    registers_.reset(target->createMCRegInfo(triple));
    instructions_.reset(target->createMCInstrInfo());
    assembler_.reset(target->createMCAsmInfo(*registers_, triple, llvm::MCTargetOptions()));
    // The processor does not matter: what is encoded is decoded.
    target_.reset(target->createMCSubtargetInfo(triple, "", ""));
    context_ = std::make_unique<llvm::MCContext>(llvm::Triple(triple), assembler_.get(), registers_.get(),
                                                 target_.get());
    decoder_.reset(target->createMCDisassembler(*target_, *context_));
    for (unsigned r = 1; r < registers_->getNumRegs(); ++r) numbers_[registers_->getName(r)] = r;
  }

  std::vector<NativeInstruction> run(const std::string& code) {
    std::vector<NativeInstruction> out;
    llvm::ArrayRef<std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(code.data()), code.size());
    for (std::uint64_t at = 0; at < bytes.size();) {
      llvm::MCInst decoded;
      std::uint64_t size = 0;
      if (decoder_->getInstruction(decoded, size, bytes.drop_front(at), at, llvm::nulls()) !=
          llvm::MCDisassembler::Success) {
        fail("bytes that are no instruction");
      }
      out.push_back(describe(decoded));
      if (out.back().is_branch && decoded.getNumOperands() > 0 && decoded.getOperand(0).isImm())
        out.back().target = static_cast<std::int64_t>(at + size) + decoded.getOperand(0).getImm();
      out.back().offset = static_cast<std::uint32_t>(at);
      out.back().size = static_cast<std::uint32_t>(size);
      at += size;
    }
    return out;
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "taking code apart: %s\n", what);
    std::abort();
  }

  void add(std::vector<Place>& places, unsigned reg) const {
    if (reg == 0 || is(reg, "RSP") || is(reg, "RBP") || is(reg, "RIP") || is(reg, "SSP")) return;
    for (llvm::MCRegUnitIterator unit(reg, registers_.get()); unit.isValid(); ++unit) {
      const auto place = static_cast<Place>(*unit);
      if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    }
  }
  bool is(unsigned reg, const char* name) const { return reg == numbers_.at(name); }

  NativeInstruction describe(const llvm::MCInst& decoded) const {
    const llvm::MCInstrDesc& what = instructions_->get(decoded.getOpcode());
    NativeInstruction out;
    out.text = instructions_->getName(decoded.getOpcode()).str();
    out.is_call = what.isCall();
    out.is_return = what.isReturn();
    out.is_branch = what.isBranch();
    out.is_conditional = what.isConditionalBranch();
    const unsigned operands = decoded.getNumOperands();
    if (operands > 0 && decoded.getOperand(operands - 1).isImm())
      out.immediate = decoded.getOperand(operands - 1).getImm();
    const bool clears = is_clearing(decoded, out.text);
    for (unsigned i = 0; i < decoded.getNumOperands(); ++i) {
      if (i < what.getNumOperands() && what.operands()[i].OperandType == llvm::MCOI::OPERAND_MEMORY) {
        memory(decoded, i, what, out);
        i += kMemoryOperands - 1;
        continue;
      }
      if (!decoded.getOperand(i).isReg()) continue;
      const unsigned reg = decoded.getOperand(i).getReg();
      if (i < what.getNumDefs()) {
        add(out.writes, reg);
        if (is(reg, "R15")) out.writes_r15 = true;
        if (is(reg, "RSP")) out.moves_stack = true;
      } else if (!clears) {
        add(out.reads, reg);
      }
    }
    for (auto reg : what.implicit_defs()) {
      add(out.writes, reg);
      if (is(reg, "RSP") && !out.is_call && !out.is_return) out.moves_stack = true;
    }
    for (auto reg : what.implicit_uses()) add(out.reads, reg);
    out.is_padding = out.text.starts_with("NOOP");
    if (out.is_padding) out.loads = false, out.reads.clear();  // its operands only make it long
    if (out.is_call) {
      for (const char* name : {"RDI", "RSI", "RDX", "RCX", "R8", "R9", "XMM0", "XMM1"})
        add(out.reads, numbers_.at(name));
      for (const char* name : {"RAX", "RDX", "XMM0"}) add(out.writes, numbers_.at(name));
    }
    return out;
  }

  // xor and sub of a register with itself, which read nothing.
  static bool is_clearing(const llvm::MCInst& decoded, const std::string& text) {
    if (text.find("XOR") == std::string::npos && text.find("SUB") == std::string::npos) return false;
    const unsigned n = decoded.getNumOperands();
    return n >= 3 && decoded.getOperand(n - 1).isReg() && decoded.getOperand(n - 2).isReg() &&
           decoded.getOperand(n - 1).getReg() == decoded.getOperand(n - 2).getReg();
  }

  void memory(const llvm::MCInst& decoded, unsigned at, const llvm::MCInstrDesc& what,
              NativeInstruction& out) const {
    const unsigned base = decoded.getOperand(at).getReg(), index = decoded.getOperand(at + 2).getReg();
    add(out.reads, base);
    add(out.reads, index);
    const bool frame = base != 0 && (is(base, "RSP") || is(base, "RBP"));
    const llvm::MCOperand& displacement = decoded.getOperand(at + 3);
    if (frame && index == 0 && displacement.isImm()) {
      const Place slot = kFirstSlot + (is(base, "RSP") ? 0 : kFirstSlot) + displacement.getImm() / 8;
      if (what.mayLoad()) out.reads.push_back(slot);
      if (what.mayStore()) out.writes.push_back(slot);
      return;
    }
    if (base != 0 && is(base, "RIP")) return;
    out.loads = what.mayLoad();
    out.stores = what.mayStore();
  }

  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCAsmInfo> assembler_;
  std::unique_ptr<llvm::MCSubtargetInfo> target_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> decoder_;
  std::map<std::string, unsigned> numbers_;
};

}  // namespace

std::vector<NativeInstruction> take_apart(const std::string& code) {
  static Decoder decoder;
  return decoder.run(code);
}

}  // namespace tailor
