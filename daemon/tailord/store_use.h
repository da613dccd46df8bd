// What users have of the store, for the status. Its catalogue may be in use for seconds, and a status does
// not wait for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/store/store_writer.h"
#include "daemon/tailord/user_status.h"

namespace tailor::tailord {

// A thread of its own reads the catalogue.
class StoreUse {
 public:
  using Clock = std::chrono::steady_clock;
  struct Reading {
    Clock::time_point begun = {};  // everything before that is in it
    CatalogueUsers users = {};
    store::GivenUp given_up = {};
    std::string problem = {};  // the first of what could not be read; empty: all was
  };
  static constexpr std::chrono::seconds kPeriod{10};

  // Reads it once before it returns. `store` must outlive it. At least each `period` it is read again.
  explicit StoreUse(const store::StoreWriter& store, std::chrono::milliseconds period = kPeriod);
  // Finishes what is being read.
  ~StoreUse();
  StoreUse(const StoreUse&) = delete;
  StoreUse& operator=(const StoreUse&) = delete;

  // Any thread, without waiting. As it was read last. It is read again as soon as it can be.
  Reading ask();

 private:
  void loop();
  void read();

  const store::StoreWriter& store_;
  const std::chrono::milliseconds period_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Reading last_;
  bool asked_ = false, ending_ = false;
  std::thread thread_;
};

}  // namespace tailor::tailord
