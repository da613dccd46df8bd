// Speaks for a process that has no agent, but names its generated code in perf's conventions: jitdumps that
// it has mapped, and a perf map (/tmp/perf-PID.map).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/clock/timeline.h"
#include "daemon/foreign/foreign_plan.h"
#include "daemon/os/os.h"
#include "daemon/session/jitdump_file.h"
#include "daemon/session/process_rules.h"
#include "daemon/session/read_mark.h"
#include "daemon/session/speech.h"
#include "proto/base/ids.h"
#include "proto/base/unique_fd.h"

namespace tailor::session {

// Now, and how the times in a jitdump relate to it.
struct ForeignMoment {
  std::uint64_t tsc = 0;
  const clock::Timeline* timeline = nullptr;
  TimeNs monotonic_ahead = 0;  // CLOCK_MONOTONIC less CLOCK_MONOTONIC_RAW

  static ForeignMoment now(os::Os& os, const clock::Timeline& timeline);
};

// One thread at a time. Its files are a stranger's, who decides how long it takes to open or to read one.
class ForeignProcess {
 public:
  // A perf map is looked for in the process's own root, under the pid it has there.
  // What is read of a perf map: as much as of a jitdump.
  static constexpr std::uint64_t kMostOfAMap = JitDumpFile::kMaxBytes;

  ForeignProcess(os::Os& os, ProcessId process, NamesFrom names = NamesFrom::kAuto,
                 std::uint64_t most_of_a_map = kMostOfAMap);

  // Whether enough time has passed since the last look.
  bool is_due(TimeNs now) const;
  // Looks once: reads what its files have beyond what was read, or a part of it, and gives what an agent
  // would say: a plan whose components are functions (and lines), and their code. Every record of a jitdump
  // counts from its own time; code at an address ends where other code is loaded. A perf map has no times: of
  // each line it is said that nothing says since when it holds.
  std::vector<Speech> look(const ForeignMoment& moment);
  // The same after the process has ended: runtimes write some of it, or all, at their end. The last line of a
  // map needs no end then, and a map that was seen and is removed is read to its end.
  // `dumps`: the jitdumps that it was seen to map, as it saw them.
  std::vector<Speech> look_at_last(const ForeignMoment& moment, const std::vector<std::string>& dumps);
  // There was more than the last look has read.
  bool goes_on() const { return goes_on_; }
  // Nothing more is read of its files, and what they took of memory is free.
  Speech leave_unread(const std::string& why);
  // Bytes that it holds of its files.
  std::size_t memory() const;

  // It has mapped a jitdump: the next look looks for it.
  void mapped_dump() { next_look_ = kTimeMin; }
  // It executed another program at `time` (CLOCK_MONOTONIC_RAW): what was read so far, or written before,
  // says nothing of that one, which has files of its own. What the one before had written and nobody had read
  // yet is not read any more: it has no time, or comes too late for its samples.
  void executed(TimeNs time);

  // How many functions were named so far; 0: there is neither file, or none to believe.
  std::size_t functions() const { return dump_functions_ + map_functions_; }
  // Whose files are believed; UINT32_MAX: it had ended by then.
  std::uint32_t user() const { return uid_; }
  // For the user: where the names come from, or what was looked for.
  std::string source() const;

 private:
  struct Dump {
    JitDumpFile file;
    std::optional<foreign::ForeignPlan> plan = {};  // the newest
    std::uint64_t malformed_told = 0;
    bool mapped = true;
  };
  struct PlanKind {
    const char* name;
    bool with_lines;
    v1::ToldBy told_by;
    std::size_t& functions;  // that are named so
  };
  using TimeOf = std::function<std::uint64_t(const formats::JitSymbol&)>;

  void find_dumps(const std::filesystem::path& directory, const std::vector<std::string>& seen);
  void take_dump(JitDumpFile file);
  std::vector<Speech> look_at_dumps(const ForeignMoment& moment);
  std::vector<Speech> look_at_dump(Dump& dump, const ForeignMoment& moment);
  std::vector<Speech> look_at_map(bool last);
  std::vector<Speech> name_all(Speech first, std::span<const formats::JitSymbol> symbols,
                               const PlanKind& kind, const TimeOf& time,
                               std::optional<foreign::ForeignPlan>& plan);
  bool leave_out_long_line(std::string& text);
  std::string read_map();
  void forget_map();
  std::string files() const;
  Speech hello();
  void goodbye(Speech& speech);
  void reject(Speech& speech, std::string what);
  void say(Speech& speech, v1::AgentMessage message);

  ProcessId process_;
  NamesFrom names_;
  std::uint64_t most_of_a_map_;
  std::uint64_t start_;              // of the process, also where it is known by number only
  TimeNs executed_ = 0;              // CLOCK_REALTIME of its program's begin, 0: not seen
  TimeNs clock_ahead_ = 0;           // its CLOCK_MONOTONIC less the host's
  UniqueFd root_;                    // its root directory; it can be looked into when the process has ended
  std::uint32_t uid_ = UINT32_MAX;   // whose files are believed
  std::filesystem::path directory_;  // in /proc
  std::int32_t inner_pid_;
  std::string map_path_;
  std::vector<Dump> dumps_;
  std::size_t next_dump_ = 0;  // whose turn it is
  bool dumps_left_out_ = false, left_out_is_told_ = false;
  UniqueFd map_file_;               // the newest that was believed; it may be removed by now
  ReadMark map_read_;               // whole lines
  std::uint64_t map_rest_end_ = 0;  // where the line ended that was taken without an end, 0: none was
  bool map_is_cut_ = false, cut_is_told_ = false;  // it is longer than what is read of any
  bool in_long_line_ = false;                      // what comes next is the rest of a line that is left out
  bool map_goes_on_ = false;
  std::optional<foreign::ForeignPlan> map_plan_;
  std::uint64_t instances_ = 0;  // what one has said ends with it
  TimeNs next_look_ = kTimeMin, next_map_ = kTimeMin;
  bool goes_on_ = false;
  std::uint64_t connections_ = 0, plans_ = 0, codes_ = 0;
  registration::ConnectionId connection_ = registration::kSpeakers;  // of the speech that is made
  std::size_t dump_functions_ = 0, map_functions_ = 0;
};

}  // namespace tailor::session
