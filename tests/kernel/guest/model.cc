// The daemon's clock model on a real kernel: each of its sources, and the way from one to another.
#include "daemon/clock/model.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "daemon/clock/host_clock.h"
#include "daemon/os/host_time.h"
#include "daemon/os/os.h"
#include "tests/kernel/guest/check.h"

namespace tailor::guest {
namespace {

struct Tally {
  std::uint64_t checked = 0;
  std::int64_t beyond_bound_ns = 0;  // outside a fresh pair by more than the model's own bound
  std::int64_t worst_ns = 0;         // outside a fresh pair
  std::uint64_t backward = 0;
};

class ModelRun {
 public:
  explicit ModelRun(const char* device) : host_(os::real(), device) {}

  // Observes as the model asks for it; in between converts all the time, and after `settle` seconds compares.
  Tally run(double seconds, double settle) {
    Tally tally;
    const TimeNs begin = os::read_raw_ns();
    for (TimeNs now = begin; now < begin + static_cast<TimeNs>(seconds * 1e9); now = os::read_raw_ns()) {
      if (now >= next_ || now < last_now_) {
        (void)model_.observe(host_.observe());
        next_ = now + static_cast<TimeNs>(model_.next_observation_ns());
      }
      last_now_ = now;
      for (int i = 0; model_.ready() && i < 50; ++i) {
        compare(clock::read_pair(os::real(), 1), now > begin + static_cast<TimeNs>(settle * 1e9), tally);
      }
      usleep(1000);
    }
    return tally;
  }

  const clock::Model& model() const { return model_; }
  const clock::HostClock& host() const { return host_; }

 private:
  void compare(const clock::Pair& pair, bool settled, Tally& tally) {
    const TimeNs low = model_.to_ns(pair.before), high = model_.to_ns(pair.after);
    tally.backward += low < last_ns_ || high < low;
    last_ns_ = high;
    if (!settled) return;
    ++tally.checked;
    const std::int64_t off = std::max(low - pair.raw_ns, pair.raw_ns - high);
    const auto bound = static_cast<std::int64_t>(model_.timeline().error_bound_ns(pair.after));
    tally.worst_ns = std::max(tally.worst_ns, off);
    tally.beyond_bound_ns = std::max(tally.beyond_bound_ns, off - bound);
  }

  clock::HostClock host_;
  clock::Model model_;
  TimeNs next_ = 0, last_now_ = 0, last_ns_ = kTimeMin;
};

void judge(const char* name, const ModelRun& run, const Tally& tally, clock::Source source, bool trusted,
           std::uint64_t limit_ns) {
  const clock::Model& model = run.model();
  check(model.source() == source && model.trusted() == trusted, name, "source %s, %s",
        clock::name(model.source()), model.trusted() ? "trusted" : "not trusted");
  check(tally.backward == 0, name, "time ran backward %lu times", tally.backward);
  check(tally.checked > 1000 && tally.beyond_bound_ns <= 0, name,
        "%ld ns beyond its bound, %ld ns beyond the pairs, in %lu comparisons", tally.beyond_bound_ns,
        tally.worst_ns, tally.checked);
  check(model.error_bound_ns() <= limit_ns, name, "bound %lu ns (at most %lu)", model.error_bound_ns(),
        limit_ns);
}

constexpr const char* kNoDevice = "/nonexistent";
const std::string kClocksource = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

// Without the module: the perf page where this kernel offers it, else pairs alone.
void without_module() {
  ModelRun run(kNoDevice);
  const Tally tally = run.run(4, 1);
  const bool perf = run.host().perf_denial().empty();
  std::printf("perf page: %s\n", perf ? "serves" : run.host().perf_denial().c_str());
  judge(perf ? "model by the perf page" : "model by calibration", run, tally,
        perf ? clock::Source::kPerfPage : clock::Source::kCalibration, true, 5'000);
}

void with_module() {
  ModelRun run(TAILOR_CLOCK_DEVICE);
  judge("model by the module", run, run.run(2, 0), clock::Source::kModule, true, 100);
  if (!check(write_line(kClocksource, "hpet"), "clocksource", "to hpet")) return;
  // Nobody can know of the change before the next observation, a second later at most.
  judge("model without a TSC clocksource", run, run.run(8, 6), clock::Source::kCalibration, false, 100'000);
  check(write_line(kClocksource, "tsc"), "clocksource", "back to tsc");
  judge("model back on the module", run, run.run(4, 3), clock::Source::kModule, true, 100);
}

}  // namespace

void check_model() {
  without_module();
  with_module();
}

}  // namespace tailor::guest
