// Loads the BPF program on a thread of its own. The kernel checks and compiles it meanwhile, which takes some
// thirty milliseconds: the thread that serves everybody does not have them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "daemon/bpf/sampler.h"

namespace tailor::bpf {

// One sampler at a time, which waits until it is taken. One thread.
class SamplerLoader {
 public:
  using Started = Result<std::shared_ptr<Sampler>>;
  // Sampler::start(), or what stands for it in a test.
  using Start = std::function<Started(os::Os& os, const SamplerOptions& options)>;

  explicit SamplerLoader(Start start = Sampler::start) : start_(std::move(start)) {}
  // Waits for the program that is being loaded.
  ~SamplerLoader();
  SamplerLoader(const SamplerLoader&) = delete;
  SamplerLoader& operator=(const SamplerLoader&) = delete;

  // Whether there is something to take() for these options. If not, it is begun to be loaded, after what is
  // being loaded for others. `os` must outlive this.
  bool is_ready(os::Os& os, const SamplerOptions& options, TimeNs now);
  // What was loaded for these options, or why that failed; nothing: it was not asked for, or is not ready.
  std::optional<Started> take(const SamplerOptions& options);
  // At once, on this thread.
  Started start(os::Os& os, const SamplerOptions& options) const { return start_(os, options); }
  // Unloads programs that nobody has taken for a while.
  void give_up(TimeNs now);

 private:
  void drop();
  void run(std::function<void()> work);

  Start start_;
  SamplerOptions options_;          // of `loaded_`
  std::optional<Started> loaded_;   // written by the thread, as long as it is busy
  TimeNs asked_ = kTimeMin;         // for it, last
  std::atomic<bool> busy_ = false;  // the thread works
  std::thread thread_;
};

}  // namespace tailor::bpf
