// Reads a profile back as the calls that made it.
#pragma once

#include <string>

#include "daemon/profile/sink.h"
#include "daemon/store/block_reader.h"
#include "daemon/store/file_io.h"
#include "daemon/store/memory_budget.h"
#include "daemon/store/sums_reader.h"
#include "proto/base/result.h"

namespace tailor::store {

// What is not part of the sink: what a writer said it could not write, and what a store removed later because
// its user had more than a share of the disk.
struct SaidLoss {
  std::uint64_t samples = 0, activity = 0, blocks = 0;
  std::string reason;
  std::uint64_t names = 0;  // of functions: there was no room for them (NamesRoom)
  std::uint64_t removed_samples = 0, removed_activity = 0, removed_records = 0;
};

// Gives `sink` everything that can be read of `input`, in the order in which it was written. Contents break
// no rule that a decoder can see, but names, links and ids are as hostile as the file. Damage is counted in
// `report`, not an error; errors are: no profile, another format version, the input cannot be read, and what
// `may_go_on` says.
//
// Where the profile has sums, `taker` is asked whether it takes them in the place of their samples.
Status read_profile(Input& input, profile::ProfileSink& sink, ReadReport& report, SaidLoss& loss,
                    const MayGoOn& may_go_on = {}, SumsTaker* taker = nullptr);

// One block; false if its payload breaks a rule (then `problem` says which) or its type is unknown (then
// empty). Memory is bounded by memory_budget(report.bytes).
bool deliver(const Block& block, profile::ProfileSink& sink, ReadReport& report, SaidLoss& loss,
             std::string& problem);

}  // namespace tailor::store
