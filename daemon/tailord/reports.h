// Reports that engines ask for over the control socket: made on threads of their own, so that a long one
// keeps nobody else waiting.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/control/control_server.h"
#include "daemon/serve/library.h"
#include "daemon/serve/service.h"
#include "daemon/serve/shares.h"
#include "daemon/serve/workers.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"
#include "tailor/v1/control.pb.h"

namespace tailor::tailord {

// Any thread.
class Reports {
 public:
  // Writes down what happened so far, and gives the time up to which. Any thread, and not after the end of
  // the Reports.
  using Flush = std::function<Result<TimeNs>()>;
  // Is told what of the store is damaged. Any thread.
  using OnDamage = std::function<void(const std::string& text)>;
  // Of the executions in the store `directory`. `on_damage` may be empty.
  Reports(const std::string& directory, Flush flush, OnDamage on_damage = {});

  // The reply comes by a promise. Fails where the request makes no sense, and where too many wait.
  Status start(const v1::ReportRequest& request, const serve::Asker& asker,
               const control::ControlServer::Promise& promise);

 private:
  const Flush flush_;
  const std::unique_ptr<serve::Library> library_;
  serve::Service service_;
  serve::Workers workers_;  // the first to go: it uses the others
};

}  // namespace tailor::tailord
