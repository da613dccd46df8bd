#include "daemon/session/foreign_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include "daemon/foreign/find_jitdump.h"
#include "daemon/formats/perf_map.h"
#include "daemon/os/host_files.h"
#include "daemon/os/living_folder.h"
#include "daemon/registration/peer_process.h"
#include "daemon/session/own_file.h"

namespace tailor::session {
namespace {

constexpr std::uint64_t kMapPiece = std::uint64_t{256} << 10;  // that is read in one look
constexpr std::size_t kMapLines = 4096;                        // of it
constexpr TimeNs kSecond = 1'000'000'000;
constexpr TimeNs kLookInterval = kSecond;  // for either file
// The code of a function is one message: its taker has others to look after.
constexpr std::size_t kMostLines = 32'768;  // of a function
constexpr std::size_t kMostCode = std::size_t{4} << 20;

std::int32_t pid_inside(const std::filesystem::path& process, std::int32_t pid) {
  std::ifstream file(process / "status");
  std::stringstream text;
  text << file.rdbuf();
  auto ids = registration::parse_namespace_ids(text.str());
  return ids.ok() ? ids->inner : pid;
}

std::uint64_t size_of(int file) {
  struct stat info{};
  return ::fstat(file, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

TimeNs read_clock(clockid_t id) {
  timespec time{};
  ::clock_gettime(id, &time);
  return static_cast<TimeNs>(time.tv_sec) * kSecond + time.tv_nsec;
}

// A map outlives its process and its program; the next one of the same number did not write it.
bool older_than(int file, std::uint64_t process_start, TimeNs executed) {
  constexpr TimeNs kTick = kSecond / 100;  // times of files may be so far behind
  struct stat info{};
  if (::fstat(file, &info) != 0) return true;
  const TimeNs ticks = std::max(1L, ::sysconf(_SC_CLK_TCK));
  const auto start = static_cast<TimeNs>(process_start) * (kSecond / ticks);
  const TimeNs began = read_clock(CLOCK_REALTIME) - (read_clock(CLOCK_BOOTTIME) - start);
  const TimeNs written = static_cast<TimeNs>(info.st_mtim.tv_sec) * kSecond + info.st_mtim.tv_nsec;
  return written < began - kSecond || written < executed - kTick;
}

// How far the CLOCK_MONOTONIC of a process in a time namespace is ahead of the host's. The file speaks of the
// namespace of its children, which is its own unless it has just made one.
TimeNs clock_ahead_of(const std::filesystem::path& process) {
  std::error_code unknown;
  const auto own = std::filesystem::read_symlink(process / "ns/time", unknown);
  if (unknown || own != std::filesystem::read_symlink(process / "ns/time_for_children", unknown)) return 0;
  std::ifstream file(process / "timens_offsets");
  std::string clock;
  for (TimeNs seconds = 0, nanoseconds = 0; file >> clock >> seconds >> nanoseconds;) {
    if (clock != "monotonic" && clock != "1") continue;
    constexpr TimeNs kMost = kTimeMax / kSecond / 4;
    return std::clamp(seconds, -kMost, kMost) * kSecond + nanoseconds % kSecond;
  }
  return 0;
}

// The text up to the end of that line; all of it if it has fewer.
std::string_view first_lines(std::string_view text, std::size_t lines) {
  std::size_t end = 0;
  while (lines > 0 && end != text.npos) {
    end = text.find('\n', end);
    if (end != text.npos) ++end;
    --lines;
  }
  return text.substr(0, end);
}

// What of these symbols is more than one message should have, in words; "" for nothing.
std::string leave_out(std::span<formats::JitSymbol> symbols) {
  std::size_t left_out = 0;
  for (formats::JitSymbol& symbol : symbols) {
    const bool lines = symbol.lines.size() > kMostLines, code = symbol.code.size() > kMostCode;
    if (lines) symbol.lines = {};
    if (code) symbol.code = {};
    left_out += lines || code ? 1 : 0;
  }
  if (left_out == 0) return {};
  return fmt::format("{} functions are larger than {} lines or {} MB of code, which are left out", left_out,
                     kMostLines, kMostCode >> 20);
}

// Where perf lays it out behind the code.
void add_frames(const formats::JitSymbol& symbol, v1::CodeObject& code) {
  if (symbol.frames.empty()) return;
  constexpr std::uint64_t kAlign = 8;
  code.set_eh_frame(symbol.frames.data(), symbol.frames.size());
  code.set_eh_frame_address(symbol.address + (symbol.size + kAlign - 1) / kAlign * kAlign);
}

// A time that a dump gives; 0 where it gives none.
std::uint64_t tsc_of(std::uint64_t timestamp, bool is_tsc, const ForeignMoment& moment) {
  if (timestamp == 0 || is_tsc) return timestamp;
  const auto monotonic = static_cast<TimeNs>(std::min<std::uint64_t>(timestamp, kTimeMax / 2));
  return std::max<std::uint64_t>(1, moment.timeline->to_tsc(monotonic - moment.monotonic_ahead));
}

}  // namespace

ForeignMoment ForeignMoment::now(os::Os& os, const clock::Timeline& timeline) {
  const TimeNs before = read_clock(CLOCK_MONOTONIC_RAW);
  const TimeNs monotonic = read_clock(CLOCK_MONOTONIC);
  const TimeNs after = read_clock(CLOCK_MONOTONIC_RAW);
  return {os.tsc(), &timeline, monotonic - (before + (after - before) / 2)};
}

ForeignProcess::ForeignProcess(os::Os& os, ProcessId process, NamesFrom names, std::uint64_t most_of_a_map)
    : process_(process),
      names_(names),
      most_of_a_map_(most_of_a_map),
      start_(process.start),
      directory_(os.proc() / std::to_string(process.pid)),
      inner_pid_(pid_inside(directory_, process.pid)),
      map_path_(fmt::format("/tmp/perf-{}.map", inner_pid_)) {
  if (auto start = os::start_time_of(os, process.pid); start_ == 0 && start.ok()) start_ = *start;
  root_.reset(
      ::open((os::living_folder(os.proc(), process.pid) / "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  uid_ = os::owner_of(directory_).value_or(UINT32_MAX);
  clock_ahead_ = clock_ahead_of(directory_);
}

void ForeignProcess::executed(TimeNs time) {
  executed_ = read_clock(CLOCK_REALTIME) - (read_clock(CLOCK_MONOTONIC_RAW) - time);
  dumps_.clear();
  left_out_is_told_ = dumps_left_out_ = false;
  // Lines that were read stay read, in case the program goes on with the file.
  map_plan_.reset();
  map_file_.reset();
  dump_functions_ = map_functions_ = 0;
  ++instances_;
  next_look_ = next_map_ = kTimeMin;
}

bool ForeignProcess::is_due(TimeNs now) const {
  if (names_ == NamesFrom::kFunctions) return false;
  if (!dumps_.empty()) return true;
  return (names_ != NamesFrom::kPerfMap && now >= next_look_) ||
         (names_ != NamesFrom::kJitdump && now >= next_map_);
}

std::vector<Speech> ForeignProcess::look(const ForeignMoment& moment) {
  goes_on_ = false;
  const TimeNs now = moment.timeline->to_ns(moment.tsc);
  if (names_ == NamesFrom::kFunctions) return {};
  if (names_ != NamesFrom::kPerfMap && now >= next_look_) {
    next_look_ = now + kLookInterval;
    // It may have become another user since.
    uid_ = os::owner_of(directory_).value_or(uid_);
    find_dumps(os::living_folder(directory_.parent_path(), process_.pid), {});
  }
  std::vector<Speech> said = look_at_dumps(moment);
  if (goes_on_ || now < next_map_ || names_ == NamesFrom::kJitdump) return said;
  std::ranges::move(look_at_map(false), std::back_inserter(said));
  next_map_ = map_goes_on_ ? kTimeMin : now + kLookInterval;
  return said;
}

std::vector<Speech> ForeignProcess::look_at_last(const ForeignMoment& moment,
                                                 const std::vector<std::string>& dumps) {
  goes_on_ = false;
  if (names_ == NamesFrom::kFunctions) return {};
  if (names_ != NamesFrom::kPerfMap) find_dumps(directory_, dumps);
  std::vector<Speech> said = look_at_dumps(moment);
  if (!goes_on_ && names_ != NamesFrom::kJitdump)
    std::ranges::move(look_at_map(true), std::back_inserter(said));
  return said;
}

Speech ForeignProcess::leave_unread(const std::string& why) {
  const std::string all = files();
  names_ = NamesFrom::kFunctions;
  goes_on_ = false;
  dumps_.clear();
  map_plan_.reset();
  map_file_.reset();
  Speech speech;
  connection_ = registration::kSpeakers;
  reject(speech, fmt::format("{}: the rest of it is not read: {}", all, why));
  return speech;
}

std::size_t ForeignProcess::memory() const {
  std::size_t bytes = 0;
  for (const Dump& each : dumps_) bytes += each.file.memory();
  return bytes;
}

// Those that say something; the map where there is none.
std::string ForeignProcess::files() const {
  std::string out;
  for (const Dump& each : dumps_) out += (out.empty() ? "" : ", ") + each.file.path();
  if (out.empty() || map_functions_ > 0) out += (out.empty() ? "" : ", ") + map_path_;
  return out;
}

std::string ForeignProcess::source() const {
  if (!dumps_.empty() || functions() > 0)
    return fmt::format("{} functions are named by {}", functions(), files());
  return fmt::format("it has mapped no jitdump (jit-{}.dump), and there is no perf map of its user at {}",
                     inner_pid_, map_path_);
}

// Those that the process has mapped, and was seen to map, `seen`.
void ForeignProcess::find_dumps(const std::filesystem::path& directory,
                                const std::vector<std::string>& seen) {
  std::ifstream maps(directory / "maps");
  std::stringstream text;
  text << maps.rdbuf();
  const std::vector<foreign::MappedDump> mapped = foreign::find_jitdumps(text.str(), inner_pid_);
  std::vector<JitDumpFile> found;
  for (const foreign::MappedDump& each : mapped) found.emplace_back(directory, each, inner_pid_, uid_);
  for (const std::string& each : seen) found.emplace_back(root_.get(), each, inner_pid_, uid_);
  std::erase_if(found, [](const JitDumpFile& each) { return !each.open(); });
  // Of more than these it is not known which are mapped no more.
  const bool all = mapped.size() <= foreign::kMostDumps;
  for (Dump& known : dumps_)
    known.mapped = !all || std::ranges::any_of(
                               found, [&](const JitDumpFile& each) { return each.is_same_file(known.file); });
  for (JitDumpFile& each : found) take_dump(std::move(each));
}

// One that is mapped no more, and was read to its end, makes room.
void ForeignProcess::take_dump(JitDumpFile file) {
  const auto is_known = [&](const Dump& each) { return each.file.is_same_file(file); };
  if (std::ranges::any_of(dumps_, is_known)) return;
  if (dumps_.size() >= foreign::kMostDumps) {
    const auto done =
        std::ranges::find_if(dumps_, [](const Dump& each) { return !each.mapped && !each.file.goes_on(); });
    if (done == dumps_.end()) {
      dumps_left_out_ = true;
      return;
    }
    dumps_.erase(done);
  }
  dumps_.push_back({std::move(file)});
}

// One that has much to say leaves the others to the next look.
std::vector<Speech> ForeignProcess::look_at_dumps(const ForeignMoment& moment) {
  std::vector<Speech> said;
  if (dumps_left_out_ && !std::exchange(left_out_is_told_, true)) {
    connection_ = registration::kSpeakers;
    reject(said.emplace_back(),
           fmt::format("it has mapped more than {} jitdumps: the others are not read", foreign::kMostDumps));
  }
  for (std::size_t left = dumps_.size(); left > 0 && !goes_on_; --left) {
    Dump& next = dumps_[next_dump_++ % dumps_.size()];
    std::ranges::move(look_at_dump(next, moment), std::back_inserter(said));
    goes_on_ = next.file.goes_on();
  }
  return said;
}

std::vector<Speech> ForeignProcess::look_at_dump(Dump& dump, const ForeignMoment& moment) {
  Result<std::vector<formats::JitSymbol>> read = dump.file.read();
  const std::string& path = dump.file.path();
  const std::uint64_t malformed = dump.file.malformed() - dump.malformed_told;
  if (read.ok() && read->empty() && malformed == 0) return {};
  const PlanKind kind{"jitdump", true, v1::TOLD_BY_JITDUMP, dump_functions_};
  Speech speech = hello();
  if (!read.ok()) reject(speech, read.error().message);
  if (malformed > 0) {
    reject(speech, fmt::format("{}: {} records are invalid", path, malformed));
    dump.malformed_told = dump.file.malformed();
  }
  if (!read.ok()) read = std::vector<formats::JitSymbol>{};
  if (const std::string what = leave_out(*read); !what.empty())
    reject(speech, fmt::format("{}: {}", path, what));
  ForeignMoment own = moment;
  own.monotonic_ahead += clock_ahead_;
  const auto time = [&](const formats::JitSymbol& symbol) {
    return tsc_of(symbol.timestamp_ns, dump.file.tsc_timestamps(), own);
  };
  return name_all(std::move(speech), *read, kind, time, dump.plan);
}

// `last`: nobody ends the line that has no end yet. It counts once, and is no part of what was read: should
// the rest of it come, it is read again as a whole.
std::vector<Speech> ForeignProcess::look_at_map(bool last) {
  std::vector<std::string> unread;
  map_goes_on_ = false;
  std::string text = read_map();
  if (leave_out_long_line(text))
    unread.push_back(fmt::format("{}: a line of more than {} KB is left out", map_path_, kMapPiece >> 10));
  if (const std::size_t some = first_lines(text, kMapLines).size(); some < text.size()) {
    text.resize(some);
    map_goes_on_ = true;
  }
  goes_on_ = map_goes_on_;
  const std::size_t lines = text.rfind('\n') + 1;  // 0 where there is none
  const std::uint64_t end = map_read_.at() + text.size();
  if (!last || map_goes_on_ || map_rest_end_ == end || map_is_cut_) text.resize(lines);
  if (text.size() > lines) map_rest_end_ = end;
  std::size_t used = 0;
  const formats::JitSymbols map = formats::parse_perf_map(text, used, last);
  map_read_.took(std::string_view(text).substr(0, lines));
  if (map.malformed > 0) unread.push_back(fmt::format("{}: {} lines are invalid", map_path_, map.malformed));
  if (map_is_cut_ && !std::exchange(cut_is_told_, true))
    unread.push_back(
        fmt::format("{}: what is beyond its first {} MB is not read", map_path_, most_of_a_map_ >> 20));
  if (map.symbols.empty() && unread.empty()) return {};
  const PlanKind kind{"perf map", false, v1::TOLD_BY_PERF_MAP, map_functions_};
  Speech speech;
  connection_ = registration::kSpeakers;
  // A file of nonsense makes nobody an engine with a map.
  if (!map.symbols.empty()) speech = hello();
  for (std::string& what : unread) reject(speech, std::move(what));
  if (map.symbols.empty()) return {std::move(speech)};
  return name_all(std::move(speech), map.symbols, kind, [](const auto&) { return 0; }, map_plan_);
}

// In speeches that each fit into one plan.
std::vector<Speech> ForeignProcess::name_all(Speech first, std::span<const formats::JitSymbol> symbols,
                                             const PlanKind& kind, const TimeOf& time,
                                             std::optional<foreign::ForeignPlan>& plan) {
  std::vector<Speech> said;
  Speech speech = std::move(first);
  for (std::size_t at = 0; at < symbols.size();) {
    if (at > 0) speech = hello();
    if (!plan || plan->functions() >= foreign::kFunctionsOfAPlan || plan->lines() >= foreign::kLinesOfAPlan)
      plan.emplace(++plans_, kind.name, kind.with_lines, kind.told_by);
    std::vector<v1::CodeObject> codes;
    do {
      codes.push_back(plan->add(symbols[at], ++codes_, time(symbols[at])));
      add_frames(symbols[at], codes.back());
      ++at;
    } while (at < symbols.size() && codes.size() < foreign::kFunctionsOfAPlan &&
             plan->lines() < foreign::kLinesOfAPlan);
    v1::AgentMessage components;
    *components.mutable_plan_load() = plan->plan();
    say(speech, std::move(components));
    for (v1::CodeObject& code : codes) {
      v1::AgentMessage loaded;
      *loaded.mutable_code_load() = std::move(code);
      say(speech, std::move(loaded));
    }
    speech.functions = codes.size();
    kind.functions += codes.size();
    goodbye(speech);
    said.push_back(std::exchange(speech, {}));
  }
  if (symbols.empty()) {
    goodbye(speech);
    said.push_back(std::move(speech));
  }
  return said;
}

// Takes a line that is longer than a piece, or what there is of it, from the begin of the text. True once for
// each such line.
bool ForeignProcess::leave_out_long_line(std::string& text) {
  const std::size_t end = text.find('\n');
  const bool begins = !in_long_line_ && end == text.npos && text.size() >= kMapPiece;
  if (!in_long_line_ && !begins) return false;
  const std::size_t size = end == text.npos ? text.size() : end + 1;
  map_read_.took(std::string_view(text).substr(0, size));
  text.erase(0, size);
  in_long_line_ = end == text.npos;
  return begins;
}

// The next piece of what the map has beyond the lines that were read; "" if there is nothing, or it is not to
// be believed. One that was written again, or took the other's place, is read from its begin. One that
// is not there any more is read from the file that was open: runtimes remove theirs at their end.
std::string ForeignProcess::read_map() {
  std::uint64_t size = 0;
  if (UniqueFd file = open_own_file_at(root_.get(), map_path_, uid_, O_NOFOLLOW, size);
      file && !older_than(file.get(), start_, executed_)) {
    map_file_ = std::move(file);
  } else if (size = map_file_ ? size_of(map_file_.get()) : 0; size == 0) {
    return {};
  }
  map_is_cut_ = size > most_of_a_map_;
  size = std::min(size, most_of_a_map_);
  if (!map_read_.follow(map_file_.get())) forget_map();
  const std::uint64_t left = size - std::min(size, map_read_.at());
  map_goes_on_ = left > kMapPiece;
  std::string text(std::min(left, kMapPiece), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t n = ::pread(map_file_.get(), text.data() + got, text.size() - got,
                              static_cast<off_t>(map_read_.at() + got));
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  text.resize(got);
  return text;
}

void ForeignProcess::forget_map() {
  map_rest_end_ = 0;
  cut_is_told_ = in_long_line_ = false;
  map_plan_.reset();
  map_functions_ = 0;
  // What dumps have said stays.
  if (dumps_.empty()) ++instances_;
}

// The same instance of an agent: what was said before stays.
Speech ForeignProcess::hello() {
  registration::PeerConnected hello;
  connection_ = hello.connection = registration::kSpeakers + ++connections_;
  hello.process = process_;
  hello.hello.set_engine_name(dumps_.empty() ? "perf map" : "jitdump");
  hello.hello.set_instance(fmt::format("names {}", instances_));
  Speech speech;
  speech.events.emplace_back(std::move(hello));
  return speech;
}

// Nobody is there to wait for.
void ForeignProcess::goodbye(Speech& speech) {
  speech.events.emplace_back(
      registration::PeerGone{connection_, process_, registration::GoneReason::kHangup, ""});
}

void ForeignProcess::reject(Speech& speech, std::string what) {
  speech.events.emplace_back(registration::PeerRejected{connection_, process_, std::move(what)});
}

void ForeignProcess::say(Speech& speech, v1::AgentMessage message) {
  registration::PeerMessage event;
  event.connection = connection_;
  event.process = process_;
  event.message = std::move(message);
  speech.events.emplace_back(std::move(event));
}

}  // namespace tailor::session
