// How many of the server's connections each peer may hold, so that none shuts others out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "daemon/serve/shares.h"

namespace tailor::serve {

// Of all connections a quarter is kept for root and the daemon's own user on the UNIX socket. A metrics
// listener, which needs no token, has at most a quarter, as has each other user of the socket; one address
// half.
//
// One thread at a time.
class ConnectionShares {
 public:
  enum class Door {
    kSocket,   // the UNIX socket
    kTcp,      // a listener that asks for tokens
    kMetrics,  // one that does not
  };
  struct Guest {
    Door door = Door::kSocket;
    std::string who;       // the user ("user 1000") or the address ("address 10.0.0.1")
    bool trusted = false;  // root or the daemon's own user, as the kernel says
  };

  explicit ConnectionShares(std::size_t all) : all_(all) {}

  // Whether one more of this guest's fits in.
  bool has_room_for(const Guest& guest) const;
  void refused(const Guest& guest) { refused_.count(guest.who); }
  void opened(int descriptor, const Guest& guest) { open_[descriptor] = guest; }
  void closed(int descriptor) { open_.erase(descriptor); }

  // By descriptor.
  const std::map<int, Guest>& open() const { return open_; }
  // By guest, how many were turned away.
  const std::map<std::string, std::uint64_t>& refusals() const { return refused_.all(); }
  std::size_t all() const { return all_; }

 private:
  std::size_t all_;
  std::map<int, Guest> open_;
  RefusalCounts refused_;
};

}  // namespace tailor::serve
