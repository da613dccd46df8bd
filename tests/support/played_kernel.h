// A kernel that a test plays for a recorder by step (RecorderOptions::by_step). Its clock moves on where the
// test or the recorder waits, and nowhere else: what the recorder does never depends on the host.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

#include "daemon/session/recorder.h"
#include "tests/support/fake_os.h"

namespace tailor::test {

class PlayedKernel : public FakeOs {
 public:
  PlayedKernel() {
    set_online_cpus("0");
    time = 1'000'000'000'000;  // since it was booted
  }
  // The reader's own wake-up is real.
  Result<std::unique_ptr<os::Poller>> make_poller() override { return os::real().make_poller(); }
};

inline constexpr std::chrono::milliseconds kStep{10};

inline void step_for(session::Recorder& recorder, std::chrono::milliseconds time) {
  for (; time.count() > 0; time -= kStep) recorder.step(std::min(time, kStep));
}

// False: it does not hold within so much time of the played clock.
inline bool step_until(session::Recorder& recorder, std::chrono::milliseconds most,
                       const std::function<bool()>& holds) {
  for (; !holds(); most -= kStep) {
    if (most.count() <= 0) return false;
    recorder.step(kStep);
  }
  return true;
}

}  // namespace tailor::test
