// Speaks for a process that has no agent, but names its generated code in perf's conventions: a jitdump that
// it has mapped, else a perf map (/tmp/perf-PID.map).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/clock/timeline.h"
#include "daemon/foreign/foreign_plan.h"
#include "daemon/os/os.h"
#include "daemon/pipeline/input.h"
#include "daemon/session/jitdump_file.h"
#include "daemon/session/process_rules.h"
#include "proto/base/ids.h"
#include "proto/base/unique_fd.h"

namespace tailor::session {

// Now, and how the times in a jitdump relate to it.
struct ForeignMoment {
  std::uint64_t tsc = 0;
  const clock::Timeline* timeline = nullptr;
  TimeNs monotonic_ahead = 0;  // CLOCK_MONOTONIC less CLOCK_MONOTONIC_RAW

  static ForeignMoment now(const clock::Timeline& timeline);
};

// Control thread only.
class ForeignProcess {
 public:
  // A perf map is looked for in the process's own root, under the pid it has there.
  ForeignProcess(os::Os& os, ProcessId process, NamesFrom names = NamesFrom::kAuto);

  // Says to `input` what an agent would: a plan whose components are functions (and lines), and their code.
  // Cheap while nothing changed: call it before each step of the watermark, so that code of a jitdump is
  // known before the samples that were taken in it. Every record counts from its own time; code at an address
  // ends where other code is loaded. A perf map has no times: of each line it is said that nothing says since
  // when it holds.
  void tell(pipeline::Input& input, const ForeignMoment& moment);
  // The same for the last time, after the process has ended: runtimes write some of it, or all, at their end.
  // The last line of a map needs no end then, and a map that was seen and is removed is read to its end.
  // `dump`: the jitdump that it was seen to map, as it saw it; "" none.
  void tell_last(pipeline::Input& input, const ForeignMoment& moment, const std::string& dump);

  // It executed another program at `time` (CLOCK_MONOTONIC_RAW): what was read so far, or written before,
  // says nothing of that one, which has files of its own. What the one before had written and nobody had read
  // yet is not read any more: it has no time, or comes too late for its samples.
  void executed(TimeNs time);

  // How many functions were named so far; 0: there is neither file, or none to believe.
  std::size_t functions() const { return functions_; }
  // For the user: where the names come from, or what was looked for.
  std::string source() const;

 private:
  void tell_dump(pipeline::Input& input, const ForeignMoment& moment);
  void tell_map(pipeline::Input& input, const ForeignMoment& moment, bool last);
  void tell_piece(pipeline::Input& input, const ForeignMoment& moment, bool last);
  void take_read(std::string_view text);
  bool leave_out_long_line(std::string& text);
  std::string read_map();
  bool is_the_same_map(int file) const;
  void forget_map();
  registration::PeerConnected hello(pipeline::Input& input, const ForeignMoment& moment, const char* engine,
                                    std::uint64_t instance);
  void goodbye(pipeline::Input& input, const registration::PeerConnected& hello);
  void reject(pipeline::Input& input, const registration::PeerConnected& hello, std::string what);
  void say_plan(pipeline::Input& input, const registration::PeerConnected& hello,
                const foreign::ForeignPlan& plan);
  void say_code(pipeline::Input& input, const registration::PeerConnected& hello, v1::CodeObject code);

  ProcessId process_;
  NamesFrom names_;
  std::uint64_t start_;              // of the process, also where it is known by number only
  TimeNs executed_ = 0;              // CLOCK_REALTIME of its program's begin, 0: not seen
  TimeNs clock_ahead_ = 0;           // its CLOCK_MONOTONIC less the host's
  UniqueFd root_;                    // its root directory; it can be looked into when the process has ended
  std::uint32_t uid_ = UINT32_MAX;   // whose files are believed
  std::filesystem::path directory_;  // in /proc
  std::int32_t inner_pid_;
  std::string map_path_;
  JitDumpFile dump_;
  std::optional<foreign::ForeignPlan> plan_;  // of the dump, the newest
  std::uint64_t malformed_told_ = 0;
  UniqueFd map_file_;               // the newest that was believed; it may be removed by now
  std::uint64_t map_read_ = 0;      // bytes, whole lines
  std::uint64_t map_rest_end_ = 0;  // where the line ended that was taken without an end, 0: none was
  std::string map_tail_;            // the last of what was read
  bool map_is_cut_ = false, cut_is_told_ = false;  // it is longer than what is read of any
  bool map_goes_on_ = false;                       // there is more of it than was read in one go
  bool in_long_line_ = false;                      // what comes next is the rest of a line that is left out
  std::optional<foreign::ForeignPlan> map_plan_;
  std::uint64_t map_instances_ = 0;
  TimeNs next_look_ = kTimeMin, next_map_ = kTimeMin;
  std::uint64_t connections_ = 0, plans_ = 0, codes_ = 0;
  std::size_t functions_ = 0;
};

}  // namespace tailor::session
