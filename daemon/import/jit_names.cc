#include "daemon/import/jit_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "daemon/foreign/find_jitdump.h"
#include "daemon/foreign/foreign_plan.h"
#include "daemon/formats/jitdump.h"
#include "daemon/formats/perf_map.h"

namespace tailor::importer {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;  // of a file
constexpr std::size_t kPiece = std::size_t{1} << 20;
// A clock of files ticks in steps of up to two seconds.
constexpr std::int64_t kFileClock = 2'000'000'000;

// By how much perf's clock may be behind.
constexpr TimeNs kClockGap = 1'000'000'000, kLatest = kTimeMax - kClockGap;
constexpr std::size_t kMostNotes = 200;

// perf-123.map, jit-123.dump: 0 if there is no such number.
std::int32_t pid_of(const std::string& path, std::string_view before, std::string_view after) {
  const std::string name = path.substr(path.rfind('/') + 1);
  std::int32_t pid = 0;
  if (!name.starts_with(before) || !name.ends_with(after)) return 0;
  std::from_chars(name.data() + before.size(), name.data() + name.size(), pid);
  return pid;
}

// The wall-clock time of a moment of the recording, 0: the recording does not say it.
std::int64_t wall_of(const profile::RecordingInfo& info, const formats::PerfDescription& description,
                     TimeNs time) {
  if (description.wall_ns == 0 || time == kTimeMax) return 0;
  return static_cast<std::int64_t>(info.wall_of(time));
}

// Says functions of one file, in plans of bounded size: a plan is one block of a profile.
class FileTeller {
 public:
  struct Kind {
    const char* name;
    bool with_lines;
    bool timed;  // each counts from its own time; else they count all the time, as inferred
  };
  FileTeller(profile::ProfileSink& sink, ProcessId process, const Kind& kind, PlanId& plans, CodeId& codes)
      : sink_(sink), process_(process), kind_(kind), plans_(plans), codes_(codes) {}

  void tell(std::span<const formats::JitSymbol> symbols) {
    while (!symbols.empty()) {
      const std::size_t some = of_a_plan(symbols);
      tell_plan(symbols.first(some));
      symbols = symbols.subspan(some);
    }
  }
  ProcessId process() const { return process_; }
  std::uint64_t told() const { return told_; }
  std::uint64_t lines_left_out() const { return lines_left_out_; }

 private:
  static std::size_t of_a_plan(std::span<const formats::JitSymbol> symbols) {
    std::size_t some = 0, lines = 0;
    while (some < symbols.size() && some < foreign::kFunctionsOfAPlan && lines < foreign::kLinesOfAPlan)
      lines += symbols[some++].lines.size();
    return some;
  }
  // The plan is told before the code, so its names come first.
  void tell_plan(std::span<const formats::JitSymbol> symbols) {
    foreign::ForeignPlan plan(++plans_, kind_.name, kind_.with_lines,
                              kind_.timed ? v1::TOLD_BY_JITDUMP : v1::TOLD_BY_PERF_MAP);
    for (const formats::JitSymbol& symbol : symbols) plan.name(symbol);
    sink_.on_plan(process_, kTimeMin, plan.plan());
    lines_left_out_ += plan.lines_left_out();
    for (const formats::JitSymbol& symbol : symbols)
      sink_.on_code(process_, kind_.timed ? static_cast<TimeNs>(symbol.timestamp_ns) : kTimeMin,
                    plan.add(symbol, ++codes_, 0));
    told_ += symbols.size();
  }

  profile::ProfileSink& sink_;
  ProcessId process_;
  Kind kind_;
  PlanId& plans_;
  CodeId& codes_;
  std::uint64_t told_ = 0, lines_left_out_ = 0;
};

}  // namespace

// Names take memory by the size of their files.
void JitNames::ask_to_go_on(std::uint64_t bytes) {
  read_ += bytes;
  if (progress_ && go_on_.ok()) go_on_ = progress_(read_);
}

Status JitNames::add(const PerfImportOptions& options, std::uint64_t read, const ObservingSink& seen,
                     const profile::RecordingInfo& info, const formats::PerfDescription& description) {
  progress_ = options.progress;
  read_ = read;
  std::set<std::int32_t> named;
  for (const std::string& path : options.jitdumps) {
    if (add_jitdump(path, 0, nullptr)) named.insert(pid_of(path, "jit-", ".dump"));
  }
  for (const std::string& path : options.perf_maps) {
    const std::int32_t pid = pid_of(path, "perf-", ".map");
    if (pid == 0) {
      note(path + ": the name of a perf map says whose it is: perf-PID.map");
    } else if (add_perf_map(path, pid, nullptr)) {
      named.insert(pid);
    }
  }
  if (!options.find_names || !go_on_) return go_on_;
  const bool here = description.host.empty() || description.host == name_of_this_host();
  const std::int64_t began = wall_of(info, description, seen.first_time());
  // What has the number now is the process that was recorded, if it began before the recording. Where that
  // does not say its date, it is of before the file was written, and its times are those since the machine
  // was started, about.
  const auto owner_now = [&](std::int32_t pid) {
    return began != 0
               ? owner_of_running(pid, began, kTimeMax)
               : owner_of_running(pid, options.written_ns, std::min(seen.first_time(), kLatest) + kClockGap);
  };
  for (const ProcessId& process : seen.processes()) {
    if (process.pid <= 0 || named.contains(process.pid)) continue;
    Rules rules{common_owners(), 0, began};
    if (options.owner) rules.owners.insert(*options.owner);
    if (here) {
      if (const auto owner = owner_now(process.pid)) rules.owners.insert(*owner);
    }
    if (const auto forked = seen.forked().find(process); forked != seen.forked().end())
      rules.process_began_ns = wall_of(info, description, forked->second);
    find(options, seen, process, here, rules);
    if (!go_on_) return go_on_;
  }
  return go_on_;
}

void JitNames::find(const PerfImportOptions& options, const ObservingSink& seen, ProcessId process, bool here,
                    const Rules& rules) {
  taken_.clear();
  if (const auto dumps = seen.jitdumps().find(process); dumps != seen.jitdumps().end())
    find_dumps(options, dumps->second, process, here, rules);
  const std::string map = fmt::format("perf-{}.map", process.pid);
  if (add_perf_map(options.directory + map, process.pid, &rules)) return;
  if (here) (void)add_perf_map("/tmp/" + map, process.pid, &rules);
}

// Each where it was mapped, else beside the recording.
void JitNames::find_dumps(const PerfImportOptions& options, const std::vector<std::string>& paths,
                          ProcessId process, bool here, const Rules& rules) {
  std::size_t left = foreign::kMostDumps;
  for (const std::string& path : paths) {
    if (left-- == 0)
      return note(fmt::format("process {} has mapped more than {} jitdumps: the others are not read",
                              process.pid, foreign::kMostDumps));
    const std::string name = path.substr(path.rfind('/') + 1);
    if (here && add_jitdump(path, process.pid, &rules)) continue;
    // One that lies there is that of one of them.
    const std::size_t before = taken_.size();
    if (add_jitdump(options.directory + name, process.pid, &rules) && taken_.size() > before) continue;
    note(fmt::format("{}: the jitdump of process {} could not be used", path, process.pid));
  }
}

// A recording may be of any number of processes.
void JitNames::note(std::string text) {
  if (notes_.size() < kMostNotes) notes_.push_back(std::move(text));
}

bool JitNames::refuse(const std::string& path, const Error& why) {
  note(fmt::format("{} names nothing: {}", path, why.message));
  return false;
}

// The dump of `pid`, 0: of the process that its header names. `rules` NULL: somebody named the file.
bool JitNames::add_jitdump(const std::string& path, std::int32_t pid, const Rules* rules) {
  const auto opened = open_jit_file(path, rules != nullptr ? &rules->owners : nullptr);
  if (!opened) {
    const bool looked_for = rules != nullptr && opened.error().kind == ErrorKind::kNotFound;
    return looked_for ? false : refuse(path, opened.error());
  }
  // By two names it is one file.
  if (rules != nullptr && !taken_.emplace(opened->device, opened->inode).second) return true;
  if (opened->size > kMostBytes)
    return refuse(path, exhausted(fmt::format("a jitdump of {} GB is beyond the {} that are read",
                                              opened->size >> 30, kMostBytes >> 30)));
  return tell_dump(*opened, path, pid);
}

Status JitNames::read_dump(const JitFile& file, formats::JitDumpParser& parser,
                           const std::function<void(std::span<const formats::JitSymbol>)>& take) {
  std::vector<char> piece(kPiece);
  for (std::uint64_t at = 0; at < file.size && go_on_;) {
    const std::size_t got = file.read_at(at, piece);
    if (got == 0) break;
    at += got;
    if (Status fed = parser.feed(std::as_bytes(std::span(piece).first(got))); !fed) return fed;
    const std::vector<formats::JitSymbol> symbols = parser.take();
    if (!symbols.empty()) take(symbols);
  }
  return parser.has_header() ? Status(Ok{}) : invalid("it is too short for a jitdump");
}

bool JitNames::tell_dump(const JitFile& file, const std::string& path, std::int32_t pid) {
  formats::JitDumpParser parser;
  std::optional<FileTeller> teller;
  Status read = read_dump(file, parser, [&](std::span<const formats::JitSymbol> symbols) {
    const bool timed = timed_ && !parser.tsc_timestamps();
    const ProcessId process{pid != 0 ? pid : static_cast<std::int32_t>(parser.pid()), 0};
    if (!teller) teller.emplace(sink_, process, FileTeller::Kind{"jitdump", timed, timed}, plans_, codes_);
    teller->tell(symbols);
  });
  if (!read) return refuse(path, read.error());
  if (!teller) return refuse(path, invalid("it names no function"));
  ask_to_go_on(file.size);
  functions_ += teller->told();
  note(
      fmt::format("{} functions of process {} are named by {}", teller->told(), teller->process().pid, path));
  if (parser.malformed() > 0) note(fmt::format("{}: {} records make no sense", path, parser.malformed()));
  if (teller->lines_left_out() > 0)
    note(fmt::format("{}: {} lines are more than are kept", path, teller->lines_left_out()));
  return true;
}

// How many lines were left out. In pieces: a map may be much larger than the names that are kept of it.
std::uint64_t JitNames::read_map(const JitFile& file,
                                 const std::function<void(std::span<const formats::JitSymbol>)>& take) {
  std::uint64_t left_out = 0, functions = 0, name_bytes = 0;
  std::string text;
  std::vector<char> piece(kPiece);
  bool whole = false;
  for (std::uint64_t at = 0; !whole && go_on_.ok();) {
    const auto next = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, file.size - at));
    const std::size_t got = file.read_at(at, std::span(piece).first(next));
    at += got;
    ask_to_go_on(got);
    text.append(piece.data(), got);
    whole = got == 0;  // nobody writes any more
    std::size_t used = 0;
    const formats::JitSymbols map = formats::parse_perf_map(text, used, whole);
    text.erase(0, used);
    // Of a line without an end. Its name is cut before that.
    if (text.size() > kPiece) text.resize(kPiece);
    std::size_t some = 0;
    for (; some < map.symbols.size(); ++some) {
      if (functions >= formats::kMaxJitSymbols || name_bytes >= formats::kMaxJitNameBytes) break;
      ++functions;
      name_bytes += map.symbols[some].name.size();
    }
    left_out += map.malformed + (map.symbols.size() - some);
    take(std::span(map.symbols).first(some));
  }
  return left_out;
}

bool JitNames::add_perf_map(const std::string& path, std::int32_t pid, const Rules* rules) {
  const auto opened = open_jit_file(path, rules != nullptr ? &rules->owners : nullptr);
  if (!opened) {
    const bool looked_for = rules != nullptr && opened.error().kind == ErrorKind::kNotFound;
    return looked_for ? false : refuse(path, opened.error());
  }
  if (opened->size > kMostBytes)
    return refuse(path, exhausted(fmt::format("a perf map of {} GB is beyond the {} that are read",
                                              opened->size >> 30, kMostBytes >> 30)));
  const std::int64_t written = opened->written_ns + kFileClock;
  if (rules != nullptr && rules->process_began_ns != 0 && written < rules->process_began_ns)
    return refuse(path, invalid(fmt::format("it was written before process {} began: by another one", pid)));
  FileTeller teller(sink_, {pid, 0}, {"perf map", false, false}, plans_, codes_);
  const std::uint64_t left_out =
      read_map(*opened, [&](std::span<const formats::JitSymbol> symbols) { teller.tell(symbols); });
  if (teller.told() == 0) return refuse(path, invalid("it has no line of a perf map"));
  functions_ += teller.told();
  note(fmt::format("{} functions of process {} are named by {}", teller.told(), pid, path));
  if (left_out > 0) note(fmt::format("{}: {} lines could not be used", path, left_out));
  if (rules != nullptr && rules->recording_began_ns != 0 && written < rules->recording_began_ns)
    note(path + " was written last before the recording began: it names the code of that time");
  return true;
}

}  // namespace tailor::importer
