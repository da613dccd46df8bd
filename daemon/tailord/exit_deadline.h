// Ends the program some seconds after it was asked to end, whatever still keeps it busy: what was written
// until then is as safe as after a kill -9.
#pragma once

#include <chrono>
#include <thread>

#include "proto/base/unique_fd.h"

namespace tailor::tailord {

class ExitDeadline {
 public:
  // `asked` becomes readable when the end is wanted; nobody may read it before this is destroyed.
  ExitDeadline(int asked, std::chrono::milliseconds patience);
  // In time.
  ~ExitDeadline();
  ExitDeadline(const ExitDeadline&) = delete;
  ExitDeadline& operator=(const ExitDeadline&) = delete;

 private:
  void watch(int asked, std::chrono::milliseconds patience) const;

  UniqueFd done_;
  std::thread thread_;
};

}  // namespace tailor::tailord
