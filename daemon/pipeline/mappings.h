// What processes have mapped: by the kernel's records, and by looks at them. The profile is told of files
// with code, and of where something else took their place.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/capture/decode/batch.h"
#include "daemon/pipeline/input.h"
#include "daemon/pipeline/process_table.h"
#include "daemon/profile/sink.h"
#include "proto/base/ids.h"

namespace tailor::pipeline {

// The cost of the agent is not the engine's, and is known by its thread and its library.
void tell_agent(profile::ProfileSink& sink, const ProcessEntry& entry);

// One thread. Sink and table must outlive it.
class Mappings {
 public:
  // `most`: that are told of a process at once; one that lives longer may map more.
  Mappings(profile::ProfileSink& sink, ProcessTable& table, std::size_t most)
      : sink_(sink), table_(table), most_(most) {}

  // A record of the kernel, in the order of time.
  void mapped(ProcessEntry& entry, const capture::Batch& batch, const capture::Event& event);
  // It runs another program: nothing of before is mapped.
  void executed(ProcessEntry& entry, TimeNs time);

  // What a look saw, or a part of it. A first one counts at once, a later one when the watermark gets there.
  void seen(ProcessEntry& entry, const KnownProcess& process, TimeNs now);
  struct Look {
    KnownProcess process;
    TimeNs time = 0;
  };
  // One that counts by then, and of which all was told. One at a time: it may be large.
  std::optional<Look> take_due(TimeNs watermark);
  // Samples of before it must have been attributed.
  void apply(const Look& look);

  // Records of what a process mapped were lost after that time.
  void lost(ProcessId process, TimeNs since);
  struct Lost {
    ProcessId process;
    TimeNs time = 0;
  };
  std::vector<Lost> take_lost() { return std::exchange(lost_, {}); }

 private:
  static void note_code(ProcessEntry& entry, const profile::MappingRecord& mapping);
  static void map_areas(ProcessEntry& entry, const KnownProcess& process);
  void map_known(ProcessEntry& entry, const profile::MappingRecord& mapping);
  void map_file(ProcessEntry& entry, const profile::MappingRecord& mapping, TimeNs since);
  void map_all(ProcessEntry& entry, const KnownProcess& process, TimeNs time);
  void map_late(ProcessEntry& entry, const KnownProcess& process, TimeNs time);
  void look(ProcessEntry& entry, const KnownProcess& process, TimeNs now);
  bool may_tell(ProcessEntry& entry, TimeNs time) const;
  void tell(ProcessEntry& entry, const profile::MappingRecord& mapping);
  void end(ProcessEntry& entry, TimeNs time);

  profile::ProfileSink& sink_;
  ProcessTable& table_;
  const std::size_t most_;
  std::deque<Look> looks_;  // to be taken when the watermark gets there
  std::vector<Lost> lost_;
};

}  // namespace tailor::pipeline
