#include "compiler/llvm/instruction_text.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <array>

namespace tailor::jit {
namespace {

// The optional flags of an address computation that is "inbounds", as the instruction keeps them.
constexpr unsigned kInBoundsFlags = LLVM_VERSION_MAJOR >= 19 ? 3 : 1;

llvm::StringRef OpcodeName(unsigned opcode) {
  static const auto kNames = [] {
    std::array<llvm::StringRef, llvm::Instruction::OtherOpsEnd> names;
    for (unsigned i = 0; i < names.size(); ++i) names[i] = llvm::Instruction::getOpcodeName(i);
    return names;
  }();
  return kNames[opcode];
}

// A name of which LLVM quotes nothing.
bool IsPlain(llvm::StringRef name) {
  static constexpr auto kPlain = [] {
    std::array<bool, 256> plain{};
    for (int c = 0; c < 128; ++c) {
      plain[c] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                 c == '.' || c == '-';
    }
    return plain;
  }();
  for (const char c : name) {
    if (!kPlain[static_cast<unsigned char>(c)]) return false;
  }
  return !name.empty() && !llvm::isDigit(name.front());
}

// The flags between the name of an arithmetic operation and its operands; false if there are others.
bool PutArithmeticFlags(const llvm::Instruction& instruction, TextBuffer& out) {
  if (instruction.getRawSubclassOptionalData() == 0) return true;
  if (llvm::isa<llvm::OverflowingBinaryOperator>(instruction)) {
    if (instruction.hasNoUnsignedWrap()) out += " nuw";
    if (instruction.hasNoSignedWrap()) out += " nsw";
    return true;
  }
  if (!llvm::isa<llvm::PossiblyExactOperator>(instruction)) return false;
  out += " exact";
  return true;
}

}  // namespace

void InstructionText::Begin(const llvm::Function& function) {
  function_ = &function;
  slots_of_function_ = false;
  numbers_.clear();
  unsigned next = 0;
  auto number = [&](const llvm::Value& value) {
    if (!value.hasName()) numbers_[&value] = next++;
  };
  for (const llvm::Argument& argument : function.args()) number(argument);
  for (const llvm::BasicBlock& block : function) {
    number(block);
    for (const llvm::Instruction& instruction : block) {
      if (!instruction.getType()->isVoidTy()) number(instruction);
    }
  }
}

void InstructionText::PutFunction() {
  out_ += "define ";
  PutType(function_->getReturnType());
  out_ += ' ';
  PutName('@', function_->getName());
  out_ += '(';
  for (const llvm::Argument& argument : function_->args()) {
    if (argument.getArgNo() > 0) out_ += ", ";
    PutOperand(&argument, /*with_type=*/true);
  }
  out_ += "):";
}

void InstructionText::PutBlock(const llvm::BasicBlock& block) {
  if (block.hasName()) {
    out_ += block.getName();
  } else {
    out_.PutNumber(numbers_.lookup(&block));
  }
  out_ += ':';
}

void InstructionText::PutInstruction(const llvm::Instruction& instruction) {
  const std::size_t begin = out_.size();
  out_ += "  ";
  if (!instruction.getType()->isVoidTy()) {
    PutOperand(&instruction, /*with_type=*/false);
    out_ += " = ";
  }
  if (PutKnown(instruction) && (!instruction.hasMetadata() || PutAttached(instruction))) return;
  out_.resize(begin);
  PutByLlvm(instruction);
}

// False if the instruction, or something about it, is not of the kinds that are written here.
bool InstructionText::PutKnown(const llvm::Instruction& instruction) {
  const unsigned flags = instruction.getRawSubclassOptionalData();
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return flags == 0 && PutCall(*call);
  out_ += OpcodeName(instruction.getOpcode());
  if (llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::FreezeInst>(instruction)) {
    if (!PutArithmeticFlags(instruction, out_)) return false;
    PutOperands(instruction, /*all_types=*/false);
    return true;
  }
  if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
    if (flags != 0 && flags != kInBoundsFlags) return false;
    if (address->getNumIndices() == 0 || address->getType()->isVectorTy()) return false;
    out_ += flags == 0 ? " " : " inbounds ";
    PutType(address->getSourceElementType());
    out_ += ',';
    PutOperands(instruction, /*all_types=*/true);
    return true;
  }
  if (flags != 0) return false;
  if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&instruction)) {
    out_ += ' ';
    out_ += llvm::CmpInst::getPredicateName(compare->getPredicate());
    PutOperands(instruction, /*all_types=*/false);
    return true;
  }
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    if (!load->isSimple()) return false;
    out_ += ' ';
    PutType(load->getType());
    out_ += ',';
    PutOperands(instruction, /*all_types=*/true);
    out_ += ", align ";
    out_.PutNumber(static_cast<std::int64_t>(load->getAlign().value()));
    return true;
  }
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    if (store->isVolatile() || store->getSyncScopeID() != llvm::SyncScope::System) return false;
    if (store->isAtomic()) out_ += " atomic";
    PutOperands(instruction, /*all_types=*/true);
    if (store->isAtomic()) {
      out_ += ' ';
      out_ += llvm::toIRString(store->getOrdering());
    }
    out_ += ", align ";
    out_.PutNumber(static_cast<std::int64_t>(store->getAlign().value()));
    return true;
  }
  if (llvm::isa<llvm::CastInst>(instruction)) {
    PutOperands(instruction, /*all_types=*/false);
    out_ += " to ";
    PutType(instruction.getType());
    return true;
  }
  if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction)) {
    out_ += ' ';
    if (branch->isConditional()) {
      PutOperand(branch->getCondition(), true);
      out_ += ", ";
    }
    PutOperand(branch->getSuccessor(0), true);
    if (branch->isConditional()) {
      out_ += ", ";
      PutOperand(branch->getSuccessor(1), true);
    }
    return true;
  }
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
    out_ += ' ';
    PutType(phi->getType());
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
      out_ += i == 0 ? " [ " : ", [ ";
      PutOperand(phi->getIncomingValue(i), false);
      out_ += ", ";
      PutOperand(phi->getIncomingBlock(i), false);
      out_ += " ]";
    }
    return true;
  }
  if (llvm::isa<llvm::SelectInst>(instruction)) {
    PutOperands(instruction, /*all_types=*/true);
    return true;
  }
  if (llvm::isa<llvm::ReturnInst>(instruction)) {
    if (instruction.getNumOperands() == 0) {
      out_ += " void";
    } else {
      PutOperands(instruction, /*all_types=*/true);
    }
    return true;
  }
  if (const auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) {
    PutOperands(instruction, /*all_types=*/true);
    PutIndices(extract->getIndices());
    return true;
  }
  if (const auto* insert = llvm::dyn_cast<llvm::InsertValueInst>(&instruction)) {
    PutOperands(instruction, /*all_types=*/true);
    PutIndices(insert->getIndices());
    return true;
  }
  if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
    if (variable->isArrayAllocation() || !variable->getArraySize()->getType()->isIntegerTy(32)) return false;
    if (variable->isUsedWithInAlloca() || variable->isSwiftError() || variable->getAddressSpace() != 0)
      return false;
    out_ += ' ';
    PutType(variable->getAllocatedType());
    out_ += ", align ";
    out_.PutNumber(static_cast<std::int64_t>(variable->getAlign().value()));
    return true;
  }
  return llvm::isa<llvm::UnreachableInst>(instruction);
}

bool InstructionText::PutCall(const llvm::CallInst& call) {
  const llvm::Value* callee = call.getCalledOperand();
  if (call.getCallingConv() != llvm::CallingConv::C || call.hasOperandBundles() || call.isMustTailCall() ||
      callee->getType()->getPointerAddressSpace() != 0 || llvm::isa<llvm::InlineAsm>(callee))
    return false;
  if (call.isNoTailCall()) out_ += "notail ";
  if (call.isTailCall()) out_ += "tail ";
  out_ += "call ";
  const llvm::AttributeList attributes = call.getAttributes();
  if (attributes.hasRetAttrs()) {
    out_ += attributes.getAsString(llvm::AttributeList::ReturnIndex);
    out_ += ' ';
  }
  llvm::FunctionType* type = call.getFunctionType();
  PutType(type->isVarArg() ? static_cast<llvm::Type*>(type) : type->getReturnType());
  out_ += ' ';
  PutOperand(callee, /*with_type=*/false);
  out_ += '(';
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    if (i > 0) out_ += ", ";
    PutType(call.getArgOperand(i)->getType());
    out_ += ' ';
    if (attributes.hasParamAttrs(i)) {
      out_ += attributes.getParamAttrs(i).getAsString();
      out_ += ' ';
    }
    PutOperand(call.getArgOperand(i), /*with_type=*/false);
  }
  out_ += ')';
  return true;
}

// What is attached to an instruction, if it says all by its kind.
bool InstructionText::PutAttached(const llvm::Instruction& instruction) {
  llvm::SmallVector<std::pair<unsigned, llvm::MDNode*>, 4> attached;
  instruction.getAllMetadata(attached);
  if (kinds_.empty()) module_.getContext().getMDKindNames(kinds_);
  for (const auto& [kind, node] : attached) {
    if (node->getNumOperands() != 0 || node->isDistinct()) return false;
    out_ += ", !";
    out_ += kinds_[kind];
    out_ += " !{}";
  }
  return true;
}

// Cases of a switch and clauses of a landing pad stand on lines of their own there.
void InstructionText::PutByLlvm(const llvm::Instruction& instruction) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  instruction.print(stream, slots());
  stream.flush();
  std::replace(text.begin(), text.end(), '\n', ' ');
  out_ += text;
}

// Without `all_types` the first operand's type stands for all.
void InstructionText::PutOperands(const llvm::Instruction& instruction, bool all_types) {
  bool with_type = true;
  const char* separator = " ";
  for (const llvm::Value* operand : instruction.operands()) {
    out_ += separator;
    PutOperand(operand, with_type);
    separator = ", ";
    with_type = all_types;
  }
}

void InstructionText::PutOperand(const llvm::Value* value, bool with_type) {
  if (with_type) {
    PutType(value->getType());
    out_ += ' ';
  }
  if (value->hasName()) return PutName(llvm::isa<llvm::GlobalValue>(value) ? '@' : '%', value->getName());
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(value);
      integer != nullptr && value->getType()->isIntegerTy()) {
    if (integer->getBitWidth() == 1) {
      out_ += integer->isZero() ? "false" : "true";
    } else if (integer->getBitWidth() <= 64) {
      out_.PutNumber(integer->getSExtValue());
    } else {
      llvm::SmallString<40> digits;
      integer->getValue().toStringSigned(digits);
      out_ += digits.str();
    }
    return;
  }
  if (auto it = numbers_.find(value); it != numbers_.end()) {
    out_ += '%';
    return out_.PutNumber(it->second);
  }
  if (llvm::isa<llvm::ConstantPointerNull>(value)) {
    out_ += "null";
    return;
  }
  if (llvm::isa<llvm::ConstantAggregateZero>(value)) {
    out_ += "zeroinitializer";
    return;
  }
  const auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(value);
  if (expression != nullptr && expression->getOpcode() == llvm::Instruction::IntToPtr) {
    out_ += "inttoptr (";
    PutOperand(expression->getOperand(0), /*with_type=*/true);
    out_ += " to ";
    PutType(expression->getType());
    out_ += ')';
    return;
  }
  if (llvm::isa<llvm::MetadataAsValue>(value)) return PutMetadata(value);
  PutOperandByLlvm(*value);
}

void InstructionText::PutOperandByLlvm(const llvm::Value& value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  value.printAsOperand(stream, /*PrintType=*/false, slots());
  stream.flush();
  out_ += text;
}

void InstructionText::PutMetadata(const llvm::Value* value) {
  const auto* node = llvm::dyn_cast<llvm::MDNode>(llvm::cast<llvm::MetadataAsValue>(value)->getMetadata());
  const auto* name = node != nullptr && node->getNumOperands() == 1
                         ? llvm::dyn_cast<llvm::MDString>(node->getOperand(0))
                         : nullptr;
  if (name == nullptr || !IsPlain(name->getString())) {
    PutOperandByLlvm(*value);
    return;
  }
  out_ += "!{!\"";
  out_ += name->getString();
  out_ += "\"}";
}

void InstructionText::PutIndices(llvm::ArrayRef<unsigned> indices) {
  for (unsigned index : indices) {
    out_ += ", ";
    out_.PutNumber(index);
  }
}

void InstructionText::PutName(char sigil, llvm::StringRef name) {
  out_ += sigil;
  if (IsPlain(name)) {
    out_ += name;
    return;
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '"';
  llvm::printEscapedString(name, stream);
  stream << '"';
  stream.flush();
  out_ += text;
}

void InstructionText::PutType(llvm::Type* type) {
  switch (type->getTypeID()) {
    case llvm::Type::IntegerTyID:
      out_ += 'i';
      out_.PutNumber(type->getIntegerBitWidth());
      return;
    case llvm::Type::VoidTyID:
      out_ += "void";
      return;
    case llvm::Type::DoubleTyID:
      out_ += "double";
      return;
    case llvm::Type::LabelTyID:
      out_ += "label";
      return;
    case llvm::Type::MetadataTyID:
      out_ += "metadata";
      return;
    case llvm::Type::PointerTyID:
      if (type->getPointerAddressSpace() != 0) break;
      out_ += "ptr";
      return;
    default:
      break;
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  type->print(stream, /*IsForDebug=*/false, /*NoDetails=*/true);
  stream.flush();
  out_ += text;
}

llvm::ModuleSlotTracker& InstructionText::slots() {
  if (!slots_) slots_.emplace(&module_, /*ShouldInitializeAllMetadata=*/false);
  if (!slots_of_function_) slots_->incorporateFunction(*function_);
  slots_of_function_ = true;
  return *slots_;
}

}  // namespace tailor::jit
