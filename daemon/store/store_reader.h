// Reads a part of a store as the calls that made it; the writer may be at work meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "daemon/profile/sink.h"
#include "daemon/store/catalogue.h"
#include "daemon/store/profile_reader.h"
#include "proto/base/result.h"

namespace tailor::store {

// One recording, or the part of it that can hold samples of [from, to].
struct StoreSelection {
  RecordingNumber recording = 0;
  TimeNs from = kTimeMin;
  TimeNs to = kTimeMax;
  // Only these data segments, by number; empty: all that can.
  std::set<std::uint64_t> segments = {};
};

// Gives `sink` the dictionaries that the selected segments use, then what those segments hold (all of it: the
// sink leaves out what it does not want). A segment that retention removed meanwhile is counted as missing,
// not an error. `taker` as for read_profile().
Status read_store(const std::string& directory, const Catalogue& catalogue, const StoreSelection& selection,
                  profile::ProfileSink& sink, ReadReport& report, SaidLoss& loss,
                  const MayGoOn& may_go_on = {}, SumsTaker* taker = nullptr);

// Gives `sink` what these dictionary segments hold. One that retention removed meanwhile is counted as
// missing.
Status read_dictionaries(const std::string& directory, const std::set<std::uint64_t>& segments,
                         profile::ProfileSink& sink, ReadReport& report, SaidLoss& loss,
                         const MayGoOn& may_go_on = {});

// Adds to `report` what of the segment is damaged by its checksums, without reading its samples. One that
// retention removed meanwhile is nothing.
Status check_segment(const std::string& directory, const SegmentRow& segment, ReadReport& report);

// Adds what was found of one part of a store to what was found of others. `finished` stays as it is.
void add_report(const ReadReport& one, ReadReport& all);
// The same of what was said to be lost; the reason is that of the first loss.
void add_loss(const SaidLoss& one, SaidLoss& all);

}  // namespace tailor::store
