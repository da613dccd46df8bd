// What is written on the recorder's control thread beside the recording, as other threads may read it.
#pragma once

#include <mutex>

#include "daemon/store/store_writer.h"
#include "daemon/tailord/triggers.h"
#include "tailor/v1/control.pb.h"

namespace tailor::tailord {

class PublishedCounts {
 public:
  // The thread that writes both. Keeps what they say now.
  void publish(const store::StoreWriter& store, const Triggers& triggers);
  // Any thread, without waiting for that one. Adds what was published last.
  void add_to(v1::DaemonStatus& out) const;

 private:
  mutable std::mutex mutex_;
  v1::DaemonStatus counts_;
};

}  // namespace tailor::tailord
