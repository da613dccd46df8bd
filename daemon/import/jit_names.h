// The names of generated code that lie in files beside a recording that was made elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/import/observing_sink.h"
#include "daemon/profile/sink.h"

namespace tailor::importer {

struct PerfImportOptions;

// One thread; what it is given must outlive it.
class JitNames {
 public:
  // `timed`: the times of jitdumps are those of the recording; else they count as files without times.
  JitNames(profile::ProfileSink& sink, bool timed, std::vector<std::string>& notes)
      : sink_(sink), timed_(timed), notes_(notes) {}

  // The files that the options name, then those that can be found for the processes that were sampled.
  void add(const PerfImportOptions& options, const ObservingSink& seen, const profile::RecordingInfo& info);
  std::uint64_t functions() const { return functions_; }

 private:
  bool add_jitdump(const std::string& path, std::int32_t pid);
  bool add_perf_map(const std::string& path, std::int32_t pid, std::int64_t not_before_ns);

  profile::ProfileSink& sink_;
  bool timed_;
  std::vector<std::string>& notes_;
  PlanId plans_ = 0;
  CodeId codes_ = 0;
  std::uint64_t functions_ = 0;
};

}  // namespace tailor::importer
