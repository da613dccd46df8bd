// What an export to tables takes besides the profile.
#pragma once

#include <functional>
#include <string>

#include "daemon/query/load/profile.h"
#include "proto/base/ids.h"

namespace tailor::exporter {

struct ParquetOptions {
  std::string producer;  // "tailor version N", N as tailor --version prints it
  // What makes two executions runs of the same query; "" unknown.
  std::function<std::string(ProcessId, ExecutionHandle)> fingerprint;
  std::function<bool(const query::TimedSample&)> keep = {};  // which samples of the selection; empty: all
};

}  // namespace tailor::exporter
