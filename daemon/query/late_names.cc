#include "daemon/query/late_names.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tailor::query {
namespace {

using profile::How;
using profile::Quality;

// Of one process; a runtime that makes more of it says the rest in vain.
constexpr std::size_t kMostCodes = std::size_t{1} << 20;

// Bounded work for code that is loaded at one address again and again: the oldest are forgotten.
constexpr std::size_t kMostOfASpan = 4096;
constexpr std::size_t kMostInSpans = std::size_t{1} << 24;

std::uint64_t size_of(const v1::CodeObject& code) {
  return code.size() != 0 ? code.size() : code.code().size();
}

}  // namespace

void LateNames::on_code(ProcessId id, TimeNs loaded, const v1::CodeObject& code) {
  const std::uint64_t size = size_of(code);
  if (code.told_by() == v1::TOLD_BY_AGENT || size == 0 || code.base() > UINT64_MAX - size) return;
  Process& process = processes_[id];
  if (process.codes.size() >= kMostCodes) return;
  Code& kept = process.codes.emplace_back();
  kept.id = code.id();
  kept.plan = code.plan_id();
  kept.loaded = code.told_by() == v1::TOLD_BY_PERF_MAP ? kTimeMin : loaded;
  kept.begin = code.base();
  kept.end = code.base() + size;
  kept.name = names_.try_emplace(code.name(), static_cast<std::uint32_t>(names_.size())).first->second;
  process.untimed |= code.told_by() == v1::TOLD_BY_PERF_MAP;
  process.settled = false;
  constexpr std::size_t kSpans = 2 * (sizeof(Span) + sizeof(std::uint32_t));  // where pieces do not overlap
  bytes_ += sizeof kept + kSpans + code.name().size() + 64;
  const v1::RowTable& rows = code.rows();
  kept.level = code.told_by() == v1::TOLD_BY_PERF_MAP ? 0 : 1;  // foreign::ForeignPlan
  std::uint32_t offset = 0, link = 0;
  for (int i = 0; i < rows.offset_delta_size() && i < rows.link_delta_size(); ++i) {
    offset += rows.offset_delta(i);
    link += static_cast<std::uint32_t>(rows.link_delta(i));
    const bool untimed = code.told_by() == v1::TOLD_BY_PERF_MAP;
    kept.rows.push_back({offset, link, untimed ? Quality::kInferred : Quality::kExact});
  }
  bytes_ += kept.rows.capacity() * sizeof(Row);
}

// Cuts the address space at every begin and end.
void LateNames::settle(Process& process) {
  process.settled = true;
  process.spans.clear();
  std::vector<std::uint64_t> cuts;
  for (const Code& code : process.codes) {
    cuts.push_back(code.begin);
    cuts.push_back(code.end);
  }
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<std::uint32_t> order(process.codes.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return process.codes[i].begin; });
  std::vector<std::uint32_t> open;
  std::size_t next = 0, kept = 0;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    std::erase_if(open, [&](std::uint32_t c) { return process.codes[c].end <= cuts[i]; });
    for (; next < order.size() && process.codes[order[next]].begin == cuts[i]; ++next) {
      if (open.size() < kMostOfASpan) open.push_back(order[next]);
    }
    if (open.empty() || (kept += open.size()) > kMostInSpans) continue;
    Span& span = process.spans.emplace_back(Span{cuts[i], cuts[i + 1], open, false});
    std::ranges::sort(span.codes);  // the order in which they were said
    std::ranges::stable_sort(span.codes, {}, [&](std::uint32_t c) { return process.codes[c].loaded; });
    const std::uint32_t first = process.codes[span.codes.front()].name;
    span.two_names = process.untimed && std::ranges::any_of(span.codes, [&](std::uint32_t c) {
                       return process.codes[c].name != first;
                     });
  }
}

std::optional<LateNames::Found> LateNames::find(ProcessId id, std::uint64_t address, TimeNs time) {
  const auto known = processes_.find(id);
  if (known == processes_.end() || address == 0) return std::nullopt;
  Process& process = known->second;
  if (!process.settled) settle(process);
  const auto after = std::ranges::upper_bound(process.spans, address, {}, &Span::begin);
  if (after == process.spans.begin() || address >= std::prev(after)->end) return std::nullopt;
  const Span& span = *std::prev(after);
  // The last that was loaded by then.
  const auto later = std::ranges::upper_bound(span.codes, time, {},
                                              [&](std::uint32_t c) { return process.codes[c].loaded; });
  if (later == span.codes.begin()) return std::nullopt;
  return Found{&process.codes[*std::prev(later)], span.two_names};
}

void LateNames::name(const Found& found, std::uint64_t address, How how, profile::Attribution& attribution) {
  const Code& code = *found.code;
  attribution.how = how;
  attribution.reason = profile::Reason::kNone;
  attribution.code = code.id;
  attribution.plan = code.plan;
  attribution.level = code.level;
  attribution.engine_component = 0;
  const auto after = std::ranges::upper_bound(code.rows, address - code.begin, {}, &Row::offset);
  const bool owned = !found.two_names && after != code.rows.begin();
  attribution.link = owned ? std::prev(after)->link : 0;
  attribution.quality = owned             ? std::prev(after)->quality
                        : found.two_names ? Quality::kTwoNames
                                          : Quality::kUnmapped;
}

bool LateNames::apply(profile::SampleRecord& sample) {
  profile::Attribution& attribution = sample.attribution;
  const bool unattributed = attribution.how == How::kUnattributed;
  const bool by_address = attribution.how == How::kCode || attribution.how == How::kKernelCode ||
                          attribution.how == How::kCallchain;
  if (!unattributed && !by_address) return false;
  const bool kernel = sample.mode != profile::Mode::kUser;
  const std::uint64_t address = kernel ? sample.user_ip : sample.ip;
  if (const auto found = find(sample.process, address, sample.time)) {
    name(*found, address, kernel ? How::kKernelCode : How::kCode, attribution);
    return unattributed;
  }
  if (!unattributed) return false;
  for (const profile::StackFrame* frame = sample.stack; frame != nullptr; frame = frame->caller) {
    if (profile::is_kernel_address(frame->address) || frame->address < 2) continue;
    const auto found = find(sample.process, frame->address - 1, sample.time);
    if (!found) continue;
    name(*found, frame->address - 1, How::kCallchain, attribution);
    return true;
  }
  return false;
}

std::optional<CodeId> LateNames::code_at(ProcessId process, std::uint64_t address, TimeNs time) {
  const auto found = find(process, address, time);
  if (!found) return std::nullopt;
  return found->two_names ? 0 : found->code->id;
}

}  // namespace tailor::query
