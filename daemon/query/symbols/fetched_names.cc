#include "daemon/query/symbols/fetched_names.h"

#include <fmt/format.h>

#include <utility>

#include "daemon/query/symbols/elf_file.h"
#include "proto/base/errors.h"

namespace tailor::query {
namespace {

std::string path_of(const UniqueFd& file) {
  return fmt::format("/proc/self/fd/{}", file.get());
}

// Fails for one that is not of that build.
Result<UniqueFd> fetch(DebugFinder& finder, DebugFinder::What what, const std::string& build_id) {
  DebugFinder::Found found = finder.find(what, build_id);
  if (!found.file) return unavailable(found.why);
  const auto file = ElfFile::open(path_of(found.file));
  if (!file || file->build_id() != build_id)
    return unavailable("debuginfod gave a file with another build id, which names nothing");
  return std::move(found.file);
}

}  // namespace

Result<FunctionNames> fetch_names(DebugFinder& finder, const std::string& path, const RecordedFile& recorded,
                                  bool is_here, const std::vector<std::string>& setters) {
  RecordedFile fetched = recorded;
  UniqueFd itself;
  if (!is_here) {
    auto file = fetch(finder, DebugFinder::What::kFile, recorded.build_id);
    if (!file) return file.error();
    itself = *std::move(file);
    fetched.read_at = path_of(itself);
  }
  const auto debug = fetch(finder, DebugFinder::What::kDebugFile, recorded.build_id);
  if (!debug && is_here) return debug.error();
  if (debug) fetched.debug_at = path_of(*debug);
  return FunctionNames::read(path, fetched, setters);
}

}  // namespace tailor::query
