// Labels that an agent says once for many executions (ExecutionBegin.label_set): of a statement that runs
// again and again most labels are the same. Bounded by the limits of its messages (limits.h).
#pragma once

#include <vector>

#include "proto/base/result.h"
#include "tailor/v1/registration.pb.h"

namespace tailor::registration {

// Of one connection.
class LabelSets {
 public:
  // Keeps what the message says of its set, and puts the labels of the set before those of the execution.
  // After that, the message has nothing of a set. Fails, and leaves the message as it was, where the set is
  // not known or the labels are too many. The message was validated.
  Status put_in(v1::ExecutionBegin& begin);

 private:
  using Labels = google::protobuf::RepeatedPtrField<v1::Label>;
  std::vector<Labels> sets_;  // by number - 1; empty: not known
};

}  // namespace tailor::registration
