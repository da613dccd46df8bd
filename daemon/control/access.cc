#include "daemon/control/access.h"

#include <fmt/format.h>

namespace tailor::control {
namespace {

Status check_process(std::int32_t pid, const IsOwn& is_own, const OwnerOf& owner_of) {
  const auto owner = owner_of(pid);
  if (owner && is_own(*owner)) return Ok{};
  return denied(
      fmt::format("process {} is not yours: only root and the user that tailord runs as may change the "
                  "sampling of others' processes",
                  pid));
}

// `request`: a PauseRequest, ResumeRequest or RateRequest.
template <typename Request>
Status check_which(const Request& request, const IsOwn& is_own, const OwnerOf& owner_of) {
  if (request.which_case() == Request::kPid) return check_process(request.pid(), is_own, owner_of);
  return denied(
      "only root and the user that tailord runs as may change the sampling of all processes: "
      "name one of yours");
}

}  // namespace

Status check_access(const v1::ControlRequest& request, const Peer& peer, std::uint32_t daemon_uid,
                    const OwnerOf& owner_of) {
  if (peer.uid == 0 || peer.uid == daemon_uid) return Ok{};
  return check_own(request, [&](std::uint32_t uid) { return uid == peer.uid; }, owner_of);
}

Status check_own(const v1::ControlRequest& request, const IsOwn& is_own, const OwnerOf& owner_of) {
  switch (request.request_case()) {
    case v1::ControlRequest::kSample:
      return check_process(request.sample().pid(), is_own, owner_of);
    case v1::ControlRequest::kUnsample:
      return check_process(request.unsample().process().pid(), is_own, owner_of);
    case v1::ControlRequest::kPause:
      return check_which(request.pause(), is_own, owner_of);
    case v1::ControlRequest::kResume:
      return check_which(request.resume(), is_own, owner_of);
    case v1::ControlRequest::kRate:
      return check_which(request.rate(), is_own, owner_of);
    default:
      return Ok{};
  }
}

}  // namespace tailor::control
