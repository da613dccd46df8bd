// What each user uses, for the status.
#pragma once

#include <vector>

#include "daemon/session/recorder_status.h"
#include "daemon/store/catalogue.h"
#include "tailor/v1/control.pb.h"

namespace tailor::tailord {

// What users have of the store's catalogue, and what they lost of it.
struct CatalogueUsers {
  std::vector<store::UserUse> uses;
  std::vector<store::RemovedOfUser> removed;
};

// The users who take most bytes, one by one, and the others together.
void tell_users(const session::RecorderStatus& recorder, const CatalogueUsers& catalogue,
                v1::DaemonStatus& out);

}  // namespace tailor::tailord
