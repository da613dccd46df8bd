#include "daemon/query/load/function_sums.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tailor::query {
namespace {

constexpr std::size_t kMostPlaces = std::size_t{1} << 20;
constexpr std::size_t kMostNodes = std::size_t{1} << 22;
constexpr std::size_t kMostKnown = std::size_t{1} << 20;  // of all processes

// Whether code whose name came late is what lies there. Of a perf map nothing says since when it holds, so a
// library that was mapped while the process ran is believed more.
bool is_there(const LateNames::CodeAt& code, const CodeTimeline::State& state) {
  if (state.code != 0 && state.loaded > code.loaded) return false;
  if (code.loaded != kTimeMin) return state.changed <= code.loaded;
  const bool library = state.mapped.kind == MappedCode::Kind::kFile && !state.mapped.of_program;
  return !library || state.mapped_from == kTimeMin;
}

}  // namespace

FunctionSummer::FunctionSummer(CodeTimelines& timelines, LateNames* names)
    : timelines_(timelines), names_(names) {
  sums_.nodes.push_back({0, 0});
  sums_.places.push_back({CodePlace::Kind::kTooMany});
}

void FunctionSummer::refresh(ProcessId id, Process& process, TimeNs time) {
  const std::uint64_t version = timelines_.ask(id, time);
  if (process.version == version) return;
  process.version = version;
  known_ -= process.known.size();
  process.known.clear();
  process.named_late.clear();
  if (names_ == nullptr) return;
  for (const auto& each : timelines_.line_of(id, kTimeMax)) {
    if (names_->knows(each.first)) process.named_late.push_back(each);
  }
}

std::uint32_t FunctionSummer::add(const profile::SampleRecord& sample) {
  Process& process = processes_[sample.process];
  refresh(sample.process, process, sample.time);
  chain_.clear();
  const profile::Attribution& attribution = sample.attribution;
  Process* of_kernel = nullptr;
  const auto kernel = [&](std::uint64_t address) {
    if (of_kernel == nullptr) {
      of_kernel = &processes_[ProcessId{}];
      refresh({}, *of_kernel, sample.time);
    }
    chain_.push_back(kernel_place_of(*of_kernel, address, sample.time));
  };
  const auto caller = [&](std::uint64_t address) {
    chain_.push_back(place_of(sample.process, process, address, sample.time));
  };
  const auto leaf = [&](std::uint64_t address) {
    if (!is_in_code(attribution)) return caller(address);
    const bool two = attribution.quality == profile::Quality::kTwoNames;
    chain_.push_back(
        two ? intern({CodePlace::Kind::kTwoNames, 0, sample.process, 0, 0})
            : intern({CodePlace::Kind::kGenerated, 0, sample.process, attribution.code, address}));
  };
  for_each_address(sample, kernel, leaf, caller);
  sums_.with_chain += sample.stack != nullptr;
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
  return remembered(process, address, time,
                    [&](Known& known) { return look_up(id, process, address, time, known); });
}

std::uint32_t FunctionSummer::kernel_place_of(Process& kernel, std::uint64_t address, TimeNs time) {
  return remembered(kernel, address, time,
                    [&](Known& known) { return look_up_kernel(address, time, known); });
}

template <typename LookUp>
std::uint32_t FunctionSummer::remembered(Process& process, std::uint64_t address, TimeNs time,
                                         const LookUp& look_up) {
  const auto found = process.known.find(address);
  if (found != process.known.end() && time >= found->second.from && time < found->second.until)
    return found->second.place;
  Known known{};
  known.place = intern(look_up(known));
  if (known.from > time || known.until <= time) return known.place;
  if (found != process.known.end()) {
    found->second = known;
  } else if (known_ < kMostKnown && process.known.emplace(address, known).second) {
    ++known_;
  }
  return known.place;
}

// `known` becomes how long it holds; never, where that is not known.
CodePlace FunctionSummer::look_up(ProcessId id, const Process& process, std::uint64_t address, TimeNs time,
                                  Known& known) {
  const auto [state, of_code] = timelines_.find(id, address, time);
  for (const auto& [named, until] : process.named_late) {
    const auto code = names_->code_at(named, address, std::min(time, until));
    if (!code || !is_there(*code, state)) continue;
    return {CodePlace::Kind::kGenerated, 0, named, code->id, address};
  }
  if (process.named_late.empty()) {
    known.from = state.from;
    known.until = state.until;
  }
  if (state.code != 0) return {CodePlace::Kind::kGenerated, 0, of_code, state.code, address};
  if (state.mapped.kind == MappedCode::Kind::kFile || state.mapped.kind == MappedCode::Kind::kMemory)
    return {CodePlace::Kind::kFile, state.mapped.file, {}, 0, address - state.mapped.bias};
  return {CodePlace::Kind::kUnknown, 0, id, 0, address};
}

CodePlace FunctionSummer::look_up_kernel(std::uint64_t address, TimeNs time, Known& known) {
  const CodeTimeline::State state = timelines_.find_loaded_by_kernel(address, time);
  known.from = state.from;
  known.until = state.until;
  if (state.mapped.kind == MappedCode::Kind::kUnknown) return {CodePlace::Kind::kKernel, 0, {}, 0, address};
  return {CodePlace::Kind::kKernelLoaded, state.mapped.file, {}, 0, address - state.mapped.bias};
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
  return known_ * (kNode + sizeof(Known)) + processes_.size() * (sizeof(Process) + kNode) +
         sums_.places.size() * (2 * sizeof(CodePlace) + kNode) +
         sums_.nodes.size() * (sizeof(FunctionSums::Node) + kNode) +
         sums_.cells.size() * (sizeof(FunctionSums::Key) + sizeof(Cell) + kNode);
}

FunctionSums FunctionSummer::take() {
  sums_.files = timelines_.files();
  return std::exchange(sums_, {});
}

}  // namespace tailor::query
