// How much of something the processes of each user have, where each user has the same share. A user who
// has all of it gets no more, so that there is some left for the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace tailor::registration {

// Any thread.
class UserCounts : public std::enable_shared_from_this<UserCounts> {
 public:
  explicit UserCounts(std::size_t most) : most_(most) {}

  // False: that would be more than the user's share, and nothing is taken.
  bool take(std::uint32_t uid, std::size_t count);
  void give_back(std::uint32_t uid, std::size_t count);

  // The same, given back by itself. NULL: more than the share. Only where a shared_ptr holds this.
  using Taken = std::shared_ptr<const void>;
  Taken hold(std::uint32_t uid, std::size_t count);

  std::size_t taken(std::uint32_t uid) const;
  // Of everybody who has some.
  std::map<std::uint32_t, std::size_t> all() const;
  std::size_t most() const { return most_; }

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::size_t> users_;  // who has some
};

}  // namespace tailor::registration
