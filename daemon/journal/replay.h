// From a journal to the profile that its recording made.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/pipeline/input.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/profile/sink.h"
#include "daemon/store/file_io.h"
#include "daemon/store/output_file.h"
#include "proto/base/result.h"

namespace tailor::journal {

struct ReplayReport {
  std::uint64_t records = 0;
  bool complete = false;  // the end record was there
};

// Gives the journal's inputs to a pipeline that ends in `sink`. Damage is an error that says where; what came
// before it has been given. A journal whose writer died ends early, which is no error: see the report.
// Without `slot_states` it is as if no sample had brought the state of its thread, and logs say all: to
// compare the two.
Result<ReplayReport> replay(store::Input& journal, profile::ProfileSink& sink, bool slot_states = true);

// `tailor replay JOURNAL -o FILE`: writes the profile to `output`, as `how` says (store::open_output). Where
// it fails, a file of that name stays as it was.
Result<ReplayReport> replay_file(const std::string& journal, const std::string& output,
                                 const store::OutputOptions& how = {});

}  // namespace tailor::journal
