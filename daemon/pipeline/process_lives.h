// How processes begin, what they are called, which programs they run, and how they end: by the kernel's
// records, and by a look at those that run already.
#pragma once

#include "daemon/capture/decode/batch.h"
#include "daemon/pipeline/accounts.h"
#include "daemon/pipeline/agent_messages.h"
#include "daemon/pipeline/input.h"
#include "daemon/pipeline/mappings.h"
#include "daemon/pipeline/process_table.h"
#include "daemon/profile/sink.h"

namespace tailor::pipeline {

// One thread; records in the order of time. Everything passed to the constructor must outlive it.
class ProcessLives {
 public:
  ProcessLives(profile::ProfileSink& sink, ProcessTable& table, Accounts& accounts, AgentMessages& messages,
               Mappings& mappings)
      : sink_(sink), table_(table), accounts_(accounts), messages_(messages), mappings_(mappings) {}

  // It is sampled, or was found to run, before it said anything itself. `now`: how far the recording is.
  void known(const KnownProcess& process, TimeNs now);
  // A thread has a name now; its process may have begun another program.
  void named(const capture::Batch& batch, const capture::Event& event);
  // A process has made another one.
  void forked(const capture::Event& event);
  // A thread has ended, and with its last one the process.
  void exited(const capture::Event& event);

 private:
  void start_on_behalf(const capture::Event& event, ProcessEntry& child);

  profile::ProfileSink& sink_;
  ProcessTable& table_;
  Accounts& accounts_;
  AgentMessages& messages_;
  Mappings& mappings_;
};

}  // namespace tailor::pipeline
