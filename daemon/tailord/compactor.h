// Sums up the segments that retention is about to remove, on a thread of its own: it may take seconds.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/os/files.h"
#include "daemon/store/store_writer.h"
#include "daemon/store/summary_files.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::tailord {

struct CompactorOptions {
  store::SummaryRetention retention = {};
  std::chrono::milliseconds period{10'000};  // between looks for what is due
  // After this number of failures in a row some of what is due goes unsummed (StoreWriter::give_up_some), and
  // more with each further failure.
  unsigned patience = 30;
  os::Files* files = &os::real_files();
};

class Compactor {
 public:
  // `writer` writes the store in `directory`; it must outlive this.
  Compactor(std::string directory, const CompactorOptions& options, store::StoreWriter& writer);
  // Gives up what it is at: it is begun again later.
  ~Compactor();
  Compactor(const Compactor&) = delete;
  Compactor& operator=(const Compactor&) = delete;

  // Any thread.
  void set_retention(const store::SummaryRetention& retention);

 private:
  void loop();
  // Whether there may be more to do.
  bool sum_up_some();
  store::SummaryRetention retention();
  Status retain();
  void failed(const std::string& why);
  void tell(const std::string& problem);

  const std::string directory_;
  const std::chrono::milliseconds period_;
  const unsigned patience_;
  store::StoreWriter& writer_;
  store::SummaryWriter summaries_;
  unsigned failures_ = 0;            // in a row
  std::uint64_t retained_hour_ = 0;  // when summaries were looked through last
  std::string problem_;              // as it was told last
  Stop stop_;
  std::mutex mutex_;  // guards:
  store::SummaryRetention retention_;
  bool ending_ = false;
  std::condition_variable ended_;
  std::thread thread_;
};

}  // namespace tailor::tailord
