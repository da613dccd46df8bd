#include "daemon/control/access.h"

#include <fmt/format.h>

namespace tailor::control {
namespace {

Status check_process(std::int32_t pid, const Peer& peer, const OwnerOf& owner_of) {
  if (owner_of(pid) == peer.uid) return Ok{};
  return denied(
      fmt::format("process {} is not a process of user {}: only root and the user that tailord runs "
                  "as may start, pause or resume sampling of others' processes",
                  pid, peer.uid));
}

// `request`: a PauseRequest or ResumeRequest.
template <typename Request>
Status check_which(const Request& request, const Peer& peer, const OwnerOf& owner_of) {
  if (request.which_case() == Request::kPid) return check_process(request.pid(), peer, owner_of);
  return denied("only root and the user that tailord runs as may pause or resume sampling of all processes");
}

}  // namespace

Status check_access(const v1::ControlRequest& request, const Peer& peer, std::uint32_t daemon_uid,
                    const OwnerOf& owner_of) {
  if (peer.uid == 0 || peer.uid == daemon_uid) return Ok{};
  switch (request.request_case()) {
    case v1::ControlRequest::kSample:
      return check_process(request.sample().pid(), peer, owner_of);
    case v1::ControlRequest::kUnsample:
      return check_process(request.unsample().process().pid(), peer, owner_of);
    case v1::ControlRequest::kPause:
      return check_which(request.pause(), peer, owner_of);
    case v1::ControlRequest::kResume:
      return check_which(request.resume(), peer, owner_of);
    default:
      return Ok{};
  }
}

}  // namespace tailor::control
