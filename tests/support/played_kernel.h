// A kernel that a test plays for a recorder by step (RecorderOptions::by_step). Its clock moves on where the
// test or the recorder waits, and nowhere else: what the recorder does never depends on the host.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/session/recorder.h"
#include "tests/support/fake_os.h"
#include "tests/support/record_encoder.h"

namespace tailor::test {

class PlayedKernel : public FakeOs {
 public:
  PlayedKernel() {
    set_online_cpus("0");
    time = 1'000'000'000'000;  // since it was booted
  }
  // Of one thread; it began at tick 1.
  void add_process(pid_t pid) {
    add_threads(pid, {pid});
    std::string stat = std::to_string(pid) + " (target) R";
    for (int field = 4; field < 22; ++field) stat += " 0";
    proc_files().write(std::to_string(pid) + "/stat", stat + " 1 0 0\n");
  }

  // The last event of the process that was opened to take samples.
  Opened event_of(pid_t pid) {
    Opened last{};
    for (const Opened& each : opened()) {
      if (each.pid == pid && each.attr.sample_period > 0) last = each;
    }
    return last;
  }
  // It takes some samples now, of an event whose ring has CLOCK_MONOTONIC_RAW.
  void sample_now(const Opened& event, int count) {
    capture::EventFormat format;
    format.sample_type = event.attr.sample_type;
    SampleFields fields;
    fields.identifier = 1000 + static_cast<std::uint64_t>(event.fd);
    fields.ip = 0x1000;
    fields.pid = fields.tid = event.pid;
    fields.time = static_cast<std::uint64_t>(now());
    fields.user_registers.resize(static_cast<std::size_t>(std::popcount(event.attr.sample_regs_user)));
    for (int i = 0; i < count; ++i) write_record(event.fd, encode_sample(format, fields));
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
