// Requests whose answer waits for the recorder, and new configurations, which wait for it too. A thread of
// their own does them, so that a status is answered meanwhile.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "daemon/control/control_server.h"
#include "proto/base/result.h"
#include "tailor/v1/control.pb.h"

namespace tailor::tailord {

class ControlWork {
 public:
  using Answer = std::function<v1::ControlReply(const v1::ControlRequest&)>;
  // `answer` is called on the thread.
  explicit ControlWork(Answer answer);
  // Finishes what runs. What waits gets no answer.
  ~ControlWork();
  ControlWork(const ControlWork&) = delete;
  ControlWork& operator=(const ControlWork&) = delete;

  // The thread that polls the server. The reply comes by a promise: requests are done one after the other, as
  // they came. A flush is left out where its asker is gone. Fails where too many wait or are promised.
  Status start(v1::ControlRequest request, const control::ControlServer::Promise& promise);
  // Any thread, without waiting. `reload` is called on the thread, before the requests that wait. It takes
  // the place of one that has not begun: the later one reads what is newer.
  void start_reload(std::function<void()> reload);

 private:
  struct Job {
    v1::ControlRequest request;
    std::shared_ptr<control::LateReply> late;
  };
  void loop();

  const Answer answer_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  std::function<void()> reload_;  // that waits; empty: none
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace tailor::tailord
