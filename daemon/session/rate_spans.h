// When which process was sampled at another rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/profile/records.h"
#include "proto/base/ids.h"

namespace tailor::session {

// One thread. Times do not decrease from call to call.
class RateSpans {
 public:
  // Over ones that the list keeps: every profile carries them.
  static constexpr std::size_t kMostOver = 256;

  // The rate that the process had until then is over. The same rate for the same reason goes on. Whether
  // anything changed.
  bool begin(ProcessId process, TimeNs from, std::uint64_t frequency, const std::string& why);
  // Whether there was one.
  bool end(ProcessId process, TimeNs to);
  // The one that goes on; null: none does.
  const profile::RateSpan* open(ProcessId process) const;

  // In the order of their begin: all that go on, and the newest of the others.
  const std::vector<profile::RateSpan>& list() const { return list_; }

 private:
  std::vector<profile::RateSpan> list_;
};

}  // namespace tailor::session
