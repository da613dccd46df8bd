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

llvm::StringRef opcode_name(unsigned opcode) {
  static const auto kNames = [] {
    std::array<llvm::StringRef, llvm::Instruction::OtherOpsEnd> names;
    for (unsigned i = 0; i < names.size(); ++i) names[i] = llvm::Instruction::getOpcodeName(i);
    return names;
  }();
  return kNames[opcode];
}

// A name of which LLVM quotes nothing.
bool is_plain(llvm::StringRef name) {
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
bool put_arithmetic_flags(const llvm::Instruction& instruction, TextBuffer& out) {
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

void InstructionText::begin(const llvm::Function& function) {
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

void InstructionText::put_function() {
  out_ += "define ";
  put_type(function_->getReturnType());
  out_ += ' ';
  put_name('@', function_->getName());
  out_ += '(';
  for (const llvm::Argument& argument : function_->args()) {
    if (argument.getArgNo() > 0) out_ += ", ";
    put_operand(&argument, /*with_type=*/true);
  }
  out_ += "):";
}

void InstructionText::put_block(const llvm::BasicBlock& block) {
  if (block.hasName()) {
    out_ += block.getName();
  } else {
    out_.put_number(numbers_.lookup(&block));
  }
  out_ += ':';
}

void InstructionText::put_instruction(const llvm::Instruction& instruction) {
  const std::size_t begin = out_.size();
  out_ += "  ";
  if (!instruction.getType()->isVoidTy()) {
    put_operand(&instruction, /*with_type=*/false);
    out_ += " = ";
  }
  if (put_known(instruction) && (!instruction.hasMetadata() || put_attached(instruction))) return;
  out_.resize(begin);
  put_by_llvm(instruction);
}

// False if the instruction, or something about it, is not of the kinds that are written here.
bool InstructionText::put_known(const llvm::Instruction& instruction) {
  const unsigned flags = instruction.getRawSubclassOptionalData();
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return flags == 0 && put_call(*call);
  out_ += opcode_name(instruction.getOpcode());
  if (llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::FreezeInst>(instruction)) {
    if (!put_arithmetic_flags(instruction, out_)) return false;
    put_operands(instruction, /*all_types=*/false);
    return true;
  }
  if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
    if (flags != 0 && flags != kInBoundsFlags) return false;
    if (address->getNumIndices() == 0 || address->getType()->isVectorTy()) return false;
    out_ += flags == 0 ? " " : " inbounds ";
    put_type(address->getSourceElementType());
    out_ += ',';
    put_operands(instruction, /*all_types=*/true);
    return true;
  }
  if (flags != 0) return false;
  if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&instruction)) {
    out_ += ' ';
    out_ += llvm::CmpInst::getPredicateName(compare->getPredicate());
    put_operands(instruction, /*all_types=*/false);
    return true;
  }
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    if (!load->isSimple()) return false;
    out_ += ' ';
    put_type(load->getType());
    out_ += ',';
    put_operands(instruction, /*all_types=*/true);
    out_ += ", align ";
    out_.put_number(static_cast<std::int64_t>(load->getAlign().value()));
    return true;
  }
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    if (store->isVolatile() || store->getSyncScopeID() != llvm::SyncScope::System) return false;
    if (store->isAtomic()) out_ += " atomic";
    put_operands(instruction, /*all_types=*/true);
    if (store->isAtomic()) {
      out_ += ' ';
      out_ += llvm::toIRString(store->getOrdering());
    }
    out_ += ", align ";
    out_.put_number(static_cast<std::int64_t>(store->getAlign().value()));
    return true;
  }
  if (llvm::isa<llvm::CastInst>(instruction)) {
    put_operands(instruction, /*all_types=*/false);
    out_ += " to ";
    put_type(instruction.getType());
    return true;
  }
  if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction)) {
    out_ += ' ';
    if (branch->isConditional()) {
      put_operand(branch->getCondition(), true);
      out_ += ", ";
    }
    put_operand(branch->getSuccessor(0), true);
    if (branch->isConditional()) {
      out_ += ", ";
      put_operand(branch->getSuccessor(1), true);
    }
    return true;
  }
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
    out_ += ' ';
    put_type(phi->getType());
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
      out_ += i == 0 ? " [ " : ", [ ";
      put_operand(phi->getIncomingValue(i), false);
      out_ += ", ";
      put_operand(phi->getIncomingBlock(i), false);
      out_ += " ]";
    }
    return true;
  }
  if (llvm::isa<llvm::SelectInst>(instruction)) {
    put_operands(instruction, /*all_types=*/true);
    return true;
  }
  if (llvm::isa<llvm::ReturnInst>(instruction)) {
    if (instruction.getNumOperands() == 0) {
      out_ += " void";
    } else {
      put_operands(instruction, /*all_types=*/true);
    }
    return true;
  }
  if (const auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) {
    put_operands(instruction, /*all_types=*/true);
    put_indices(extract->getIndices());
    return true;
  }
  if (const auto* insert = llvm::dyn_cast<llvm::InsertValueInst>(&instruction)) {
    put_operands(instruction, /*all_types=*/true);
    put_indices(insert->getIndices());
    return true;
  }
  if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
    if (variable->isArrayAllocation() || !variable->getArraySize()->getType()->isIntegerTy(32)) return false;
    if (variable->isUsedWithInAlloca() || variable->isSwiftError() || variable->getAddressSpace() != 0)
      return false;
    out_ += ' ';
    put_type(variable->getAllocatedType());
    out_ += ", align ";
    out_.put_number(static_cast<std::int64_t>(variable->getAlign().value()));
    return true;
  }
  return llvm::isa<llvm::UnreachableInst>(instruction);
}

bool InstructionText::put_call(const llvm::CallInst& call) {
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
  put_type(type->isVarArg() ? static_cast<llvm::Type*>(type) : type->getReturnType());
  out_ += ' ';
  put_operand(callee, /*with_type=*/false);
  out_ += '(';
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    if (i > 0) out_ += ", ";
    put_type(call.getArgOperand(i)->getType());
    out_ += ' ';
    if (attributes.hasParamAttrs(i)) {
      out_ += attributes.getParamAttrs(i).getAsString();
      out_ += ' ';
    }
    put_operand(call.getArgOperand(i), /*with_type=*/false);
  }
  out_ += ')';
  return true;
}

// What is attached to an instruction, if it says all by its kind.
bool InstructionText::put_attached(const llvm::Instruction& instruction) {
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
void InstructionText::put_by_llvm(const llvm::Instruction& instruction) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  instruction.print(stream, slots());
  stream.flush();
  std::replace(text.begin(), text.end(), '\n', ' ');
  out_ += text;
}

// Without `all_types` the first operand's type stands for all.
void InstructionText::put_operands(const llvm::Instruction& instruction, bool all_types) {
  bool with_type = true;
  const char* separator = " ";
  for (const llvm::Value* operand : instruction.operands()) {
    out_ += separator;
    put_operand(operand, with_type);
    separator = ", ";
    with_type = all_types;
  }
}

void InstructionText::put_operand(const llvm::Value* value, bool with_type) {
  if (with_type) {
    put_type(value->getType());
    out_ += ' ';
  }
  if (value->hasName()) return put_name(llvm::isa<llvm::GlobalValue>(value) ? '@' : '%', value->getName());
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(value);
      integer != nullptr && value->getType()->isIntegerTy()) {
    if (integer->getBitWidth() == 1) {
      out_ += integer->isZero() ? "false" : "true";
    } else if (integer->getBitWidth() <= 64) {
      out_.put_number(integer->getSExtValue());
    } else {
      llvm::SmallString<40> digits;
      integer->getValue().toStringSigned(digits);
      out_ += digits.str();
    }
    return;
  }
  if (auto it = numbers_.find(value); it != numbers_.end()) {
    out_ += '%';
    return out_.put_number(it->second);
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
    put_operand(expression->getOperand(0), /*with_type=*/true);
    out_ += " to ";
    put_type(expression->getType());
    out_ += ')';
    return;
  }
  if (llvm::isa<llvm::MetadataAsValue>(value)) return put_metadata(value);
  put_operand_by_llvm(*value);
}

void InstructionText::put_operand_by_llvm(const llvm::Value& value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  value.printAsOperand(stream, /*PrintType=*/false, slots());
  stream.flush();
  out_ += text;
}

void InstructionText::put_metadata(const llvm::Value* value) {
  const auto* node = llvm::dyn_cast<llvm::MDNode>(llvm::cast<llvm::MetadataAsValue>(value)->getMetadata());
  const auto* name = node != nullptr && node->getNumOperands() == 1
                         ? llvm::dyn_cast<llvm::MDString>(node->getOperand(0))
                         : nullptr;
  if (name == nullptr || !is_plain(name->getString())) {
    put_operand_by_llvm(*value);
    return;
  }
  out_ += "!{!\"";
  out_ += name->getString();
  out_ += "\"}";
}

void InstructionText::put_indices(llvm::ArrayRef<unsigned> indices) {
  for (unsigned index : indices) {
    out_ += ", ";
    out_.put_number(index);
  }
}

void InstructionText::put_name(char sigil, llvm::StringRef name) {
  out_ += sigil;
  if (is_plain(name)) {
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

void InstructionText::put_type(llvm::Type* type) {
  switch (type->getTypeID()) {
    case llvm::Type::IntegerTyID:
      out_ += 'i';
      out_.put_number(type->getIntegerBitWidth());
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
