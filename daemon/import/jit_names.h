// The names of generated code that lie in files beside a recording that was made elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/formats/jitdump.h"
#include "daemon/formats/perf_file.h"
#include "daemon/import/jit_files.h"
#include "daemon/import/observing_sink.h"
#include "daemon/import/perf_import_options.h"
#include "daemon/profile/sink.h"

namespace tailor::importer {

// One thread; everything passed to the constructor must outlive it.
class JitNames {
 public:
  // `timed`: the times of jitdumps are those of the recording; else they count as files without times.
  JitNames(profile::ProfileSink& sink, bool timed, std::vector<std::string>& notes)
      : sink_(sink), timed_(timed), notes_(notes) {}

  // The files that the options name, then those that can be found for the processes that were sampled: each
  // jit-PID.dump where the process mapped it, else beside the recording, and perf-PID.map beside the
  // recording, else in /tmp. Of another machine's recording only those beside it. One that is found is
  // believed if its owner is the process's, the recording's, root, or who runs this. A perf map must not be
  // older than its process, where that began in the recording. Fails where the options' `progress` says so.
  // `read`: bytes of the recording that were read before.
  Status add(const PerfImportOptions& options, std::uint64_t read, const ObservingSink& seen,
             const profile::RecordingInfo& info, const formats::PerfDescription& description);
  std::uint64_t functions() const { return functions_; }

 private:
  // What is known of a file that was found.
  struct Rules {
    Owners owners;
    std::int64_t process_began_ns = 0;    // CLOCK_REALTIME; 0: not known
    std::int64_t recording_began_ns = 0;  // the same
  };

  void find(const PerfImportOptions& options, const ObservingSink& seen, ProcessId process, bool here,
            const Rules& rules);
  void find_dumps(const PerfImportOptions& options, const std::vector<std::string>& paths, ProcessId process,
                  bool here, const Rules& rules);
  bool add_jitdump(const std::string& path, std::int32_t pid, const Rules* rules);
  bool add_perf_map(const std::string& path, std::int32_t pid, const Rules* rules);
  Status read_dump(const JitFile& file, formats::JitDumpParser& parser,
                   const std::function<void(std::span<const formats::JitSymbol>)>& take);
  std::uint64_t read_map(const JitFile& file,
                         const std::function<void(std::span<const formats::JitSymbol>)>& take);
  bool tell_dump(const JitFile& file, const std::string& path, std::int32_t pid);
  void ask_to_go_on(std::uint64_t bytes);
  void note(std::string text);
  // False. Nobody has to hear of a file that was only looked for, and is not there.
  bool refuse(const std::string& path, const Error& why);

  profile::ProfileSink& sink_;
  bool timed_;
  std::vector<std::string>& notes_;
  PlanId plans_ = 0;
  CodeId codes_ = 0;
  std::uint64_t functions_ = 0;
  std::set<std::pair<std::uint64_t, std::uint64_t>>
      taken_;  // jitdumps of the process at work: device and inode
  std::function<Status(std::uint64_t)> progress_;
  std::uint64_t read_ = 0;  // bytes, of all files
  Status go_on_ = Ok{};     // what `progress_` said
};

}  // namespace tailor::importer
