// Those who wait until everything up to a time was attributed.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "proto/base/ids.h"

namespace tailor::session {

// Control thread only.
class Flushes {
 public:
  static constexpr TimeNs kPatience = 2'000'000'000;

  // `done` is called when everything up to `now` was attributed, or after kPatience without it.
  void add(TimeNs now, std::function<void()> done) { waiting_.push_back({now, std::move(done)}); }

  bool empty() const { return waiting_.empty(); }

  // Calls `flush` for each that need not wait any longer. `arrived`: whether everything up to a time is here.
  // Returns what is to be called then.
  std::vector<std::function<void()>> take_due(TimeNs now, const std::function<bool(TimeNs)>& arrived,
                                              const std::function<void(TimeNs)>& flush) {
    std::vector<std::function<void()>> due;
    std::erase_if(waiting_, [&](Waiting& each) {
      if (!arrived(each.until) && now < each.until + kPatience) return false;
      flush(each.until);
      due.push_back(std::move(each.done));
      return true;
    });
    return due;
  }

 private:
  struct Waiting {
    TimeNs until;
    std::function<void()> done;
  };
  std::vector<Waiting> waiting_;
};

}  // namespace tailor::session
