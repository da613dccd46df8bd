// From a journal to the profile that its recording made.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/pipeline/input.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/profile/sink.h"
#include "daemon/store/file_io.h"
#include "proto/base/result.h"

namespace tailor::journal {

struct ReplayReport {
  std::uint64_t records = 0;
  bool complete = false;  // the end record was there
};

// Gives the journal's inputs to a pipeline that ends in `sink`. Damage is an error that says where; what came
// before it has been given. A journal whose writer died ends early, which is no error: see the report.
Result<ReplayReport> replay(store::Input& journal, profile::ProfileSink& sink);

// `tailor replay JOURNAL -o FILE`: writes the profile. Replaces `output`, also if it then fails.
Result<ReplayReport> replay_file(const std::string& journal, const std::string& output);

}  // namespace tailor::journal
