// Tells the service manager how we are (sd_notify(3)): one datagram, which is the whole protocol.
#pragma once

#include <chrono>
#include <string_view>

namespace tailor::tailord {

// "READY=1", "STOPPING=1" ... Does nothing without NOTIFY_SOCKET; failures are the manager's to notice.
void notify(std::string_view state);

// The manager's watchdog (sd_watchdog_enabled(3)): without a ping for WATCHDOG_USEC it starts us again. One
// thread.
class Watchdog {
 public:
  Watchdog();

  // Until the next ping is due; -1: nobody waits for one.
  int timeout_ms() const;
  bool due() const { return timeout_ms() == 0; }
  // Pings if all is well, and looks again after a while; soon if it is not.
  void look(bool well);

 private:
  std::chrono::milliseconds every_{0};  // 0: nobody waits
  std::chrono::steady_clock::time_point next_;
};

}  // namespace tailor::tailord
