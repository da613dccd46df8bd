// The rights of a tailord that root starts by hand. It gives up what it does not need, as its unit says it
// for a service (deploy/systemd/tailord.service). The user stays root, so its sockets and its store are
// root's.
#pragma once

#include <string>
#include <vector>

#include "daemon/os/capabilities.h"
#include "daemon/os/os.h"
#include "daemon/tailord/options.h"
#include "proto/base/result.h"

namespace tailor::tailord {

// What decides about rights beyond those of the unit.
struct RightsFacts {
  bool locks_any_memory = false;            // its limit is infinite, as in the unit
  bool binds_low_port = false;              // one below 1024, over TCP
  bool is_in_socket_group = true;           // or there is none
  bool perf_is_for_admins = false;          // perf is denied without CAP_SYS_ADMIN, and only then
  std::vector<std::string> foreign_places;  // that are not root's own: without a right root cannot use them
};

struct KeptRights {
  os::Capabilities all = 0;
  std::vector<std::string>
      because;  // a sentence for each that the unit does not have, and that is a great one
};

// Pure.
KeptRights rights_to_keep(const RightsFacts& facts);

// "CAP_BPF, CAP_PERFMON". Of those that rights_to_keep() can give.
std::string names_of(os::Capabilities rights);

// What there is to say of it, a sentence each.
struct RightsNews {
  std::vector<std::string> warnings;
  std::string kept;  // "": nothing was given up
};

// Gives up what is not needed for these options, for this thread and all that it starts: before the first
// one, and before anything of `options` is opened. Raises the limit of locked memory before, and joins the
// group of the socket: both take a right. Does nothing for another user than root. A right that cannot be
// given up is a warning.
RightsNews give_up_rights(os::Os& os, const Options& options);

// To the log. A daemon that does not start says nothing but why.
void tell(const RightsNews& news);

}  // namespace tailor::tailord
