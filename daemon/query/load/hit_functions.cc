#include "daemon/query/load/hit_functions.h"

#include <algorithm>

#include "daemon/profile/mapped_kind.h"
#include "daemon/query/load/function_sums.h"

namespace tailor::query {
namespace {

constexpr std::size_t kMostHits = std::size_t{1} << 20;
constexpr std::size_t kMostNoted = std::size_t{1} << 20;

profile::FileNames::Function function_at(const FunctionNames::Found& found, std::uint64_t offset) {
  const ElfFunction& function = *found.function;
  // One that begins in another part of the file than it goes on in: from here on.
  const bool here = found.address - function.begin <= offset;
  const std::uint64_t begin = here ? function.begin : found.address;
  return {offset - (found.address - begin), function.end - begin, begin, function.name, function.source};
}

}  // namespace

profile::FileNames names_of_file(const profile::RecordingInfo& info, const CodeFile& file,
                                 const std::unordered_set<std::uint64_t>& offsets, const FindKept& kept,
                                 const SymbolCache* cache) {
  const KeptFile found = kept ? kept(file.path, file.build_id) : KeptFile{};
  if (found.is == KeptFile::Is::kLost) return {file.path, file.build_id, {}};
  RecordedFile recorded = recorded_file(info, file);
  recorded.identify = file.build_id.empty();
  if (found.is == KeptFile::Is::kKept) {
    recorded.read_at = found.path;
    recorded.mapped_ns = INT64_MAX;
    recorded.within = found.within;
    recorded.within_as = found.within_as;
  }
  const auto functions = FunctionNames::read(file.path, recorded);
  if (!functions) return {};
  std::map<std::uint64_t, profile::FileNames::Function> hit;
  for (const std::uint64_t offset : offsets) {
    const FunctionNames::Found at = functions->find(offset);
    if (at.function == nullptr) continue;
    profile::FileNames::Function function = function_at(at, offset);
    hit.try_emplace(function.begin, std::move(function));
  }
  profile::FileNames out{file.path, file.build_id, {}, functions->file().file_id};
  for (auto& [begin, function] : hit) out.functions.push_back(std::move(function));
  if (cache != nullptr && !out.functions.empty())
    cache->keep(file.build_id.empty() ? out.file_id : file.build_id, functions->file());
  return out;
}

profile::FileNames names_of_kernel(const profile::RecordingInfo& info,
                                   const std::unordered_set<std::uint64_t>& addresses, const KernelAt& at) {
  profile::FileNames out{profile::kKernelPath, "", {}};
  if (addresses.empty()) return out;
  const KernelNames names = KernelNames::of_recording(info, at);
  std::map<std::uint64_t, profile::FileNames::Function> hit;
  for (const std::uint64_t address : addresses) {
    const KernelNames::Function function = names.at(address);
    if (function.name.empty()) continue;
    hit.try_emplace(function.begin, profile::FileNames::Function{
                                        function.begin, function.end - function.begin, function.begin,
                                        std::string(function.name), std::string(function.object)});
  }
  for (auto& [begin, function] : hit) out.functions.push_back(std::move(function));
  return out;
}

void HitFunctions::on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) {
  if (code.told_by() != v1::TOLD_BY_AGENT) return;
  const std::uint64_t size = code.size() != 0 ? code.size() : code.code().size();
  timelines_.on_code(process, loaded, code.id(), code.base(), size);
}

void HitFunctions::on_samples(std::span<const profile::SampleRecord> samples) {
  for (const profile::SampleRecord& sample : samples) note(sample);
}

void HitFunctions::note(const profile::SampleRecord& sample) {
  Process& process = processes_[sample.process];
  if (const std::uint64_t version = timelines_.ask(sample.process, sample.time); version != process.version) {
    process.version = version;
    noted_ -= process.noted.size();
    process.noted.clear();
  }
  const auto caller = [&](std::uint64_t address) {
    note_user(sample.process, process, address, sample.time);
  };
  const auto leaf = [&](std::uint64_t address) {
    if (!is_in_code(sample.attribution)) caller(address);
  };
  for_each_address(sample, [&](std::uint64_t address) { note_kernel(address, sample.time); }, leaf, caller);
}

void HitFunctions::note_user(ProcessId id, Process& process, std::uint64_t address, TimeNs time) {
  const auto known = process.noted.find(address);
  if (known != process.noted.end() && time >= known->second.from && time < known->second.until) return;
  const CodeTimeline::State state = timelines_.find(id, address, time).state;
  const Noted noted{state.from, state.until};
  if (known != process.noted.end()) {
    known->second = noted;
  } else if (noted_ < kMostNoted && process.noted.emplace(address, noted).second) {
    ++noted_;
  }
  const bool of_file =
      state.mapped.kind == MappedCode::Kind::kFile || state.mapped.kind == MappedCode::Kind::kMemory;
  if (state.code != 0 || !of_file || hits_ >= kMostHits) return;
  hits_ += files_[state.mapped.file].insert(address - state.mapped.bias).second ? 1 : 0;
}

// Code that the kernel loaded while it ran has the name that it was loaded by.
void HitFunctions::note_kernel(std::uint64_t address, TimeNs time) {
  if (hits_ >= kMostHits || kernel_.contains(address)) return;
  if (timelines_.find_loaded_by_kernel(address, time).mapped.kind != MappedCode::Kind::kUnknown) return;
  hits_ += kernel_.insert(address).second ? 1 : 0;
}

std::vector<profile::FileNames> HitFunctions::names(const FindKept& kept, const SymbolCache* cache) const {
  std::vector<profile::FileNames> out;
  for (const auto& [file, offsets] : files_) {
    const CodeFile& known = timelines_.files()[file];
    if (!profile::can_have_names(known.path, known.build_id)) continue;
    if (profile::FileNames names = names_of_file(info_, known, offsets, kept, cache); !names.path.empty())
      out.push_back(std::move(names));
  }
  if (profile::FileNames names = names_of_kernel(info_, kernel_, kernel_at_); !names.functions.empty())
    out.push_back(std::move(names));
  return out;
}

}  // namespace tailor::query
