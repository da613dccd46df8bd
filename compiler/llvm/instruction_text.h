// Writes IR in LLVM's notation, an order of magnitude faster than LLVM prints it: an engine waits for the
// listing of every query before the query runs.
//
// Differs from LLVM's text where that refers to tables that the listing does not have: groups of attributes
// (" #1" after a call) are left out, and metadata that is empty or names a register is written out.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/ModuleSlotTracker.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace llvm {
class CallInst;
class Function;
class Instruction;
class Module;
class Type;
class Value;
}  // namespace llvm

namespace tailor::jit {

// What is appended to without a call for each piece.
class TextBuffer {
 public:
  explicit TextBuffer(std::size_t capacity) { text_.resize(capacity); }

  std::size_t size() const { return size_; }
  void resize(std::size_t size) { size_ = size; }  // shorter only
  TextBuffer& operator+=(char c) {
    if (size_ == text_.size()) Grow(1);
    text_[size_++] = c;
    return *this;
  }
  TextBuffer& operator+=(llvm::StringRef piece) {
    if (text_.size() - size_ < piece.size()) Grow(piece.size());
    std::memcpy(text_.data() + size_, piece.data(), piece.size());
    size_ += piece.size();
    return *this;
  }
  // The text; the buffer is empty afterwards.
  std::string Take() {
    text_.resize(size_);
    size_ = 0;
    return std::move(text_);
  }

 private:
  void Grow(std::size_t more) { text_.resize(2 * text_.size() + more); }

  std::string text_;
  std::size_t size_ = 0;  // of it
};

// Not thread-safe. The module and the text outlive it, and the module must not change meanwhile.
class InstructionText {
 public:
  InstructionText(const llvm::Module& module, TextBuffer& out) : module_(module), out_(out) {}

  // Numbers the values of `function` that have no names. Before anything else, for each function.
  void Begin(const llvm::Function& function);

  // Appends one line without its end: what defines it, two spaces in front of an instruction, a block's name
  // and a colon.
  void PutFunction();
  void PutBlock(const llvm::BasicBlock& block);
  void PutInstruction(const llvm::Instruction& instruction);

 private:
  bool PutKnown(const llvm::Instruction& instruction);
  bool PutAttached(const llvm::Instruction& instruction);
  bool PutCall(const llvm::CallInst& call);
  void PutByLlvm(const llvm::Instruction& instruction);
  void PutOperands(const llvm::Instruction& instruction, bool all_types);
  void PutOperand(const llvm::Value* value, bool with_type);
  void PutOperandByLlvm(const llvm::Value& value);
  void PutMetadata(const llvm::Value* value);
  void PutIndices(llvm::ArrayRef<unsigned> indices);
  void PutName(char sigil, llvm::StringRef name);
  void PutType(llvm::Type* type);
  void PutNumber(std::int64_t number);
  llvm::ModuleSlotTracker& slots();

  const llvm::Module& module_;
  TextBuffer& out_;
  const llvm::Function* function_ = nullptr;
  llvm::DenseMap<const llvm::Value*, unsigned> numbers_;  // of values without names
  llvm::SmallVector<llvm::StringRef, 0> kinds_;           // of metadata, once one is needed
  std::optional<llvm::ModuleSlotTracker> slots_;          // once LLVM's printer is needed
  bool slots_of_function_ = false;                        // they are those of function_
};

}  // namespace tailor::jit
