// Keeps the clock model fed from the host, and passes on what it appends to its timeline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/clock/host_clock.h"
#include "daemon/clock/model.h"
#include "daemon/os/os.h"
#include "daemon/pipeline/input.h"

namespace tailor::session {

// Control thread only.
class LiveClock {
 public:
  explicit LiveClock(os::Os& os) : os_(os), host_(os) {}

  // Observes until there is a conversion: some milliseconds.
  void start(pipeline::Input& input);
  // Observes again if it is time to.
  void tick(TimeNs now, pipeline::Input& input);

  const clock::Model& model() const { return model_; }

  // For the profile: the worst of what it was converted with so far ("calibration, not trusted"), and its
  // bound.
  std::string worst_source() const;
  std::uint64_t worst_error_ns() const { return worst_error_ns_; }

 private:
  void observe(pipeline::Input& input);

  os::Os& os_;
  clock::HostClock host_;
  clock::Model model_;
  std::optional<clock::Conversion> told_perf_line_;
  clock::Source worst_source_ = clock::Source::kModule;
  bool always_trusted_ = true;
  std::uint64_t worst_error_ns_ = 0;
  TimeNs next_ = kTimeMin;
};

}  // namespace tailor::session
