#include "daemon/session/foreign_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "daemon/clock/host_clock.h"
#include "daemon/formats/perf_map.h"
#include "daemon/os/host_files.h"
#include "daemon/os/living_folder.h"
#include "daemon/registration/peer_process.h"
#include "daemon/session/own_file.h"

namespace tailor::session {
namespace {

constexpr std::uint64_t kMaxMapBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kMapPiece = std::uint64_t{1} << 20;  // that is read in one go
constexpr TimeNs kSecond = 1'000'000'000;
constexpr TimeNs kLookInterval = kSecond;  // for either file
// A plan that grows is said again whole. One that has this many functions is left as it is, and what comes
// later goes into a new one, so that a runtime that compiles all the time costs what it adds.
constexpr std::size_t kFunctionsOfAPlan = 512;

std::int32_t pid_inside(const std::filesystem::path& process, std::int32_t pid) {
  std::ifstream file(process / "status");
  std::stringstream text;
  text << file.rdbuf();
  auto ids = registration::parse_namespace_ids(text.str());
  return ids.ok() ? ids->inner : pid;
}

// Nobody, if the process is gone.
std::uint32_t user_of(const std::filesystem::path& process) {
  struct stat info{};
  return ::stat(process.c_str(), &info) == 0 ? info.st_uid : UINT32_MAX;
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

// A time that a dump gives; 0 where it gives none.
std::uint64_t tsc_of(std::uint64_t timestamp, bool is_tsc, const ForeignMoment& moment) {
  if (timestamp == 0 || is_tsc) return timestamp;
  const auto monotonic = static_cast<TimeNs>(std::min<std::uint64_t>(timestamp, kTimeMax / 2));
  return std::max<std::uint64_t>(1, moment.timeline->to_tsc(monotonic - moment.monotonic_ahead));
}

}  // namespace

ForeignMoment ForeignMoment::now(const clock::Timeline& timeline) {
  const TimeNs before = read_clock(CLOCK_MONOTONIC_RAW);
  const TimeNs monotonic = read_clock(CLOCK_MONOTONIC);
  const TimeNs after = read_clock(CLOCK_MONOTONIC_RAW);
  return {clock::read_tsc(), &timeline, monotonic - (before + (after - before) / 2)};
}

ForeignProcess::ForeignProcess(os::Os& os, ProcessId process, NamesFrom names)
    : process_(process),
      names_(names),
      start_(process.start),
      directory_(os.proc() / std::to_string(process.pid)),
      inner_pid_(pid_inside(directory_, process.pid)),
      map_path_(fmt::format("/tmp/perf-{}.map", inner_pid_)) {
  if (auto start = os::start_time_of(os, process.pid); start_ == 0 && start.ok()) start_ = *start;
  root_.reset(
      ::open((os::living_folder(os.proc(), process.pid) / "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  uid_ = user_of(directory_);
  clock_ahead_ = clock_ahead_of(directory_);
}

void ForeignProcess::executed(TimeNs time) {
  executed_ = read_clock(CLOCK_REALTIME) - (read_clock(CLOCK_MONOTONIC_RAW) - time);
  dump_ = {};
  plan_.reset();
  malformed_told_ = 0;
  // Lines that were read stay read, in case the program goes on with the file.
  map_plan_.reset();
  map_file_.reset();
  functions_ = 0;
  ++map_instances_;
  next_look_ = next_map_ = kTimeMin;
}

void ForeignProcess::tell(pipeline::Input& input, const ForeignMoment& moment) {
  const TimeNs now = moment.timeline->to_ns(moment.tsc);
  if (names_ == NamesFrom::kFunctions) return;
  if (names_ != NamesFrom::kPerfMap && !dump_.open() && now >= next_look_) {
    next_look_ = now + kLookInterval;
    // It may have become another user since.
    if (const std::uint32_t uid = user_of(directory_); uid != UINT32_MAX) uid_ = uid;
    dump_.find(os::living_folder(directory_.parent_path(), process_.pid), inner_pid_, uid_);
  }
  if (dump_.open()) return tell_dump(input, moment);
  if (now < next_map_ || names_ == NamesFrom::kJitdump) return;
  next_map_ = now + kLookInterval;
  tell_map(input, moment, false);
}

void ForeignProcess::tell_last(pipeline::Input& input, const ForeignMoment& moment, const std::string& dump) {
  if (names_ == NamesFrom::kFunctions) return;
  const bool dumps = names_ != NamesFrom::kPerfMap;
  if (dumps && !dump_.open()) dump_.find(directory_, inner_pid_, uid_);
  if (dumps && !dump_.open() && !dump.empty()) dump_.find_at(root_.get(), dump, inner_pid_, uid_);
  if (dump_.open()) return tell_dump(input, moment);
  if (names_ != NamesFrom::kJitdump) tell_map(input, moment, true);
}

std::string ForeignProcess::source() const {
  if (dump_.open()) return fmt::format("{} functions are named by {}", functions_, dump_.path());
  if (functions_ > 0) return fmt::format("{} functions are named by {}", functions_, map_path_);
  return fmt::format("it has mapped no jitdump (jit-{}.dump), and there is no perf map of its user at {}",
                     inner_pid_, map_path_);
}

void ForeignProcess::tell_dump(pipeline::Input& input, const ForeignMoment& moment) {
  Result<std::vector<formats::JitSymbol>> read = dump_.read();
  const std::uint64_t malformed = dump_.malformed() - malformed_told_;
  if (read.ok() && read->empty() && malformed == 0) return;
  const registration::PeerConnected said = hello(input, moment, "jitdump", 0);
  if (!read.ok()) reject(input, said, read.error().message);
  if (malformed > 0) {
    reject(input, said, fmt::format("{}: {} records are invalid", dump_.path(), malformed));
    malformed_told_ = dump_.malformed();
  }
  if (read.ok() && !read->empty()) {
    if (!plan_ || plan_->functions() >= kFunctionsOfAPlan)
      plan_.emplace(++plans_, "jitdump", true, v1::TOLD_BY_JITDUMP);
    std::vector<v1::CodeObject> codes;
    codes.reserve(read->size());
    ForeignMoment own = moment;
    own.monotonic_ahead += clock_ahead_;
    for (const formats::JitSymbol& symbol : *read) {
      codes.push_back(plan_->add(symbol, ++codes_, tsc_of(symbol.timestamp_ns, dump_.tsc_timestamps(), own)));
    }
    say_plan(input, said, *plan_);
    for (v1::CodeObject& code : codes) say_code(input, said, std::move(code));
    functions_ += codes.size();
  }
  goodbye(input, said);
}

// In pieces: whoever calls has others to look after. At the last time all of it.
void ForeignProcess::tell_map(pipeline::Input& input, const ForeignMoment& moment, bool last) {
  do {
    tell_piece(input, moment, last);
  } while (last && map_goes_on_);
  if (map_goes_on_) next_map_ = kTimeMin;
}

// `last`: nobody ends the line that has no end yet. It counts once, and is no part of what was read: should
// the rest of it come, it is read again as a whole.
void ForeignProcess::tell_piece(pipeline::Input& input, const ForeignMoment& moment, bool last) {
  std::vector<std::string> unread;
  std::string text = read_map();
  if (leave_out_long_line(text))
    unread.push_back(fmt::format("{}: a line of more than {} MB is left out", map_path_, kMapPiece >> 20));
  const std::size_t lines = text.rfind('\n') + 1;  // 0 where there is none
  const std::uint64_t end = map_read_ + text.size();
  if (!last || map_goes_on_ || map_rest_end_ == end || map_is_cut_) text.resize(lines);
  if (text.size() > lines) map_rest_end_ = end;
  std::size_t used = 0;
  const formats::JitSymbols map = formats::parse_perf_map(text, used, last);
  take_read(std::string_view(text).substr(0, lines));
  if (map.malformed > 0) unread.push_back(fmt::format("{}: {} lines are invalid", map_path_, map.malformed));
  if (map_is_cut_ && !std::exchange(cut_is_told_, true))
    unread.push_back(
        fmt::format("{}: what is beyond its first {} MB is not read", map_path_, kMaxMapBytes >> 20));
  // A file of nonsense makes nobody an engine with a map.
  if (map.symbols.empty() && unread.empty()) return;
  registration::PeerConnected said;
  said.connection = registration::kSpeakers;
  if (!map.symbols.empty()) said = hello(input, moment, "perf map", map_instances_);
  for (std::string& what : unread) reject(input, said, std::move(what));
  if (map.symbols.empty()) return;
  if (!map_plan_ || map_plan_->functions() >= kFunctionsOfAPlan)
    map_plan_.emplace(++plans_, "perf map", false, v1::TOLD_BY_PERF_MAP);
  std::vector<v1::CodeObject> codes;
  codes.reserve(map.symbols.size());
  for (const formats::JitSymbol& symbol : map.symbols) codes.push_back(map_plan_->add(symbol, ++codes_, 0));
  say_plan(input, said, *map_plan_);
  for (v1::CodeObject& code : codes) say_code(input, said, std::move(code));
  functions_ += map.symbols.size();
  goodbye(input, said);
}

// What was read stays read; the last of it is remembered.
void ForeignProcess::take_read(std::string_view text) {
  constexpr std::size_t kTail = 256;
  map_read_ += text.size();
  map_tail_.append(text.substr(text.size() - std::min(kTail, text.size())));
  map_tail_.erase(0, map_tail_.size() - std::min(kTail, map_tail_.size()));
}

// Takes a line that is longer than a piece, or what there is of it, from the begin of the text. True once for
// each such line.
bool ForeignProcess::leave_out_long_line(std::string& text) {
  const std::size_t end = text.find('\n');
  const bool begins = !in_long_line_ && end == text.npos && text.size() >= kMapPiece;
  if (!in_long_line_ && !begins) return false;
  const std::size_t size = end == text.npos ? text.size() : end + 1;
  take_read(std::string_view(text).substr(0, size));
  text.erase(0, size);
  in_long_line_ = end == text.npos;
  return begins;
}

// The next piece of what the map has beyond the lines that were read; "" if there is nothing, or it is not to
// be believed. One that has become shorter, or has other lines where they were read, is another one. One that
// is not there any more is read from the file that was open: runtimes remove theirs at their end.
std::string ForeignProcess::read_map() {
  std::uint64_t size = 0;
  map_goes_on_ = false;
  if (UniqueFd file = open_own_file_at(root_.get(), map_path_, uid_, O_NOFOLLOW, size);
      file && !older_than(file.get(), start_, executed_)) {
    map_file_ = std::move(file);
  } else if (size = map_file_ ? size_of(map_file_.get()) : 0; size == 0) {
    return {};
  }
  map_is_cut_ = size > kMaxMapBytes;
  size = std::min(size, kMaxMapBytes);
  if (size < map_read_ || !is_the_same_map(map_file_.get())) forget_map();
  map_goes_on_ = size - map_read_ > kMapPiece;
  std::string text(std::min(size - map_read_, kMapPiece), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t n =
        ::pread(map_file_.get(), text.data() + got, text.size() - got, static_cast<off_t>(map_read_ + got));
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  text.resize(got);
  return text;
}

// Whether what was read of it last is still there. One that was written again may be longer than it was.
bool ForeignProcess::is_the_same_map(int file) const {
  std::string there(map_tail_.size(), '\0');
  const ssize_t n =
      ::pread(file, there.data(), there.size(), static_cast<off_t>(map_read_ - map_tail_.size()));
  return n == static_cast<ssize_t>(there.size()) && there == map_tail_;
}

void ForeignProcess::forget_map() {
  map_read_ = map_rest_end_ = 0;
  cut_is_told_ = in_long_line_ = false;
  map_tail_.clear();
  map_plan_.reset();
  functions_ = 0;
  ++map_instances_;
}

// The same instance of an agent: what was said before stays.
registration::PeerConnected ForeignProcess::hello(pipeline::Input& input, const ForeignMoment& moment,
                                                  const char* engine, std::uint64_t instance) {
  registration::PeerConnected hello;
  hello.connection = registration::kSpeakers + ++connections_;
  hello.process = process_;
  hello.received_tsc = moment.tsc;
  hello.hello.set_engine_name(engine);
  hello.hello.set_instance(fmt::format("{} {}", engine, instance));
  input.on_connected(hello);
  return hello;
}

// Nobody is there to wait for.
void ForeignProcess::goodbye(pipeline::Input& input, const registration::PeerConnected& hello) {
  input.on_gone({hello.connection, process_, registration::GoneReason::kHangup, ""});
}

void ForeignProcess::reject(pipeline::Input& input, const registration::PeerConnected& hello,
                            std::string what) {
  input.on_rejected({hello.connection, process_, std::move(what)});
}

void ForeignProcess::say_plan(pipeline::Input& input, const registration::PeerConnected& hello,
                              const foreign::ForeignPlan& plan) {
  registration::PeerMessage message;
  message.connection = hello.connection;
  message.process = process_;
  message.received_tsc = hello.received_tsc;
  *message.message.mutable_plan_load() = plan.plan();
  input.on_message(message);
}

void ForeignProcess::say_code(pipeline::Input& input, const registration::PeerConnected& hello,
                              v1::CodeObject code) {
  registration::PeerMessage message;
  message.connection = hello.connection;
  message.process = process_;
  message.received_tsc = hello.received_tsc;
  *message.message.mutable_code_load() = std::move(code);
  input.on_message(message);
}

}  // namespace tailor::session
