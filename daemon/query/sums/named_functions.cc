#include "daemon/query/sums/named_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "daemon/profile/mapped_kind.h"
#include "daemon/query/symbols/readable_name.h"
#include "daemon/query/symbols/symbols.h"
#include "proto/base/utf8.h"

namespace tailor::query {
namespace {

constexpr const char* kNotStored = "the profile does not name it";
constexpr const char* kAnonymous = "anonymous memory, no perf map";

class Namer {
 public:
  Namer(const Profile& profile, const std::vector<std::string>& setters, NamesFrom from)
      : profile_(profile), info_(profile.recording()), from_(from), symbols_(profile.names(), setters) {}

  Function name(const CodePlace& place) {
    using Kind = CodePlace::Kind;
    switch (place.kind) {
      case Kind::kFile:
        return in_file(profile_.functions().files[place.file], place.address);
      case Kind::kKernel:
        return in_kernel(place.address);
      case Kind::kKernelLoaded:
        return loaded_by_kernel(profile_.functions().files[place.file].path);
      case Kind::kGenerated:
        return generated(place);
      case Kind::kTwoNames:
        return {Function::Kind::kGenerated, "[two names]", "[jit]"};
      case Kind::kTooMany:
        return {Function::Kind::kUnknown, "[too many places]", ""};
      case Kind::kUnknown:
        break;
    }
    return {Function::Kind::kUnknown, "", "", kAnonymous};
  }

 private:
  Function generated(const CodePlace& place) const {
    const CodeInfo* code = profile_.code(place.process, place.code);
    if (code == nullptr) return {Function::Kind::kGenerated, "", "[jit]", "the profile has lost this code"};
    const std::string& name = code->function_at(place.address);
    return {Function::Kind::kGenerated, name, "[jit]", name.empty() ? "nobody gave it a name" : ""};
  }

  Function in_kernel(std::uint64_t address) {
    if (const auto* told = profile_.names().find(profile::kKernelPath, "", address))
      return {Function::Kind::kKernel, told->name, told->origin, "", "", told->begin};
    if (from_ == NamesFrom::kProfile) return {Function::Kind::kKernel, "", "[kernel]", kNotStored};
    if (!kernel_) kernel_.emplace(KernelNames::of_recording(info_));
    const KernelNames::Function found = kernel_->at(address);
    return {Function::Kind::kKernel,
            std::string(found.name),
            std::string(found.object),
            std::string(found.why),
            "",
            found.begin};
  }

  // It may be loaded again elsewhere, and is the same function there.
  static Function loaded_by_kernel(const std::string& told) {
    const std::string path = replace_non_utf8(told);
    const std::size_t object = std::min(path.find(' '), path.size());
    return {Function::Kind::kKernel, path.substr(std::min(object + 1, path.size())), path.substr(0, object)};
  }

  Function in_file(const CodeFile& file, std::uint64_t offset) {
    Function out;
    // The file is looked for by the bytes of its path, and shown as text.
    const std::string shown = replace_non_utf8(file.path);
    out.object = shown.substr(shown.rfind('/') + 1);
    if (shown.starts_with('[')) out.name = shown;
    if (!profile::can_have_names(file.path, file.build_id)) return out;
    NamedCode found = in_file_or_profile(file, offset);
    if (found.name.empty() && !out.name.empty()) return out;
    if (found.name.empty() && is_generated(file, found.why))
      return {Function::Kind::kUnknown, "", std::move(out.object), kAnonymous};
    out.name = std::move(found.name);
    out.why = replace_non_utf8(found.why);  // it may have the path
    out.source = std::move(found.source);
    out.begin = found.begin;
    return out;
  }

  // An id, or what the recording read of it, says that a program or a library is there.
  bool is_generated(const CodeFile& file, const std::string& why) const {
    return profile::is_memory_by_path(file.path) && file.build_id.empty() && why != kNoSymbol &&
           why != kNoRoom && profile_.names().file_id(file.path).empty();
  }

  NamedCode in_file_or_profile(const CodeFile& file, std::uint64_t offset) {
    const RecordedFile recorded = recorded_file(info_, file);
    if (from_ == NamesFrom::kFilesToo) return symbols_.function(file.path, offset, recorded);
    const auto* told = profile_.names().find(file.path, recorded.build_id, offset);
    if (told == nullptr) return {"", kNotStored};
    return {readable_name(told->name), "", told->origin, told->address};
  }

  const Profile& profile_;
  const profile::RecordingInfo& info_;
  const NamesFrom from_;
  std::optional<KernelNames> kernel_;  // read where the profile does not say it
  Symbols symbols_;
};

}  // namespace

NamedFunctions::NamedFunctions(const Profile& profile, const std::vector<std::string>& setters,
                               NamesFrom from) {
  Namer namer(profile, setters, from);
  for (const CodePlace& place : profile.functions().places) {
    const auto [at, fresh] =
        numbers_.try_emplace(namer.name(place), static_cast<std::uint32_t>(numbers_.size()));
    if (fresh) functions_.push_back(&at->first);
    of_place_.push_back(at->second);
  }
}

void NamedFunctions::chain_of(const FunctionSums& sums, std::uint32_t node,
                              std::vector<std::uint32_t>& chain) const {
  chain.clear();
  for (; node != 0 && chain.size() < kMostDepth; node = sums.nodes[node].caller)
    chain.push_back(of_place_[sums.nodes[node].place]);
}

std::string place_name(const CodePlace& place, const Function& function) {
  const bool offset = place.kind == CodePlace::Kind::kFile || place.kind == CodePlace::Kind::kKernelLoaded;
  return fmt::format("{}{}0x{:x}", offset ? function.object : "", offset ? "+" : "", place.address);
}

std::string_view function_kind_key(Function::Kind kind) {
  switch (kind) {
    case Function::Kind::kUser:
      return "user";
    case Function::Kind::kKernel:
      return "kernel";
    case Function::Kind::kGenerated:
      return "generated";
    case Function::Kind::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace tailor::query
