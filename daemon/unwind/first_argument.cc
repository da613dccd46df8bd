#include "daemon/unwind/first_argument.h"

#include <algorithm>
#include <bit>
#include <deque>

#include "daemon/unwind/argument_effects.h"

namespace tailor::unwind {
namespace {

using EffectKind = Effect::Kind;
using EffectFlow = Effect::Flow;

constexpr int kRegisterCount = 16;
// A callee may change all registers but BX, BP, SP and R12 to R15.
constexpr std::uint16_t kChangedByCalls = 0x0FC7;
constexpr std::uint32_t kMostTargets = 1024;
constexpr std::uint32_t kWord = 8;

// DWARF's number by the hardware's.
constexpr std::array<std::uint8_t, kRegisterCount> kDwarf = {0, 2, 1,  3,  7,  6,  4,  5,
                                                             8, 9, 10, 11, 12, 13, 14, 15};

// What a register is known to hold: the argument, or an address of the frame, by its distance from the CFA.
struct Value {
  enum class Kind : std::uint8_t { kUnknown, kArgument, kFrame };
  Kind kind = Kind::kUnknown;
  std::int32_t offset = 0;
  bool operator==(const Value&) const = default;
};

class State {
 public:
  // As a function begins.
  static State entry() {
    State state;
    state.registers_[kHardwareDi] = {Value::Kind::kArgument, 0};
    state.registers_[kHardwareSp] = kNoFrame;
    return state;
  }

  void apply(const Effect& effect) {
    const Value from = effect.from >= 0 ? at(effect.from) : Value{};
    const Value base = effect.base >= 0 ? at(effect.base) : Value{};
    const Value old = effect.to >= 0 ? at(effect.to) : Value{};
    if (effect.store_bytes > 0 && base.kind == Value::Kind::kFrame)
      forget_slots(sum(base, effect.number), effect.store_bytes);
    Value top = at(kHardwareSp);
    for (unsigned rest = effect.kills; rest != 0; rest &= rest - 1) at(std::countr_zero(rest)) = {};
    switch (effect.kind) {
      case EffectKind::kCopy:
        at(effect.to) = from;
        break;
      case EffectKind::kLoad:
        at(effect.to) = holds_argument(sum(base, effect.number)) ? Value{Value::Kind::kArgument, 0} : Value{};
        break;
      case EffectKind::kStore:
        store(sum(base, effect.number), from);
        break;
      case EffectKind::kAdd:
        at(effect.to) = sum(old, effect.number);
        break;
      case EffectKind::kLea:
        at(effect.to) = effect.number == 0 ? base : sum(base, effect.number);
        break;
      case EffectKind::kPush:
        top = sum(top, -static_cast<std::int32_t>(kWord));
        store(top, from);
        at(kHardwareSp) = top;
        break;
      case EffectKind::kPop: {
        const bool argument = holds_argument(top);
        if (effect.to >= 0) at(effect.to) = argument ? Value{Value::Kind::kArgument, 0} : Value{};
        if (effect.to != kHardwareSp) at(kHardwareSp) = sum(top, kWord);
        break;
      }
      case EffectKind::kLeave:
        at(kHardwareSp) = {};
        at(kHardwareBp) = {};
        break;
      case EffectKind::kCall:
        for (unsigned rest = kChangedByCalls; rest != 0; rest &= rest - 1) at(std::countr_zero(rest)) = {};
        at(kHardwareSp) = top;
        break;
      case EffectKind::kOther:
        break;
    }
  }

  // Whether nothing lies on the stack but the return address, as where a function begins.
  bool has_no_frame() const { return registers_[kHardwareSp] == kNoFrame; }
  bool may_have_no_frame() const { return has_no_frame() || registers_[kHardwareSp] == Value{}; }

  // Keeps what both know. True: that is less than before.
  bool meet(const State& other) {
    bool less = false;
    for (int i = 0; i < kRegisterCount; ++i) {
      if (registers_[i] == other.registers_[i] || registers_[i] == Value{}) continue;
      registers_[i] = {};
      less = true;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (other.has_slot(slots_[i])) slots_[kept++] = slots_[i];
    }
    less |= kept < count_;
    count_ = kept;
    return less;
  }

  Places places() const {
    Places places;
    for (int i = 0; i < kRegisterCount; ++i) {
      if (registers_[i].kind == Value::Kind::kArgument) places.registers |= 1u << kDwarf[i];
    }
    for (std::size_t i = 0; i < count_ && places.slots < Places::kMostSlots; ++i)
      places.offsets[places.slots++] = slots_[i];
    return places;
  }

 private:
  static constexpr std::size_t kMostSlots = 8;
  static constexpr Value kNoFrame = {Value::Kind::kFrame, -static_cast<std::int32_t>(kWord)};

  Value& at(int reg) { return registers_[static_cast<std::size_t>(reg)]; }
  static Value sum(const Value& value, std::int64_t number) {
    if (value.kind != Value::Kind::kFrame) return {};
    const std::int64_t offset = value.offset + number;
    if (offset < INT32_MIN || offset > INT32_MAX) return {};
    return {Value::Kind::kFrame, static_cast<std::int32_t>(offset)};
  }
  bool has_slot(std::int32_t offset) const {
    return std::find(slots_.begin(), slots_.begin() + count_, offset) != slots_.begin() + count_;
  }
  bool holds_argument(const Value& place) const {
    return place.kind == Value::Kind::kFrame && has_slot(place.offset);
  }
  void forget_slots(const Value& place, std::uint32_t bytes) {
    const auto overlaps = [&](std::int32_t slot) {
      const std::int64_t distance = std::int64_t{slot} - place.offset;
      return distance < bytes && distance > -std::int64_t{kWord};
    };
    const auto end = std::remove_if(slots_.begin(), slots_.begin() + count_, overlaps);
    count_ = static_cast<std::size_t>(end - slots_.begin());
  }
  void store(const Value& place, const Value& value) {
    if (place.kind != Value::Kind::kFrame) return;
    forget_slots(place, kWord);
    if (value.kind == Value::Kind::kArgument && count_ < kMostSlots) slots_[count_++] = place.offset;
  }

  std::array<Value, kRegisterCount> registers_{};
  std::array<std::int32_t, kMostSlots> slots_{};  // that hold the argument
  std::size_t count_ = 0;
};

// Follows all ways until nothing changes. A state only ever becomes less, so this ends.
class Flows {
 public:
  Flows(const Effects& effects, std::uint64_t address, const FirstArgument::ReadWord& read)
      : effects_(effects), address_(address), before_(effects.instructions.size()), waits_(before_.size()) {
    for (const JumpTable& table : effects.tables) targets_.push_back(targets_of(table, read));
    if (before_.empty()) return;
    reach(0, State::entry());
    do follow();
    while (reach_by_jumps_without_frame());
  }

  const std::optional<State>& before(std::size_t index) const { return before_[index]; }

 private:
  void follow() {
    while (!work_.empty()) {
      const std::size_t index = work_.front();
      work_.pop_front();
      waits_[index] = false;
      go_on(index);
    }
  }

  // A table of unknown length ends where an address lies outside of the function, or at its begin: those of
  // another follow.
  std::vector<std::size_t> targets_of(const JumpTable& table, const FirstArgument::ReadWord& read) const {
    std::vector<std::size_t> out;
    const std::uint32_t count = table.count > 0 ? table.count : kMostTargets;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto offset = offset_in(table, i, read);
      const auto index = offset ? index_of(*offset) : std::nullopt;
      if (index && *index > 0)
        out.push_back(*index);
      else if (table.count == 0)
        break;
    }
    return out;
  }

  std::optional<std::int64_t> offset_in(const JumpTable& table, std::uint32_t place,
                                        const FirstArgument::ReadWord& read) const {
    if (!table.absolute) {
      const auto distance = read(table.address + std::uint64_t{place} * 4);
      if (!distance) return std::nullopt;
      return static_cast<std::int64_t>(table.address + static_cast<std::uint64_t>(std::int64_t{*distance}) -
                                       address_);
    }
    const std::uint64_t at = table.address + std::uint64_t{place} * 8;
    const auto low = read(at), high = read(at + 4);
    if (!low || !high) return std::nullopt;
    const std::uint64_t target =
        std::uint64_t{static_cast<std::uint32_t>(*high)} << 32 | static_cast<std::uint32_t>(*low);
    return static_cast<std::int64_t>(target - address_);
  }

  std::optional<std::size_t> index_of(std::int64_t offset) const {
    const auto& all = effects_.instructions;
    const auto at =
        std::ranges::lower_bound(all, offset, {}, [](const Effect& e) { return std::int64_t{e.offset}; });
    if (at == all.end() || at->offset != offset) return std::nullopt;
    return static_cast<std::size_t>(at - all.begin());
  }

  void reach(std::size_t index, const State& state) {
    if (index >= before_.size()) return;
    std::optional<State>& before = before_[index];
    bool changed = !before;
    if (before)
      changed = before->meet(state);
    else
      before = state;
    if (everywhere_) changed |= before->meet(*everywhere_);
    if (!changed || waits_[index]) return;
    waits_[index] = true;
    work_.push_back(index);
  }

  void reach_all(const State& state) {
    if (everywhere_ && !everywhere_->meet(state)) return;
    if (!everywhere_) everywhere_ = state;
    const State all = *everywhere_;
    for (std::size_t i = 0; i < before_.size(); ++i) reach(i, all);
  }

  // A function that has given its frame back jumps to another one. If it stays, then where it has no frame
  // either: at each instruction the stack is as deep on all ways, as unwind tables demand. At the begin of
  // the function it is called again. Where no other way leads, nothing says how deep the stack is. True: that
  // changed something.
  bool reach_by_jumps_without_frame() {
    if (!without_frame_ || !without_frame_is_new_) return false;
    without_frame_is_new_ = false;
    const State state = *without_frame_;
    for (std::size_t i = 1; i < before_.size(); ++i) {
      const bool possible = before_[i] ? before_[i]->may_have_no_frame() : !effects_.instructions[i].padding;
      if (possible) reach(i, state);
    }
    return true;
  }

  void jump_anywhere(const State& state) {
    if (!state.has_no_frame()) return reach_all(state);
    if (without_frame_)
      without_frame_is_new_ |= without_frame_->meet(state);
    else
      without_frame_ = state, without_frame_is_new_ = true;
  }

  void go_on(std::size_t index) {
    const Effect& effect = effects_.instructions[index];
    State state = *before_[index];
    state.apply(effect);
    switch (effect.flow) {
      case EffectFlow::kNext:
        return reach(index + 1, state);
      case EffectFlow::kBranch:
        reach(index + 1, state);
        [[fallthrough]];
      case EffectFlow::kJump:
        if (const auto target = index_of(effect.target)) reach(*target, state);
        return;
      case EffectFlow::kTable: {
        const auto& targets = targets_[static_cast<std::size_t>(effect.target)];
        for (const std::size_t target : targets) reach(target, state);
        if (targets.empty()) jump_anywhere(state);
        return;
      }
      case EffectFlow::kUnknown:
        return jump_anywhere(state);
      case EffectFlow::kEnd:
        return;
    }
  }

  const Effects& effects_;
  std::uint64_t address_;
  std::vector<std::optional<State>> before_;  // by instruction; nothing: no way leads there
  std::vector<char> waits_;                   // it is in `work_`
  std::deque<std::size_t> work_;
  std::vector<std::vector<std::size_t>> targets_;  // by table
  std::optional<State> everywhere_;                // what jumps bring that may lead anywhere
  std::optional<State> without_frame_;             // what those bring before which the frame was given back
  bool without_frame_is_new_ = false;
};

}  // namespace

FirstArgument FirstArgument::find(std::span<const std::byte> code, std::uint64_t address,
                                  const ReadWord& read) {
  FirstArgument out;
  out.address_ = address;
  const Effects effects = effects_of(code, address);
  const Flows flows(effects, address, read);
  for (std::size_t i = 0; i < effects.instructions.size(); ++i) {
    const auto& before = flows.before(i);
    if (!before) continue;
    const Effect& effect = effects.instructions[i];
    if (const Places places = before->places(); !places.none()) out.at_.push_back({effect.offset, places});
    if (effect.kind != EffectKind::kCall) continue;
    State during = *before;
    during.apply(effect);
    out.calls_.push_back({effect.offset + effect.length, effect.method, effect.by_register, during.places()});
  }
  return out;
}

Places FirstArgument::at(std::uint64_t address) const {
  const auto found = std::ranges::lower_bound(at_, address - address_, {},
                                              [](const Entry& e) { return std::uint64_t{e.offset}; });
  return found != at_.end() && found->offset == address - address_ ? found->places : Places{};
}

Places FirstArgument::during_call(std::uint64_t address) const {
  const auto found = std::ranges::lower_bound(calls_, address - address_, {},
                                              [](const Call& c) { return std::uint64_t{c.end}; });
  return found != calls_.end() && found->end == address - address_ ? found->places : Places{};
}

std::optional<FirstArgument::CallSite> FirstArgument::call_before(std::uint64_t address) const {
  const auto found = std::ranges::lower_bound(calls_, address - address_, {},
                                              [](const Call& c) { return std::uint64_t{c.end}; });
  if (found == calls_.end() || found->end != address - address_) return std::nullopt;
  return CallSite{found->method, found->by_register};
}

std::optional<std::uint64_t> value_in(const Places& places, const Frame& frame, std::uint64_t cfa,
                                      const StackView& stack) {
  for (unsigned rest = places.registers; rest != 0; rest &= rest - 1) {
    const auto reg = static_cast<unsigned>(std::countr_zero(rest));
    if (frame.has(reg)) return frame.value[reg];
  }
  for (std::size_t i = 0; i < places.slots; ++i) {
    if (const auto word = stack.read(cfa + static_cast<std::uint64_t>(std::int64_t{places.offsets[i]}));
        word.has_value())
      return word;
  }
  return std::nullopt;
}

}  // namespace tailor::unwind
