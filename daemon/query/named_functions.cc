#include "daemon/query/named_functions.h"

#include <algorithm>

#include "daemon/query/symbols.h"

namespace tailor::query {
namespace {

class Namer {
 public:
  Namer(const Profile& profile, const std::vector<std::string>& setters)
      : profile_(profile),
        info_(profile.recording()),
        kernel_(KernelNames::of_recording(info_.kernel,
                                          static_cast<std::int64_t>(info_.wall_clock_ns) - info_.start)),
        symbols_(setters) {}

  Function name(const CodePlace& place) {
    using Kind = CodePlace::Kind;
    switch (place.kind) {
      case Kind::kFile:
        return in_file(profile_.functions().files[place.file], place.address);
      case Kind::kKernel: {
        const KernelNames::Function found = kernel_.at(place.address);
        return {Function::Kind::kKernel, std::string(found.name), std::string(found.object)};
      }
      case Kind::kGenerated: {
        const CodeInfo* code = profile_.code(place.process, place.code);
        return {Function::Kind::kGenerated, code == nullptr ? "" : code->name, "[jit]"};
      }
      case Kind::kTwoNames:
        return {Function::Kind::kGenerated, "[two names]", "[jit]"};
      case Kind::kTooMany:
        return {Function::Kind::kUnknown, "[too many places]", ""};
      case Kind::kUnknown:
        break;
    }
    return {Function::Kind::kUnknown, "", ""};
  }

 private:
  Function in_file(const CodeFile& file, std::uint64_t offset) {
    Function out;
    out.object = file.path.substr(file.path.rfind('/') + 1);
    if (file.path.starts_with('[')) out.name = file.path;
    if (!file.path.starts_with('/')) return out;
    if (info_.wall_clock_ns == 0) {
      out.name = symbols_.function(file.path, offset, INT64_MAX, file.build_id);
      return out;
    }
    const TimeNs since_start = std::max(file.mapped, info_.start) - info_.start;
    out.name = symbols_.function(file.path, offset,
                                 static_cast<std::int64_t>(info_.wall_clock_ns) + since_start, file.build_id);
    return out;
  }

  const Profile& profile_;
  const profile::RecordingInfo& info_;
  KernelNames kernel_;
  Symbols symbols_;
};

}  // namespace

NamedFunctions::NamedFunctions(const Profile& profile, const std::vector<std::string>& setters) {
  Namer namer(profile, setters);
  for (const CodePlace& place : profile.functions().places) {
    const auto [at, fresh] =
        numbers_.try_emplace(namer.name(place), static_cast<std::uint32_t>(numbers_.size()));
    if (fresh) functions_.push_back(&at->first);
    of_place_.push_back(at->second);
  }
}

}  // namespace tailor::query
