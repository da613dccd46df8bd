// A large message, as a thread of its user has made it of bytes (message_reader.h).
#pragma once

#include <google/protobuf/arena.h>

#include <cstddef>
#include <functional>
#include <memory>

#include "tailor/v1/registration.pb.h"

namespace tailor::registration {

// What else that thread makes of the message, so that little is to do when it is taken.
class Prepared {
 public:
  virtual ~Prepared() = default;
};

// Makes it of a valid message. It may change the message before: it takes literals out. Any thread.
using Prepare = std::function<std::unique_ptr<Prepared>(v1::AgentMessage&)>;

// Its processes get no other one before enough of these are gone, and its connection is not read before this
// one is. The thread that lets go of it last waits for nothing: its memory is given back on another thread.
class LargeMessage {
 public:
  // `held` is let go when it is gone.
  explicit LargeMessage(std::shared_ptr<const void> held);

  v1::AgentMessage& message() { return *message_; }
  const v1::AgentMessage& message() const { return *message_; }

  std::size_t dictionary_bytes = 0;    // DictionaryUse::bytes_of(message())
  std::unique_ptr<Prepared> prepared;  // NULL: nothing was

 private:
  std::shared_ptr<const void> held_;
  google::protobuf::Arena arena_;
  v1::AgentMessage* message_;
};

}  // namespace tailor::registration
