#include "daemon/query/symbols/symbols.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "daemon/profile/mapped_kind.h"
#include "daemon/query/symbols/debug_finder.h"
#include "daemon/query/symbols/fetched_names.h"
#include "daemon/query/symbols/readable_name.h"
#include "daemon/query/symbols/symbol_cache.h"
#include "proto/base/file_id.h"

namespace tailor::query {

RecordedFile recorded_file(const profile::RecordingInfo& info, const CodeFile& file) {
  RecordedFile out;
  out.build_id = file.build_id;
  out.machine = info.machine;
  if (info.wall_clock_ns != 0) {
    const TimeNs since_start = std::max(file.mapped, info.start) - info.start;
    out.mapped_ns = static_cast<std::int64_t>(info.wall_clock_ns) + since_start;
  }
  return out;
}

// Where no id was recorded with the mapping, the one of the file counts that was read for its names. Without
// that nothing says that the file at the path is the one that ran: what was read then counts alone.
NamedCode Symbols::function(const std::string& path, std::uint64_t file_offset,
                            const RecordedFile& recorded) {
  if (const auto* function = stored_.find(path, recorded.build_id, file_offset))
    return {readable_name(function->name), "", function->origin, function->address};
  if (recorded.build_id.empty()) {
    const auto told = stored_.count(path, "");
    const std::string read = stored_.file_id(path);
    if (!read.empty()) {
      RecordedFile with_id = recorded;
      with_id.build_id = read;
      return in_file(path, file_offset, with_id);
    }
    // One that is not told may have been left out, and is not the one at the path then.
    if (stored_.are_some_missing()) return {"", kNoRoom};
    if (told) return {"", *told > 0 ? kNoSymbol : kNoNames};
  }
  return in_file(path, file_offset, recorded);
}

NamedCode Symbols::in_file(const std::string& path, std::uint64_t file_offset, const RecordedFile& recorded) {
  const auto [it, added] = files_.try_emplace({path, recorded.build_id});
  File& file = it->second;
  if (added) {
    if (auto read = FunctionNames::read(path, recorded, setters_); read.ok())
      file.names = std::make_unique<FunctionNames>(*std::move(read));
    else
      file.why = path != profile::kVdsoPath && ::access(path.c_str(), F_OK) != 0 ? "the file is gone"
                                                                                 : read.error().message;
  }
  NamedCode here = file.names == nullptr ? NamedCode{"", file.why} : file.names->at(file_offset);
  if (!here.name.empty() || recorded.build_id.empty()) return here;
  NamedCode kept = in_cache(file, recorded.build_id, file_offset);
  return kept.name.empty() ? fetched(file, path, file_offset, recorded, std::move(here)) : kept;
}

// A function without a name says why nobody else names it, too.
NamedCode Symbols::fetched(File& file, const std::string& path, std::uint64_t file_offset,
                           const RecordedFile& recorded, NamedCode here) const {
  const bool is_served = !is_content_id(recorded.build_id) && path != profile::kVdsoPath;
  if (debug_finder() == nullptr || !is_served) return here;
  if (!std::exchange(file.asked_finder, true)) {
    auto names = fetch_names(*debug_finder(), path, recorded, file.names != nullptr, setters_);
    if (names)
      file.fetched = std::make_unique<FunctionNames>(*std::move(names));
    else
      file.why_not_fetched = names.error().message;
  }
  if (file.fetched == nullptr) {
    here.why += "; " + file.why_not_fetched;
    return here;
  }
  NamedCode found = file.fetched->at(file_offset);
  if (found.name.empty()) here.why += "; nor does what debuginfod has of it name it";
  return found.name.empty() ? here : found;
}

NamedCode Symbols::in_cache(File& file, const std::string& id, std::uint64_t file_offset) const {
  if (!std::exchange(file.asked_cache, true) && symbol_cache() != nullptr) {
    if (const auto names = symbol_cache()->find(id)) {
      file.cached.emplace().add(*names);
      file.cached->finish();
    }
  }
  const auto* function = file.cached ? file.cached->find("", id, file_offset) : nullptr;
  if (function == nullptr) return {};
  return {readable_name(function->name), "", function->origin, function->address};
}

std::string Symbols::name(const std::string& path, std::uint64_t file_offset, const RecordedFile& recorded) {
  const std::string file = path.substr(path.rfind('/') + 1);
  const std::string found = function(path, file_offset, recorded).name;
  return found.empty() ? fmt::format("{}+{:#x}", file, file_offset) : fmt::format("{} ({})", found, file);
}

}  // namespace tailor::query
