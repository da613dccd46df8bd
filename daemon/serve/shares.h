// Shares of what all askers of the server have together: threads, places to wait, streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace tailor::serve {

// The asker of a request, as far as shares go: a user of the UNIX socket, or a token. Somebody with several
// tokens has several shares, and those who share a token have one.
struct Asker {
  std::string who;       // "user 1000", "token grafana"
  bool trusted = false;  // root or the daemon's own user
};
// Of a user, as the kernel says.
Asker asker_of_user(std::uint32_t uid);

// How often each was refused. Names come from outside, so beyond some hundred of them they count together.
class RefusalCounts {
 public:
  static constexpr std::size_t kMostNames = 256;
  static constexpr const char* kOthers = "others";

  void count(const std::string& who);
  const std::map<std::string, std::uint64_t>& all() const { return counts_; }

 private:
  std::map<std::string, std::uint64_t> counts_;
};

// Root and the daemon's user may have all of it. A quarter, or one at least, is kept for them. Another asker
// has at most half. So no asker shuts out the others, and all of them together do not shut out root.
//
// Any thread.
class Shares {
 public:
  explicit Shares(std::size_t all) : all_(all) {}

  bool fits(const Asker& asker) const;
  // Takes one. False: it does not fit, which is counted.
  bool take(const Asker& asker);
  void give_back(const Asker& asker);

  std::size_t all() const { return all_; }
  std::size_t of_one() const;        // who is not trusted
  std::size_t of_strangers() const;  // all who are not trusted, together

  // What each has now, and how often each was refused.
  std::map<std::string, std::size_t> taken() const;
  std::map<std::string, std::uint64_t> refused() const;

 private:
  bool fits_locked(const Asker& asker) const;

  const std::size_t all_;
  mutable std::mutex mutex_;
  std::size_t taken_ = 0, taken_by_strangers_ = 0;
  std::map<std::string, std::size_t> by_asker_;  // who has some
  RefusalCounts refused_;
};

}  // namespace tailor::serve
