// A map that keeps what was used last.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <utility>

namespace tailor::tailord {

// One thread.
template <typename Key, typename Value>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(std::size_t most) : most_(most) {}

  // Null: there is none, or it was not used for long.
  Value* find(const Key& key) {
    const auto found = at_.find(key);
    if (found == at_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }
  // The one that is there, or a new one.
  Value& get(const Key& key) {
    if (Value* found = find(key)) return *found;
    entries_.emplace_front(key, Value());
    at_[key] = entries_.begin();
    if (entries_.size() > most_) {
      at_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return entries_.front().second;
  }

 private:
  using Entries = std::list<std::pair<Key, Value>>;
  std::size_t most_;  // at least 1
  Entries entries_;   // the one used last is the first
  std::map<Key, typename Entries::iterator> at_;
};

}  // namespace tailor::tailord
