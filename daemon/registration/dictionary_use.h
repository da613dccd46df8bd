// How much a process may have said of names, plans and code. It is kept as long as the process has it, and in
// the store for longer. It may cost its sender little, as what repeats itself compresses well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "daemon/registration/limits.h"
#include "daemon/registration/user_counts.h"
#include "tailor/v1/registration.pb.h"

namespace tailor::registration {

// Of one connection: an agent that comes back says everything again. One thread.
class DictionaryUse {
 public:
  struct Most {
    std::size_t names = kMaxNamesOfProcess, name_bytes = kMaxNameBytesOfProcess;
    std::size_t plan_bytes = kMaxPlanBytesOfProcess;
    std::size_t code_bytes = kMaxCodeBytesOfProcess;  // without machine code
  };
  // A limit that a message would break: its key, and a sentence.
  struct Beyond {
    const char* limit;
    std::string why;
  };

  // `dictionaries` counts the plans and code objects of all processes of a user. It must outlive this.
  DictionaryUse(const Most& most, UserCounts& dictionaries, std::uint32_t uid);
  ~DictionaryUse();
  DictionaryUse(const DictionaryUse&) = delete;
  DictionaryUse& operator=(const DictionaryUse&) = delete;

  // Counts what the message brings or takes away. Nothing: it is within the limits.
  std::optional<Beyond> take(const v1::AgentMessage& message) { return take(message, bytes_of(message)); }
  // The same where bytes_of() is known: it takes long for a large message.
  std::optional<Beyond> take(const v1::AgentMessage& message, std::size_t bytes);
  // Of a plan or of code, without its machine code; else 0.
  static std::size_t bytes_of(const v1::AgentMessage& message);

 private:
  // Things that are there, by id. A later word on the same thing takes its place.
  struct Table {
    std::size_t most_bytes = 0, bytes = 0;
    std::unordered_map<std::uint64_t, std::size_t> sizes = {};
  };
  std::optional<Beyond> take_name(const std::string& name);
  std::optional<Beyond> put(Table& table, std::uint64_t id, std::size_t bytes, const char* limit);
  void remove(Table& table, std::uint64_t id);

  Most most_;
  UserCounts& dictionaries_;
  std::uint32_t uid_;
  std::size_t names_ = 0, name_bytes_ = 0;
  Table plans_, code_;
};

}  // namespace tailor::registration
