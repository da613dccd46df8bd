// How large the catalogue may become. A user who may register can begin executions without end, at no
// cost. So each user has a share: beyond the budget the data of the user who has most go first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/store/catalogue.h"
#include "proto/base/result.h"

namespace tailor::store {

// For a store that keeps this many bytes of segments; 0: it keeps any number for ever.
inline constexpr std::uint64_t catalogue_budget(std::uint64_t keep_bytes) {
  constexpr std::uint64_t kLeast = 64u << 20, kPart = 8;
  if (keep_bytes == 0) return 0;
  return keep_bytes / kPart < kLeast ? kLeast : keep_bytes / kPart;
}

// "user 1000", or who it is where the user is not known.
std::string user_text(std::optional<std::uint32_t> uid);

// One thread.
class CatalogueBudget {
 public:
  using User = std::optional<std::uint32_t>;  // as UserUse::uid

  // In bytes; 0: any number.
  explicit CatalogueBudget(std::uint64_t most) : most_(most) {}
  void set_most(std::uint64_t most) { most_ = most; }

  // Removes at most `rows` executions and names, until what is left is within the budget. Call it within a
  // transaction. The catalogue notes the removed rows, as of `wall_ns`.
  Status make_room(Catalogue& catalogue, std::uint64_t rows, std::uint64_t wall_ns);
  // `rows` did not suffice: nothing new of this user is to be entered, since the user's old data are to go
  // before it.
  const std::optional<User>& full_of() const { return full_of_; }
  // Makes the file smaller, where that is worth it. Outside of a transaction. `for_long` as
  // Catalogue::give_back().
  Status give_back(Catalogue& catalogue, bool for_long) const;

  // What the catalogue says was removed since the last call, for the log; "": nothing.
  std::string news(const Catalogue& catalogue);

 private:
  // About `bytes`, and at most `most` rows: of the first user who has something, of what takes most of that
  // user's share.
  Result<std::uint64_t> remove_some(Catalogue& catalogue, const std::vector<UserUse>& uses,
                                    std::uint64_t bytes, std::uint64_t most, std::uint64_t wall_ns) const;

  std::uint64_t most_;
  std::optional<User> full_of_;
  std::map<User, std::pair<std::uint64_t, std::uint64_t>> told_;  // executions, names
};

}  // namespace tailor::store
