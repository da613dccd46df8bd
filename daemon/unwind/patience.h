// For how long samples wait for files that their stacks need. All samples that come later wait behind them,
// those of others too: so nobody's files hold them up for long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "daemon/os/os.h"
#include "daemon/unwind/file_work.h"
#include "proto/base/ids.h"

namespace tailor::unwind {

struct PatienceLimits {
  TimeNs of_a_message = 300'000'000;  // that came from the reader of the rings
  TimeNs of_a_user = 300'000'000;     // whose files they wait for ...
  TimeNs regained_in = 10;            // ... and this number of ns later it is one ns more
  TimeNs here = 1'000'000;            // the thread itself waits for a file ...
  TimeNs of_a_step = 3'000'000;       // ... and for all of them between two waits for something to do
};

// One thread.
class Patience {
 public:
  // `os` must outlive this.
  explicit Patience(os::Os& os, PatienceLimits limits = {}) : os_(os), limits_(limits) {}

  // The thread begins a step; `arrived` is when the message came that is looked at first.
  void begin_step(TimeNs arrived);
  enum class Answer : std::uint8_t { kIsThere, kLater, kNoLonger };
  // What to do without what is being made.
  Answer ask(const Progress& missing);

 private:
  struct User {
    TimeNs left = 0;
    TimeNs as_of = 0;
  };
  User* user(std::uint32_t number, TimeNs now);

  static constexpr std::size_t kMostUsers = 1024;
  os::Os& os_;
  const PatienceLimits limits_;
  std::map<std::uint32_t, User> users_;
  TimeNs arrived_ = 0, here_left_ = 0;
  std::optional<std::uint32_t> waits_for_;  // a user, since `since_`
  TimeNs since_ = 0;
};

}  // namespace tailor::unwind
