// Whether a process has an agent that is connected now.
#pragma once

#include "daemon/pipeline/pipeline.h"
#include "proto/base/ids.h"

namespace tailor::session {

inline bool is_registered(pipeline::Pipeline& pipeline, ProcessId process) {
  const pipeline::ProcessEntry* entry = pipeline.processes().find(process);
  return entry != nullptr && entry->connection != 0;
}

}  // namespace tailor::session
