// Which process was forked off which: a data segment needs the dictionaries of both, and so does a file of
// one process's own.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "daemon/store/catalogue.h"
#include "daemon/store/sqlite_statement.h"

namespace tailor::store {
namespace {

// As many as reports follow: query/code/code_timelines.h.
constexpr std::size_t kMostParents = 16;

// The reverse of parent_entry_name(). {}: it says nothing.
ProcessId parent_of(const std::string& name) {
  ProcessId parent;
  const char* end = name.data() + name.size();
  const auto pid = std::from_chars(name.data(), end, parent.pid);
  if (pid.ec != std::errc() || pid.ptr == end) return {};
  const auto start = std::from_chars(pid.ptr + 1, end, parent.start);
  return start.ec == std::errc() ? parent : ProcessId{};
}

}  // namespace

std::string parent_entry_name(ProcessId parent) {
  return fmt::format("{} {}", parent.pid, parent.start);
}

Result<std::vector<ProcessId>> Catalogue::parents_of(RecordingNumber recording, ProcessId process) const {
  constexpr auto kKind = static_cast<int>(EntryKind::kParent);
  std::vector<ProcessId> parents;
  while (parents.size() < kMostParents) {
    Statement statement(db_,
                        "SELECT name FROM entry WHERE recording=? AND pid=? AND start=? AND kind=? AND id=0 "
                        "ORDER BY segment DESC LIMIT 1");
    statement << recording << process.pid << process.start << kKind;
    auto row = statement.next();
    if (!row) return row.error();
    process = *row ? parent_of(statement.text(0)) : ProcessId{};
    if (process == ProcessId{} || std::ranges::find(parents, process) != parents.end()) break;
    parents.push_back(process);
  }
  return parents;
}

Result<std::vector<std::uint64_t>> Catalogue::segments_with_code_of(RecordingNumber recording,
                                                                    ProcessId process) const {
  Statement statement(
      db_, "SELECT DISTINCT segment FROM entry WHERE recording=? AND pid=? AND start=? AND kind IN (?, ?)");
  statement << recording << process.pid << process.start << static_cast<int>(EntryKind::kProcess)
            << static_cast<int>(EntryKind::kCode);
  return statement.all([](const Statement& row) { return row.number(0); });
}

}  // namespace tailor::store
