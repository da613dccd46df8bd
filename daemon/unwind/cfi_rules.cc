#include "daemon/unwind/cfi_rules.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "daemon/unwind/cfi_cursor.h"

namespace tailor::unwind {
namespace {

constexpr std::size_t kMostRemembered = 16;
constexpr std::size_t kWorkOfACopy = 16;

// DWARF expressions as far as compilers, linkers (PLT entries) and the C library (signal frames) use them.
class Expression {
 public:
  Expression(const Frame& frame, const StackView& stack) : frame_(frame), stack_(stack) {}

  std::optional<std::uint64_t> evaluate(std::span<const std::byte> bytes,
                                        std::optional<std::uint64_t> first) {
    if (first) push(*first);
    CfiCursor code(bytes, 0);
    while (!code.at_end() && ok_) run(code);
    if (!ok_ || !code.ok() || size_ == 0) return std::nullopt;
    return values_[size_ - 1];
  }

 private:
  void run(CfiCursor& code) {
    const auto op = code.fixed<std::uint8_t>();
    if (op >= 0x30 && op <= 0x4F) return push(op - 0x30u);                        // DW_OP_lit
    if (op >= 0x70 && op <= 0x8F) return push_register(op - 0x70u, code.sleb());  // DW_OP_breg
    switch (op) {
      case 0x06: {  // DW_OP_deref
        const auto word = stack_.read(pop());
        ok_ &= word.has_value();
        return push(word.value_or(0));
      }
      case 0x08:
        return push(code.fixed<std::uint8_t>());
      case 0x09:
        return push(static_cast<std::uint64_t>(std::int64_t{code.fixed<std::int8_t>()}));
      case 0x0A:
        return push(code.fixed<std::uint16_t>());
      case 0x0C:
        return push(code.fixed<std::uint32_t>());
      case 0x10:
        return push(code.uleb());
      case 0x11:
        return push(static_cast<std::uint64_t>(code.sleb()));
      case 0x12: {  // DW_OP_dup
        const std::uint64_t top = pop();
        push(top);
        return push(top);
      }
      case 0x23:  // DW_OP_plus_uconst
        return push(pop() + code.uleb());
      default:
        return binary(op);
    }
  }
  void binary(std::uint8_t op) {
    const std::uint64_t right = pop(), left = pop();
    switch (op) {
      case 0x1A:
        return push(left & right);
      case 0x1C:
        return push(left - right);
      case 0x22:
        return push(left + right);
      case 0x24:
        return push(right < 64 ? left << right : 0);
      case 0x2A:  // DW_OP_ge, signed
        return push(static_cast<std::int64_t>(left) >= static_cast<std::int64_t>(right));
      default:
        ok_ = false;
    }
  }
  void push_register(unsigned reg, std::int64_t offset) {
    ok_ &= reg < kRegisters && frame_.has(reg);
    push(ok_ ? frame_.value[reg] + static_cast<std::uint64_t>(offset) : 0);
  }
  void push(std::uint64_t value) {
    ok_ &= size_ < values_.size();
    if (ok_) values_[size_++] = value;
  }
  std::uint64_t pop() {
    ok_ &= size_ > 0;
    return ok_ ? values_[--size_] : 0;
  }

  const Frame& frame_;
  const StackView& stack_;
  std::array<std::uint64_t, 16> values_{};
  std::size_t size_ = 0;
  bool ok_ = true;
};

// The instructions of a program, one list after the other.
class Machine {
 public:
  Machine(const CfiProgram& program, std::uint64_t begin, std::uint64_t target, CfiRules& rules)
      : program_(program), at_(begin), target_(target), rules_(rules) {}

  bool run(std::span<const std::byte> instructions, std::uint64_t address) {
    CfiCursor code(instructions, address);
    while (!code.at_end() && ok_ && at_ <= target_) {
      ok_ = ++work_ <= CfiProgram::kMostWork;
      if (ok_) one(code);
    }
    return ok_ && code.ok();
  }
  void keep_as_initial() { initial_ = rules_; }
  std::size_t work() const { return work_; }

 private:
  using Kind = CfiRule::Kind;

  void one(CfiCursor& code) {
    const auto op = code.fixed<std::uint8_t>();
    const std::uint8_t low = op & 0x3F;
    switch (op & 0xC0) {
      case 0x40:
        return advance(low);
      case 0x80:
        return set(low, Kind::kAtOffset, scaled(code.uleb()));
      case 0xC0:
        return restore(low);
      default:
        return extended(low, code);
    }
  }

  void extended(std::uint8_t op, CfiCursor& code) {
    switch (op) {
      case 0x00:
        return;
      case 0x01:
        at_ = code.pointer(program_.pointer_encoding);
        return;
      case 0x02:
        return advance(code.fixed<std::uint8_t>());
      case 0x03:
        return advance(code.fixed<std::uint16_t>());
      case 0x04:
        return advance(code.fixed<std::uint32_t>());
      case 0x06:
        return restore(code.uleb());
      case 0x0A:
        work_ += kWorkOfACopy;
        ok_ &= remembered_.size() < kMostRemembered;
        if (ok_) remembered_.push_back(rules_);
        return;
      case 0x0B:
        work_ += kWorkOfACopy;
        ok_ &= !remembered_.empty();
        if (!ok_) return;
        rules_ = remembered_.back();
        remembered_.pop_back();
        return;
      case 0x2E:  // GNU_args_size: of no matter here
        code.uleb();
        return;
      default:
        return (op >= 0x0C && op <= 0x0F) || op == 0x12 || op == 0x13 ? define_cfa(op, code)
                                                                      : define(op, code);
    }
  }

  void define_cfa(std::uint8_t op, CfiCursor& code) {
    if (op == 0x0F) {
      rules_.cfa_expression = code.block(code.uleb());
      ok_ &= !rules_.cfa_expression.empty();
      return;
    }
    if (op == 0x0C || op == 0x0D || op == 0x12) rules_.cfa_register = code.uleb();
    if (op == 0x0C || op == 0x0E) rules_.cfa_offset = static_cast<std::int64_t>(code.uleb());
    if (op == 0x12 || op == 0x13) rules_.cfa_offset = scaled(static_cast<std::uint64_t>(code.sleb()));
    rules_.cfa_expression = {};
  }

  void define(std::uint8_t op, CfiCursor& code) {
    const std::uint64_t reg = code.uleb();
    switch (op) {
      case 0x05:
        return set(reg, Kind::kAtOffset, scaled(code.uleb()));
      case 0x07:
        return set(reg, Kind::kUndefined, 0);
      case 0x08:
        return set(reg, Kind::kSame, 0);
      case 0x09:
        return set(reg, Kind::kRegister, static_cast<std::int64_t>(code.uleb()));
      case 0x10:
        return set(reg, Kind::kAtExpression, 0, code.block(code.uleb()));
      case 0x11:
        return set(reg, Kind::kAtOffset, scaled(static_cast<std::uint64_t>(code.sleb())));
      case 0x14:
        return set(reg, Kind::kIsOffset, scaled(code.uleb()));
      case 0x15:
        return set(reg, Kind::kIsOffset, scaled(static_cast<std::uint64_t>(code.sleb())));
      case 0x16:
        return set(reg, Kind::kIsExpression, 0, code.block(code.uleb()));
      case 0x2F:
        return set(reg, Kind::kAtOffset, -scaled(code.uleb()));
      default:
        ok_ = false;
    }
  }

  void advance(std::uint64_t by) { at_ += by * program_.code_alignment; }
  // In the arithmetic of the machine: a hostile factor must not overflow.
  std::int64_t scaled(std::uint64_t factor) const {
    return static_cast<std::int64_t>(factor * static_cast<std::uint64_t>(program_.data_alignment));
  }
  // Registers beyond ours (vector registers) are of no matter.
  void set(std::uint64_t reg, Kind kind, std::int64_t number, std::span<const std::byte> expression = {}) {
    if (reg < kRegisters) rules_.registers[reg] = {kind, number, expression};
  }
  void restore(std::uint64_t reg) {
    if (reg < kRegisters) rules_.registers[reg] = initial_.registers[reg];
  }

  const CfiProgram& program_;
  std::uint64_t at_, target_;
  CfiRules& rules_;
  CfiRules initial_;
  std::vector<CfiRules> remembered_;
  std::size_t work_ = 0;
  bool ok_ = true;
};

std::optional<std::uint64_t> value_by(const CfiRule& rule, unsigned reg, std::uint64_t cfa,
                                      const Frame& frame, const StackView& stack, std::size_t& work) {
  work += rule.expression.size();
  using Kind = CfiRule::Kind;
  switch (rule.kind) {
    case Kind::kSame:
      return frame.has(reg) ? std::optional(frame.value[reg]) : std::nullopt;
    case Kind::kUndefined:
      return std::nullopt;
    case Kind::kAtOffset:
      return stack.read(cfa + static_cast<std::uint64_t>(rule.number));
    case Kind::kIsOffset:
      return cfa + static_cast<std::uint64_t>(rule.number);
    case Kind::kRegister: {
      const auto from = static_cast<std::uint64_t>(rule.number);
      return from < kRegisters && frame.has(static_cast<unsigned>(from)) ? std::optional(frame.value[from])
                                                                         : std::nullopt;
    }
    case Kind::kAtExpression: {
      const auto at = Expression(frame, stack).evaluate(rule.expression, cfa);
      return at ? stack.read(*at) : std::nullopt;
    }
    case Kind::kIsExpression:
      return Expression(frame, stack).evaluate(rule.expression, cfa);
  }
  return std::nullopt;
}

}  // namespace

bool CfiProgram::run(std::uint64_t begin, std::uint64_t address, CfiRules& out, std::size_t& work) const {
  Machine machine(*this, begin, address, out);
  bool done = machine.run(initial, initial_address);
  if (done) {
    machine.keep_as_initial();
    done = machine.run(own, own_address);
  }
  work += machine.work();
  return done;
}

std::optional<std::uint64_t> CfiRules::cfa_of(const Frame& frame, const StackView& stack,
                                              std::size_t& work) const {
  if (!cfa_expression.empty()) {
    work += cfa_expression.size();
    return Expression(frame, stack).evaluate(cfa_expression, std::nullopt);
  }
  if (cfa_register >= kRegisters || !frame.has(static_cast<unsigned>(cfa_register))) return std::nullopt;
  return frame.value[cfa_register] + static_cast<std::uint64_t>(cfa_offset);
}

// The first function of a thread says that it has no caller: its return address is undefined. Only the return
// address at an offset is looked at for a stack that is too short, as nearly all code has it.
WalkEnd CfiRules::why_not(const Frame& frame, const StackView& stack, std::size_t& work) const {
  const CfiRule& rule = registers[kReturnAddress];
  if (rule.kind == CfiRule::Kind::kUndefined) return WalkEnd::kBegin;
  const std::optional<std::uint64_t> cfa = cfa_of(frame, stack, work);
  if (!cfa || rule.kind != CfiRule::Kind::kAtOffset) return WalkEnd::kNonsense;
  const std::uint64_t at = *cfa + static_cast<std::uint64_t>(rule.number);
  const bool is_above = at >= stack.address && !stack.read(at);
  return is_above ? WalkEnd::kShortStack : WalkEnd::kNonsense;
}

bool CfiRules::apply(Frame& frame, const StackView& stack, std::size_t& work) const {
  const std::optional<std::uint64_t> cfa = cfa_of(frame, stack, work);
  if (!cfa || registers[kReturnAddress].kind == CfiRule::Kind::kSame) return false;
  Frame caller;
  for (unsigned reg = 0; reg < kRegisters; ++reg) {
    const auto value = value_by(registers[reg], reg, *cfa, frame, stack, work);
    if (value) caller.set(reg, *value);
  }
  if (!caller.has(kReturnAddress)) return false;
  if (registers[kSp].kind == CfiRule::Kind::kSame) caller.set(kSp, *cfa);
  frame = caller;
  return true;
}

}  // namespace tailor::unwind
