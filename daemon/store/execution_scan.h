// Executions in a META block, read where they lie. Some profiles hold millions of them and little else, and
// protobuf's objects for each take most of the time that reading such a profile takes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/profile/records.h"

namespace tailor::store {

// The v1::Execution that a v1::MetaRecord holds and nothing else; empty: it holds something else.
std::string_view execution_in(std::string_view record);

class ExecutionScanner {
 public:
  // The execution in the bytes of a v1::Execution, valid until the next call. NULL where they are not as
  // every writer has them (fields in the order of their numbers, none that is not known here, an id of 16
  // bytes): protobuf has to judge them.
  const profile::ExecutionRecord* scan(std::string_view bytes);

 private:
  // The error and the labels of an execution; many executions share them.
  struct Texts {
    std::string bytes;  // the fields of error and labels
    std::string error;
    std::vector<std::pair<std::string, std::string>> labels;
  };
  static constexpr std::size_t kKnownTexts = 256;

  bool scan_texts(std::string_view bytes);
  void exchange(Texts& texts);

  profile::ExecutionRecord record_;
  std::vector<Texts> known_ = std::vector<Texts>(kKnownTexts);  // by the checksum of their bytes
  Texts* lent_ = nullptr;                                       // whose error and labels the record has
};

}  // namespace tailor::store
