// The asking end of the control socket: the command line's, and an engine's that shows its users what was
// measured of their queries.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "proto/base/result.h"
#include "proto/base/unique_fd.h"
#include "tailor/v1/control.pb.h"

namespace tailor::control {

// For how long a daemon lets a request wait that changes what it records, at most. The kernel may take
// seconds on a busy host to load programs and to open events.
inline constexpr std::chrono::seconds kLongestChange{60};

// For how long the reply to `request` is waited for: of what the daemon says at once, 10 s. Of all others,
// longer than the daemon lets them wait: the reply says whether it was done.
std::chrono::milliseconds patience_for(const v1::ControlRequest& request);

// One thread.
class ControlClient {
 public:
  // Fails, saying what to do, where no daemon listens.
  static Result<ControlClient> connect(const std::string& path);
  // The first daemon that answers at one of `places` (control_socket_places()). The error names every place
  // that was tried, and why it failed; it is kDenied if a daemon may be there that this user may not ask.
  static Result<ControlClient> connect_first(const std::vector<std::string>& places);

  // Asks and waits for the reply, by patience_for() or for so long. A refusal of the daemon is an error with
  // its words.
  Result<v1::ControlReply> ask(const v1::ControlRequest& request);
  Result<v1::ControlReply> ask(const v1::ControlRequest& request, std::chrono::milliseconds timeout);

 private:
  explicit ControlClient(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
};

}  // namespace tailor::control
