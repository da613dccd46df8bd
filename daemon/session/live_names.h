// The names of the functions that a recording hits: files are held open when they are mapped, and named while
// the recording runs, or at its end.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/os/os.h"
#include "daemon/pipeline/input.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/session/function_namer.h"
#include "daemon/session/kept_files.h"
#include "daemon/session/on_problem.h"

namespace tailor::session {

// Says what functions of files are called, behind all samples.
using NameFunctions = std::function<std::vector<profile::FileNames>(const query::FindKept&)>;

// Control thread only, and it never waits for a file but in tell_all().
class LiveNames {
 public:
  // `name_functions` may be empty and `namer` NULL, which must outlive this: nobody names then.
  LiveNames(os::Os& os, pipeline::Pipeline& pipeline, pipeline::Input& input, const OnProblem& on_problem,
            NameFunctions name_functions, FunctionNamer* namer);

  // A process that is sampled from now on, and what the kernel says of mappings.
  void known(const pipeline::KnownProcess& process);
  void chunk(const capture::RingChunk& chunk);
  // Names what was hit since the last time, about once a second.
  void look();
  // The same now; `last`: the recording ends. Whether files are still being read.
  bool name_what_was_hit(bool last);
  // At the end, with `name_functions`.
  void tell_all();

 private:
  std::optional<process::FileRanges::At> file_at(ProcessId process, std::uint64_t address) const;
  std::uint32_t user_of(ProcessId process) const;

  os::Os& os_;
  pipeline::Pipeline& pipeline_;
  pipeline::Input& input_;
  const OnProblem& on_problem_;
  const NameFunctions name_functions_;
  FunctionNamer* const namer_;
  std::optional<KeptFiles> kept_files_;
  TimeNs next_ = kTimeMin;
};

}  // namespace tailor::session
