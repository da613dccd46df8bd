// What one client of the live stream is told (docs/http-api.md, "live").
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "daemon/serve/service.h"

namespace tailor::serve {

// One thread. It looks at the store once a second and tells what is new, so a slow client costs nothing but
// itself.
class LiveEvents {
 public:
  LiveEvents(Service& service, Access access) : service_(service), access_(std::move(access)) {}

  // Waits up to a second; then events as text, or a comment where there is nothing to tell, so that a
  // connection that is over is noticed.
  std::string next();

 private:
  void tell_status(std::string& out);
  void tell_executions(std::string& out);

  Service& service_;
  const Access access_;
  std::uint64_t rounds_ = 0;
  double last_ms_ = 0;
  std::map<std::string, std::string> told_;  // execution > what was told of it last
  std::map<std::string, double> cpu_ns_;     // execution > its cost when it was told last
};

}  // namespace tailor::serve
