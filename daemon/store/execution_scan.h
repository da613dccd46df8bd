// Executions in a META block, read where they lie. Some profiles hold millions of them and little else, and
// protobuf's objects for each take most of the time that reading such a profile takes.
#pragma once

#include <string>
#include <string_view>

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
  bool scan_words(std::string_view bytes);

  profile::ExecutionRecord record_;
  std::string words_;  // the fields of its error and labels, which most executions share
};

}  // namespace tailor::store
