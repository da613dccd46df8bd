// What each user and each asker over HTTP uses, for the status.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/serve/http/http_server.h"
#include "daemon/session/recorder_status.h"
#include "daemon/store/catalogue.h"
#include "tailor/v1/control.pb.h"

namespace tailor::tailord {

// What users have of the store's catalogue and of its segments, and what they lost of both.
struct CatalogueUsers {
  std::vector<store::UserUse> uses;
  std::vector<store::RemovedOfUser> removed;
  std::vector<store::DiskUse> disk = {};
  std::vector<store::CutOfUser> cuts = {};
};

// The users who take most bytes, one by one, and the others together.
void tell_users(const session::RecorderStatus& recorder, const CatalogueUsers& catalogue,
                v1::DaemonStatus& out);

// The askers who have most, or were refused most, one by one, and the others together.
void tell_http(const std::map<std::string, serve::HttpUse>& uses, v1::DaemonStatus& out);

}  // namespace tailor::tailord
