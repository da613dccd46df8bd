#include "daemon/tailord/prepared.h"

#include <fmt/format.h>
#include <grp.h>

#include <utility>
#include <vector>

#include "proto/control/control_socket.h"

namespace tailor::tailord {
namespace {

Status check_group(const std::string& group) {
  if (group.empty() || group_id(group)) return Ok{};
  return invalid(fmt::format("there is no group '{}' (socket-group)", group));
}

Status check_sockets(const Options& options) {
  for (const std::string* path : {&options.agent_socket, &options.control_socket}) {
    if (const auto address = control::socket_address(*path); !address.ok()) return address.error();
  }
  if (options.web.socket.empty()) return Ok{};
  const auto address = control::socket_address(options.web.socket);
  return address.ok() ? Status(Ok{}) : Status(address.error());
}

}  // namespace

std::optional<gid_t> group_id(const std::string& name) {
  std::vector<char> room(65536);
  ::group entry{};
  ::group* found = nullptr;
  (void)::getgrnam_r(name.c_str(), &entry, room.data(), room.size(), &found);
  if (found == nullptr) return std::nullopt;
  return found->gr_gid;
}

Result<Prepared> prepare(os::Os& os, const Options& options) {
  Prepared prepared;
  auto capture = config::capture_options(os, options.sampling);
  if (!capture.ok()) return capture.error();
  prepared.capture = std::move(*capture);
  auto rates = prepare_rates(os, options, prepared.capture);
  if (!rates.ok()) return rates.error();
  prepared.rates = std::move(*rates);
  if (Status known = check_group(options.socket_group); !known.ok()) return known.error();
  if (Status fit = check_sockets(options); !fit.ok()) return fit.error();
  auto http = http_options(options.web);
  // A file of tokens that is missing is a wrong configuration, whatever else it is.
  if (!http.ok()) return Error{http.error().message, http.error().code, ErrorKind::kInvalid};
  prepared.http = std::move(*http);
  return prepared;
}

}  // namespace tailor::tailord
