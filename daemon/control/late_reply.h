// A reply that takes long: the server promises it and answers others meanwhile.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "proto/base/stop.h"
#include "proto/base/unique_fd.h"
#include "tailor/v1/control.pb.h"

namespace tailor::control {

// Shared by the server and the maker of the reply, who may outlive the server. Any thread.
class LateReply {
 public:
  // `wake`: an eventfd that the server waits for.
  LateReply(std::shared_ptr<const UniqueFd> wake, Stop::Clock::time_point deadline)
      : wake_(std::move(wake)), stop_(std::make_shared<Stop>(deadline)) {}

  // Of the work: cancelled when the asker is gone. At the deadline the server answers in its place.
  const std::shared_ptr<Stop>& stop() const { return stop_; }

  // Sends it, if somebody waits for it still. Once.
  void give(v1::ControlReply reply);

  // What was given; nothing yet.
  std::optional<v1::ControlReply> take();

 private:
  const std::shared_ptr<const UniqueFd> wake_;
  const std::shared_ptr<Stop> stop_;
  std::mutex mutex_;
  std::optional<v1::ControlReply> reply_;
};

}  // namespace tailor::control
