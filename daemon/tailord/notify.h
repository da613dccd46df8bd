// Tells the service manager how we are (sd_notify(3)): one datagram, which is the whole protocol.
#pragma once

#include <string_view>

namespace tailor::tailord {

// "READY=1", "STOPPING=1" ... Does nothing without NOTIFY_SOCKET; failures are the manager's to notice.
void notify(std::string_view state);

}  // namespace tailor::tailord
