// Chooses who takes the samples of a recording, BPF or perf, and opens it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "daemon/bpf/code_pages.h"
#include "daemon/bpf/sampler.h"
#include "daemon/bpf/sampler_loader.h"
#include "daemon/bpf/shared_sideband.h"
#include "daemon/capture/host/recording.h"

namespace tailor::bpf {

// Makes of adaptive stacks what perf can do instead, with a note: one with every sample of a timer of 5 kHz
// at most, else none. Other options stay as they are. Pure.
void settle_stacks_for_perf(capture::CaptureOptions& options);

// An OpenRecording that keeps one sampler for all recordings with the same events. Any threads.
class Opener {
 public:
  // `start`: for tests, see SamplerLoader.
  explicit Opener(SamplerLoader::Start start = Sampler::start) : loader_(std::move(start)) {}

  // Whether open() with these options would load no program itself. If not, one is being loaded: ask again
  // some milliseconds later. `os` must outlive this.
  bool is_ready(os::Os& os, const capture::CaptureOptions& options);
  // Unloads programs that were loaded and never opened; to be called now and then.
  void give_up_unused(TimeNs now);

  // By options.sampled_by. kBpf fails where BPF is not permitted or can take none of the events; kAuto takes
  // BPF where it sees more than perf, and falls back to perf with a note that says why. The notes name the
  // row of the decision table for each event. With options.perf_part only what perf takes of a recording by
  // BPF.
  Result<std::unique_ptr<capture::Recording>> open(os::Os& os, pid_t pid,
                                                   const capture::CaptureOptions& options);

  // What the agents of processes say, whether they are recorded yet or not: for adaptive stacks.
  void tags(pid_t pid, const capture::AgentTag& tags);
  void add_code(pid_t pid, CodeId id, std::uint64_t begin, std::uint64_t size, bool of_plan);
  void remove_code(pid_t pid, CodeId id);
  void gone(pid_t pid);

 private:
  struct Known {
    capture::AgentTag tags;
    CodePages code;
  };
  Result<std::unique_ptr<capture::Recording>> open_by_bpf(os::Os& os, pid_t pid,
                                                          const capture::CaptureOptions& options);
  Result<std::shared_ptr<Sampler>> sampler(os::Os& os, const SamplerOptions& options);
  std::shared_ptr<Sampler> running(const SamplerOptions& options);
  Result<std::unique_ptr<capture::Recording>> sideband(os::Os& os, pid_t pid,
                                                       const capture::CaptureOptions& options);

  void tell_known(Sampler& sampler, pid_t pid);
  template <typename Tell>
  void tell_all(Tell tell);
  CodePages::Tell tell_pages(pid_t pid);

  std::mutex mutex_;
  SamplerLoader loader_;
  std::vector<std::weak_ptr<Sampler>> samplers_;
  std::vector<std::weak_ptr<SharedSideband>> sidebands_;
  std::map<pid_t, Known> known_;
};

}  // namespace tailor::bpf
