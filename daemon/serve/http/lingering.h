// Connections that are over and not closed yet.
//
// The messages of a local peer that nobody has read may hold descriptors. To throw that away takes as long as
// the peer likes: a TCP socket with SO_LINGER waits for its peer, a file of FUSE for its server. So it
// happens on the thread of the connection, which may outlive the server, and under no lock of others.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace tailor::serve {

// Any thread.
class Lingering {
 public:
  void begins(const std::string& who) {
    const std::lock_guard lock(mutex_);
    ++by_guest_[who];
  }
  void ends(const std::string& who) {
    const std::lock_guard lock(mutex_);
    const auto found = by_guest_.find(who);
    if (found != by_guest_.end() && --found->second == 0) by_guest_.erase(found);
  }
  std::size_t of(const std::string& who) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_guest_.find(who);
    return found == by_guest_.end() ? 0 : found->second;
  }
  std::map<std::string, std::size_t> all() const {
    const std::lock_guard lock(mutex_);
    return by_guest_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::size_t> by_guest_;
};

}  // namespace tailor::serve
