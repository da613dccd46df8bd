// What the processes may keep in the daemon, all together, those of one user, and each.
//
// Memory: never more than the total, nor more than seven eighths of it of one user. A quarter is for shares
// that are everybody's own: an even part of it, of which the processes of one user have half. Of the rest a
// process that asks for more may have at most as much as would be left free then, of everything and of its
// user's part; so one alone gets a third of it, and there is always room for another. The quotas of a user
// (plans, code, regions) are divided evenly among the user's processes.
//
// Deterministic: what is given depends on the calls alone. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "daemon/process/limits.h"

namespace tailor::pipeline {

// What a process keeps.
struct Use {
  std::size_t bytes = 0;       // of memory, about
  std::size_t plans = 0;       // live
  std::size_t code_bytes = 0;  // of machine code, row and unwind tables
  std::size_t regions = 0;     // of data memory, live
};

// A limit that was reached: its configuration key, and a sentence.
struct LimitReached {
  std::string key, text;
};

class Shares {
 public:
  // One process's part, given back when it goes. Must not outlive the Shares.
  class Share {
   public:
    Share() = default;
    Share(Shares& shares, std::uint32_t uid) : shares_(&shares), uid_(uid) { shares_->join(uid_); }
    Share(Share&& other) noexcept { swap(other); }
    Share& operator=(Share&& other) noexcept {
      swap(other);
      return *this;
    }
    ~Share() {
      if (shares_ != nullptr) shares_->leave(uid_, use_);
    }
    // It keeps so much now.
    void set(const Use& use) {
      if (shares_ == nullptr) return;
      shares_->change(uid_, use_, use);
      use_ = use;
    }
    // Whether it may keep so much more; else `why` says which limit that would break.
    bool may_take(const Use& more, LimitReached& why) const {
      return shares_ == nullptr || shares_->may_take(uid_, use_, more, why);
    }
    // How many more regions it may have.
    std::size_t regions_left() const;

   private:
    void swap(Share& other) noexcept;
    Shares* shares_ = nullptr;
    std::uint32_t uid_ = 0;
    Use use_;
  };

  explicit Shares(const process::Limits& limits) : limits_(limits) {}

  std::size_t bytes() const { return bytes_; }
  std::size_t processes() const { return processes_; }

  struct User {
    std::size_t processes = 0;
    std::size_t bytes = 0;
  };
  const std::map<std::uint32_t, User>& users() const { return users_; }

 private:
  void join(std::uint32_t uid);
  void leave(std::uint32_t uid, const Use& use);
  void change(std::uint32_t uid, const Use& from, const Use& to);
  bool may_take(std::uint32_t uid, const Use& has, const Use& more, LimitReached& why) const;
  bool has_memory(const User& user, std::size_t has, std::size_t more) const;

  process::Limits limits_;
  std::map<std::uint32_t, User> users_;
  std::size_t processes_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tailor::pipeline
