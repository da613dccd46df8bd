#include "daemon/query/function_sums.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tailor::query {
namespace {

constexpr std::size_t kMostPlaces = std::size_t{1} << 20;
constexpr std::size_t kMostNodes = std::size_t{1} << 22;
constexpr std::size_t kMostKnown = std::size_t{1} << 20;  // of all processes
constexpr int kMostAncestors = 16;

// Takes [begin, end) out of disjoint ranges.
template <typename Range, typename Split>
void clear_range(std::map<std::uint64_t, Range>& ranges, std::uint64_t begin, std::uint64_t end,
                 Split split) {
  auto at = ranges.lower_bound(begin);
  if (at != ranges.begin()) {
    auto before = std::prev(at);
    if (before->second.end > begin) {
      if (before->second.end > end) ranges.emplace(end, split(*before, end));
      before->second.end = begin;
    }
  }
  while (at != ranges.end() && at->first < end) {
    if (at->second.end > end) ranges.emplace(end, split(*at, end));
    at = ranges.erase(at);
  }
}

}  // namespace

FunctionSummer::FunctionSummer(LateNames* names) : names_(names) {
  sums_.nodes.push_back({0, 0});
  sums_.places.push_back({CodePlace::Kind::kTooMany});
}

void FunctionSummer::on_process(const profile::ProcessRecord& record) {
  Process& process = processes_[record.process];
  if (process.parent == record.parent && process.forked == record.forked) return;
  process.parent = record.parent;
  process.forked = record.forked;
  forget_known(process);
}

void FunctionSummer::on_mapping(const profile::MappingRecord& mapping) {
  if (mapping.size == 0 || mapping.begin > UINT64_MAX - mapping.size) return;
  Process& process = processes_[mapping.process];
  const std::uint64_t end = mapping.begin + mapping.size;
  const auto split = [](const auto& range, std::uint64_t at) {
    Range rest = range.second;
    rest.file_offset += at - range.first;
    return rest;
  };
  clear_range(process.mapped, mapping.begin, end, split);
  const auto [number, fresh] = file_numbers_.try_emplace({mapping.path, mapping.build_id},
                                                         static_cast<std::uint32_t>(sums_.files.size()));
  if (fresh) sums_.files.push_back({mapping.path, mapping.build_id, mapping.time});
  process.mapped.insert_or_assign(mapping.begin,
                                  Range{end, mapping.file_offset, number->second, mapping.time});
  forget_known(process);
  ++ranges_;
}

void FunctionSummer::on_code(ProcessId id, CodeId code, std::uint64_t begin, std::uint64_t size) {
  if (size == 0 || begin > UINT64_MAX - size) return;
  Process& process = processes_[id];
  clear_range(process.code, begin, begin + size,
              [](const auto& range, std::uint64_t) { return range.second; });
  process.code.insert_or_assign(begin, Code{begin + size, code});
  forget_known(process);
  ++ranges_;
}

void FunctionSummer::forget_known(Process& process) {
  known_ -= process.known.size();
  process.known.clear();
}

// Callers are looked up by the call itself, not by what comes after it.
std::uint32_t FunctionSummer::add(const profile::SampleRecord& sample) {
  Process& process = processes_[sample.process];
  chain_.clear();
  const bool kernel = sample.mode != profile::Mode::kUser;
  const profile::Attribution& attribution = sample.attribution;
  const bool in_code = attribution.code != 0 && attribution.how != profile::How::kCallchain;
  const auto user_leaf = [&](std::uint64_t address) {
    if (!in_code) return place_of(sample.process, process, address, sample.time);
    if (attribution.quality == profile::Quality::kTwoNames)
      return intern({CodePlace::Kind::kTwoNames, 0, sample.process, 0, 0});
    return intern({CodePlace::Kind::kGenerated, 0, sample.process, attribution.code, 0});
  };
  chain_.push_back(kernel ? intern({CodePlace::Kind::kKernel, 0, {}, 0, sample.ip}) : user_leaf(sample.ip));
  const profile::StackFrame* frame = sample.stack;
  sums_.with_chain += frame != nullptr;
  for (; frame != nullptr && profile::is_kernel_address(frame->address); frame = frame->caller)
    chain_.push_back(intern({CodePlace::Kind::kKernel, 0, {}, 0, frame->address - 1}));
  if (kernel && sample.user_ip != 0) chain_.push_back(user_leaf(sample.user_ip));
  for (; frame != nullptr; frame = frame->caller)
    chain_.push_back(place_of(sample.process, process, frame->address - 1, sample.time));
  std::uint32_t node = 0;
  for (auto place = chain_.rbegin(); place != chain_.rend(); ++place) node = node_of(node, *place);
  Cell& cell = sums_.cells[{node, sample.source, sample.process, attribution.execution}];
  const auto weight = static_cast<double>(sample.weight);
  ++cell.samples;
  cell.weight += weight;
  cell.weight_squares += weight * weight;
  return node;
}

std::uint32_t FunctionSummer::place_of(ProcessId id, Process& process, std::uint64_t address, TimeNs time) {
  if (names_ != nullptr && names_->knows(id)) {
    if (const auto code = names_->code_at(id, address, time)) {
      const auto kind = *code == 0 ? CodePlace::Kind::kTwoNames : CodePlace::Kind::kGenerated;
      return intern({kind, 0, id, *code, 0});
    }
  }
  if (const auto known = process.known.find(address); known != process.known.end()) return known->second;
  CodePlace place{CodePlace::Kind::kUnknown, 0, id, 0, address};
  const auto code = process.code.upper_bound(address);
  std::uint64_t begin = 0;
  if (code != process.code.begin() && address < std::prev(code)->second.end) {
    place = {CodePlace::Kind::kGenerated, 0, id, std::prev(code)->second.id, 0};
  } else if (const Range* range = find_mapping(process, address, begin)) {
    place = {CodePlace::Kind::kFile, range->file, {}, 0, address - begin + range->file_offset};
  }
  const std::uint32_t number = intern(place);
  if (known_ < kMostKnown && process.known.emplace(address, number).second) ++known_;
  return number;
}

// A forked child has what its parent had by then.
const FunctionSummer::Range* FunctionSummer::find_mapping(const Process& process, std::uint64_t address,
                                                          std::uint64_t& begin) const {
  const Process* of = &process;
  TimeNs by = kTimeMax;
  for (int generation = 0; generation < kMostAncestors; ++generation) {
    if (const auto after = of->mapped.upper_bound(address); after != of->mapped.begin()) {
      const auto& [from, range] = *std::prev(after);
      if (address < range.end && range.time <= by) {
        begin = from;
        return &range;
      }
    }
    const auto parent = processes_.find(of->parent);
    if (of->parent == ProcessId{} || parent == processes_.end()) return nullptr;
    by = of->forked;
    of = &parent->second;
  }
  return nullptr;
}

std::uint32_t FunctionSummer::intern(const CodePlace& place) {
  const auto known = place_numbers_.find(place);
  if (known != place_numbers_.end()) return known->second;
  if (sums_.places.size() >= kMostPlaces) return 0;
  const auto number = static_cast<std::uint32_t>(sums_.places.size());
  place_numbers_.emplace(place, number);
  sums_.places.push_back(place);
  return number;
}

std::uint32_t FunctionSummer::node_of(std::uint32_t caller, std::uint32_t place) {
  const std::uint64_t key = std::uint64_t{caller} << 32 | place;
  if (const auto known = node_numbers_.find(key); known != node_numbers_.end()) return known->second;
  // Beyond the limit the innermost frame still gets its own node, right below the root.
  if (sums_.nodes.size() >= kMostNodes && caller != 0) return node_of(0, place);
  const auto number = static_cast<std::uint32_t>(sums_.nodes.size());
  node_numbers_.emplace(key, number);
  sums_.nodes.push_back({caller, place});
  return number;
}

std::size_t FunctionSummer::bytes() const {
  constexpr std::size_t kNode = 64;  // of a map, beside what it holds
  return known_ * kNode + ranges_ * (sizeof(Range) + kNode) + processes_.size() * (sizeof(Process) + kNode) +
         sums_.places.size() * (2 * sizeof(CodePlace) + kNode) +
         sums_.nodes.size() * (sizeof(FunctionSums::Node) + kNode) +
         sums_.cells.size() * (sizeof(FunctionSums::Key) + sizeof(Cell) + kNode);
}

FunctionSums FunctionSummer::take() {
  return std::exchange(sums_, {});
}

}  // namespace tailor::query
