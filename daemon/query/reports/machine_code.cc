#include "daemon/query/reports/machine_code.h"

#include <algorithm>
#include <map>

#include "daemon/query/reports/disassembler.h"

namespace tailor::query {
namespace {

// Of all code objects together; beyond, only instructions with samples are listed.
constexpr std::size_t kMostInstructions = std::size_t{1} << 17;
// What a hostile table may cost: lines named of an instruction.
constexpr std::size_t kMostLines = 64;

// The sums of one code object by offset.
using OffsetSums = std::map<std::uint32_t, Amount>;

std::map<InProcess<CodeId>, OffsetSums> sums_of(const Profile& profile, const Selection& selection,
                                                std::uint16_t source, ProcessId process, PlanId plan) {
  std::map<InProcess<CodeId>, OffsetSums> out;
  for (const SpotSum& sum : profile.code_sums().sums) {
    const CellKey key = profile.for_leader(*sum.key);
    const auto [led_by, execution] = profile.led_by(sum.key->process, sum.key->execution);
    if (key.source != source || key.process != process || key.plan != plan) continue;
    if (!selected(selection, led_by, execution)) continue;
    const CodeSpot& spot = profile.code_sums().spots[sum.spot];
    const bool shared = key.quality == profile::Quality::kShared;
    out[{spot.process, spot.code}][spot.offset].add(sum.cell, *sum.key, 1, shared);
  }
  return out;
}

// The row table of a code object, read from its first row to its last.
class RowReader {
 public:
  explicit RowReader(const v1::RowTable& rows) : rows_(rows) { step(); }

  // What the row that holds `offset` says; offsets must not fall.
  void fill(std::uint32_t offset, NativeInstruction& out) {
    while (next_ < count() && next_offset_ <= offset) {
      link_ += static_cast<std::uint32_t>(rows_.link_delta(next_));
      flag_ = static_cast<unsigned char>(rows_.flags()[static_cast<std::size_t>(next_)]);
      ++next_;
      step();
    }
    if (next_ == 0) return;
    out.quality = flag_ <= static_cast<int>(profile::Quality::kUnmapped)
                      ? static_cast<profile::Quality>(flag_)
                      : profile::Quality::kUnmapped;
    if (link_ == 0) return;
    if ((link_ & 1) == 0) {
      out.lines = {link_ >> 1};
      return;
    }
    const std::uint32_t set = link_ >> 1;
    if (set >= static_cast<std::uint32_t>(rows_.link_sets_size())) return;
    const auto& ids = rows_.link_sets(static_cast<int>(set)).ids();
    const auto named = static_cast<std::ptrdiff_t>(std::min<std::size_t>(ids.size(), kMostLines));
    out.lines.assign(ids.begin(), ids.begin() + named);
    std::ranges::sort(out.lines);
  }

 private:
  int count() const {
    return std::min({rows_.offset_delta_size(), rows_.link_delta_size(),
                     static_cast<int>(std::min<std::size_t>(rows_.flags().size(), INT32_MAX))});
  }
  void step() {
    if (next_ < count()) next_offset_ += rows_.offset_delta(next_);
  }

  const v1::RowTable& rows_;
  int next_ = 0;  // row
  std::uint64_t next_offset_ = 0;
  std::uint32_t link_ = 0;
  int flag_ = 0;
};

std::map<std::uint32_t, std::string> functions_of(const v1::CodeObject& code) {
  std::map<std::uint32_t, std::string> out;
  for (const v1::CodeSymbol& symbol : code.symbols()) out.try_emplace(symbol.offset(), symbol.name());
  return out;
}

// Lists the instructions of one code object; `left` is how many without samples may still be listed.
void list(const v1::CodeObject& code, const OffsetSums& sums, const Scale& scale, std::size_t& left,
          NativeCode& out) {
  RowReader rows(code.rows());
  const auto functions = functions_of(code);
  Disassembler disassembler(code.code(), code.base());
  const auto add = [&](std::uint32_t offset, std::uint32_t end, bool readable) {
    Amount amount;
    const auto last = sums.lower_bound(std::min(end, CodeSpot::kSomewhere));
    for (auto sum = sums.lower_bound(offset); sum != last; ++sum) amount.add(sum->second);
    if (amount.samples == 0 && left == 0) {
      out.complete = false;
      return;
    }
    if (amount.samples == 0) --left;
    NativeInstruction instruction;
    instruction.offset = offset;
    rows.fill(offset, instruction);
    if (readable) instruction.text = disassembler.text_at(offset);
    if (const auto function = functions.find(offset); function != functions.end())
      instruction.function = function->second;
    instruction.cost = scale(amount);
    out.instructions.push_back(std::move(instruction));
  };
  const std::size_t size = std::min<std::size_t>(code.code().size(), CodeSpot::kSomewhere);
  for (std::size_t at = 0; at < size;) {
    const std::size_t length = disassembler.length_at(at);
    add(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + length), true);
    at += length;
  }
  // Of code that nobody could read, the offsets.
  for (auto sum = sums.lower_bound(static_cast<std::uint32_t>(size)); sum != sums.end(); ++sum) {
    if (sum->first != CodeSpot::kSomewhere) add(sum->first, sum->first + 1, false);
  }
}

}  // namespace

std::vector<NativeCode> machine_code(const Profile& profile, const Selection& selection, std::uint16_t source,
                                     ProcessId process, PlanId plan, const Scale& scale) {
  const auto sums = sums_of(profile, selection, source, process, plan);
  std::vector<NativeCode> out;
  for (const auto& [id, offsets] : sums) {
    const v1::CodeObject* code = profile.code_object(id.first, id.second);
    NativeCode& object = out.emplace_back();
    object.process = id.first;
    object.code = id.second;
    if (code != nullptr) {
      object.name = code->name();
      object.tier = code->tier();
      object.base = code->base();
    }
    Amount all;
    for (const auto& [offset, amount] : offsets) all.add(amount);
    object.cost = scale(all);
    const auto somewhere = offsets.find(CodeSpot::kSomewhere);
    object.somewhere = scale(somewhere == offsets.end() ? Amount{} : somewhere->second);
  }
  std::ranges::stable_sort(
      out, [](const auto& a, const auto& b) { return a.cost.amount.weight > b.cost.amount.weight; });
  std::size_t left = kMostInstructions;
  static const v1::CodeObject unknown;
  for (NativeCode& object : out) {
    const v1::CodeObject* code = profile.code_object(object.process, object.code);
    list(code == nullptr ? unknown : *code, sums.at({object.process, object.code}), scale, left, object);
  }
  return out;
}

}  // namespace tailor::query
