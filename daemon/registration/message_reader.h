// Reads large messages. To read, decode and check one of 32 MiB takes some hundred milliseconds: the thread
// that serves all agents leaves that to os::UserThreads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "daemon/os/user_threads.h"
#include "daemon/registration/large_message.h"
#include "daemon/registration/user_counts.h"
#include "daemon/registration/wakeup.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::registration {

class MessageReader {
 public:
  // A message that is being read. To let go of it is to give it up.
  class Reading {
   public:
    bool is_done() const { return done_.load(std::memory_order_acquire); }
    // Once it is done; once. The error says what is wrong with the message.
    Result<std::shared_ptr<LargeMessage>> take() { return std::move(result_); }

   private:
    friend class MessageReader;
    Result<std::shared_ptr<LargeMessage>> result_ = std::shared_ptr<LargeMessage>();
    std::atomic<bool> done_ = false;
  };

  // `most_bytes`: of the messages of a user that are being read, or were read and are not gone yet.
  // `wakeup` hears of each that is done, and of each that is gone.
  MessageReader(std::size_t most_bytes, std::shared_ptr<const Wakeup> wakeup);

  // Begins to read the `bytes` bytes of a memory file, from a process of this user. NULL: the user's
  // processes have as much as they may, and the file is left where it is. One thread.
  std::shared_ptr<Reading> begin(std::uint32_t uid, UniqueFd& file, std::size_t bytes, Prepare prepare);

 private:
  struct Work;

  std::shared_ptr<UserCounts> shares_;
  std::shared_ptr<const Wakeup> wakeup_;
  std::shared_ptr<os::UserThreads> threads_;  // of those too that let go of messages later
};

}  // namespace tailor::registration
