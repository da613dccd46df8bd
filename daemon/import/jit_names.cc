#include "daemon/import/jit_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <set>
#include <span>

#include "daemon/foreign/foreign_plan.h"
#include "daemon/formats/jitdump.h"
#include "daemon/formats/perf_map.h"
#include "daemon/import/perf_import.h"
#include "proto/base/unique_fd.h"

namespace tailor::importer {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;
constexpr std::uint64_t kMostOfAMap = std::uint64_t{256} << 20;
constexpr std::size_t kPiece = std::size_t{1} << 20;

struct Opened {
  UniqueFd file;
  std::uint64_t size = 0;
  std::int64_t written_ns = 0;
};

std::optional<Opened> open_regular(const std::string& path) {
  Opened out;
  out.file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info{};
  if (!out.file || ::fstat(out.file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  out.size = static_cast<std::uint64_t>(info.st_size);
  out.written_ns = info.st_mtim.tv_sec * std::int64_t{1'000'000'000} + info.st_mtim.tv_nsec;
  return out;
}

std::size_t read_at(const UniqueFd& file, std::uint64_t offset, std::span<char> to) {
  std::size_t got = 0;
  while (got < to.size()) {
    const ssize_t n = ::pread(file.get(), to.data() + got, to.size() - got, static_cast<off_t>(offset + got));
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  return got;
}

// perf-123.map, jit-123.dump: 0 if there is no such number.
std::int32_t pid_of(const std::string& path, std::string_view before, std::string_view after) {
  const std::string name = path.substr(path.rfind('/') + 1);
  std::int32_t pid = 0;
  if (!name.starts_with(before) || !name.ends_with(after)) return 0;
  std::from_chars(name.data() + before.size(), name.data() + name.size(), pid);
  return pid;
}

}  // namespace

void JitNames::add(const PerfImportOptions& options, const ObservingSink& seen,
                   const profile::RecordingInfo& info) {
  std::set<std::int32_t> named;
  for (const std::string& path : options.jitdumps) {
    if (add_jitdump(path, 0))
      named.insert(pid_of(path, "jit-", ".dump"));
    else
      notes_.push_back(path + ": no jitdump that can be read");
  }
  for (const std::string& path : options.perf_maps) {
    const std::int32_t pid = pid_of(path, "perf-", ".map");
    if (pid != 0 && add_perf_map(path, pid, INT64_MIN))
      named.insert(pid);
    else
      notes_.push_back(path + ": no perf map that can be read (its name says whose it is: perf-PID.map)");
  }
  if (!options.find_names) return;
  const auto began = static_cast<std::int64_t>(info.wall_clock_ns);
  for (const ProcessId& process : seen.processes()) {
    if (process.pid <= 0 || named.contains(process.pid)) continue;
    const auto dump = seen.jitdumps().find(process);
    if (dump != seen.jitdumps().end()) {
      const std::string name = dump->second.substr(dump->second.rfind('/') + 1);
      if (add_jitdump(dump->second, process.pid) || add_jitdump(options.directory + name, process.pid))
        continue;
      notes_.push_back(fmt::format("{}: the jitdump of process {} is not there", dump->second, process.pid));
    }
    const std::string map = fmt::format("perf-{}.map", process.pid);
    if (add_perf_map(options.directory + map, process.pid, began)) continue;
    (void)add_perf_map("/tmp/" + map, process.pid, began);
  }
}

// The dump of `pid`, 0: of the process that its header names.
bool JitNames::add_jitdump(const std::string& path, std::int32_t pid) {
  const auto opened = open_regular(path);
  if (!opened || opened->size > kMostBytes) return false;
  formats::JitDumpParser parser;
  std::vector<char> piece(kPiece);
  std::optional<foreign::ForeignPlan> plan;
  std::vector<v1::CodeObject> codes;
  std::vector<TimeNs> times;
  for (std::uint64_t at = 0; at < opened->size;) {
    const std::size_t got = read_at(opened->file, at, piece);
    if (got == 0) break;
    at += got;
    if (!parser.feed(std::as_bytes(std::span(piece).first(got))).ok()) return false;
    const bool timed = timed_ && !parser.tsc_timestamps();
    if (!plan) plan.emplace(++plans_, "jitdump", timed, timed ? v1::TOLD_BY_JITDUMP : v1::TOLD_BY_PERF_MAP);
    for (const formats::JitSymbol& symbol : parser.take()) {
      codes.push_back(plan->add(symbol, ++codes_, 0));
      times.push_back(timed ? static_cast<TimeNs>(symbol.timestamp_ns) : kTimeMin);
    }
  }
  if (!parser.has_header() || !plan) return false;
  const ProcessId process{pid != 0 ? pid : static_cast<std::int32_t>(parser.pid()), 0};
  sink_.on_plan(process, kTimeMin, plan->plan());
  for (std::size_t i = 0; i < codes.size(); ++i) sink_.on_code(process, times[i], codes[i]);
  functions_ += codes.size();
  notes_.push_back(
      fmt::format("{} functions of process {} are named by {}", codes.size(), process.pid, path));
  if (parser.malformed() > 0)
    notes_.push_back(fmt::format("{}: {} records make no sense", path, parser.malformed()));
  return true;
}

bool JitNames::add_perf_map(const std::string& path, std::int32_t pid, std::int64_t not_before_ns) {
  const auto opened = open_regular(path);
  if (!opened || opened->size > kMostOfAMap || opened->written_ns < not_before_ns) return false;
  std::vector<char> text(opened->size);
  text.resize(read_at(opened->file, 0, text));
  text.push_back('\n');  // nobody writes any more
  std::size_t used = 0;
  const formats::JitSymbols map = formats::parse_perf_map({text.data(), text.size()}, used);
  if (map.symbols.empty()) return false;
  foreign::ForeignPlan plan(++plans_, "perf map", false, v1::TOLD_BY_PERF_MAP);
  std::vector<v1::CodeObject> codes;
  codes.reserve(map.symbols.size());
  for (const formats::JitSymbol& symbol : map.symbols) codes.push_back(plan.add(symbol, ++codes_, 0));
  sink_.on_plan({pid, 0}, kTimeMin, plan.plan());
  for (const v1::CodeObject& code : codes) sink_.on_code({pid, 0}, kTimeMin, code);
  functions_ += codes.size();
  notes_.push_back(fmt::format("{} functions of process {} are named by {}", codes.size(), pid, path));
  return true;
}

}  // namespace tailor::importer
