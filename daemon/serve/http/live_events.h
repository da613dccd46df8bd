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
  // What is known of an execution that may change still.
  struct Known {
    std::size_t told = 0;  // a hash of what was told of it last; 0: nothing
    double cpu_ns = 0;     // when it was looked at last
  };
  struct Look {
    std::map<std::string, Known> known;
    std::map<std::string, double> cost;  // since the look before, by fingerprint
    std::uint64_t open_since_ns = 0;     // when the oldest one that may change still began
    std::size_t told = 0;                // events
  };

  void tell_status(std::string& out);
  void tell_executions(std::string& out);
  void take(const Json& row, std::uint64_t now_ns, Look& look, std::string& out);

  Service& service_;
  const Access access_;
  std::uint64_t rounds_ = 0;
  double last_ms_ = 0;
  std::uint64_t since_ns_ = 0;  // executions that began before have not changed
  std::map<std::string, Known> known_;
  std::map<std::string, double> kinds_;  // what each had come to
  bool complete_ =
      true;  // false: executions that may change still are too many, and the oldest are not looked at
};

}  // namespace tailor::serve
