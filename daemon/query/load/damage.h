// What of a profile could not be read, in words. One text for all reports and commands.
#pragma once

#include <functional>
#include <string>

#include "daemon/query/load/profile.h"

namespace tailor::query {

// Sentences that say what is missing, and how much of it as far as that can be known; "" if nothing is. Texts
// of the file are in it: escape it before it is shown.
std::string damage_text(const Profile& profile);

// The same of what was read of a store and is no profile.
std::string damage_text(const store::ReadReport& read, const store::SaidLoss& loss);

// What is damaged in parts of a store that are read one by one.
struct StoreDamage {
  store::ReadReport read;  // finished, until a part is not
  store::SaidLoss loss;

  StoreDamage() { read.finished = true; }
  void add(const store::ReadReport& part, const store::SaidLoss& said);
};

// Is told these sentences by a reader of a profile, where there are some; by any thread.
using OnDamage = std::function<void(const std::string& text)>;

// Whether samples are missing, or may be: figures of such a profile are no measure of anything else.
bool is_damaged(const Profile& profile);
bool is_damaged(const store::ReadReport& read, const store::SaidLoss& loss);

}  // namespace tailor::query
