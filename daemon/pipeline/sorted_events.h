// The road of an event behind the sorter: each kind goes to the part that knows it.
//
//   sorter --> samples, ends of waits --> SampleStage --> sink
//          --> beginnings of waits    --> Waits
//          --> processes              --> ProcessLives
//          --> mappings               --> Mappings
//          --> symbols of the kernel  --> KernelCode, Waits
#pragma once

#include <cstdint>

#include "daemon/capture/decode/batch.h"
#include "daemon/capture/decode/intake.h"
#include "daemon/pipeline/accounts.h"
#include "daemon/pipeline/kernel_code.h"
#include "daemon/pipeline/mappings.h"
#include "daemon/pipeline/pipeline_options.h"
#include "daemon/pipeline/problems.h"
#include "daemon/pipeline/process_lives.h"
#include "daemon/pipeline/process_news.h"
#include "daemon/pipeline/process_table.h"
#include "daemon/pipeline/sample_stage.h"
#include "daemon/pipeline/wait_names.h"
#include "daemon/pipeline/waits.h"
#include "daemon/profile/sink.h"
#include "proto/base/ids.h"

namespace tailor::pipeline {

// One thread. Everything passed to the constructor must outlive it.
class SortedEvents {
 public:
  SortedEvents(profile::ProfileSink& sink, ProcessTable& table, Accounts& accounts, Mappings& mappings,
               ProcessLives& lives, WaitNames& wait_names, Problems& problems, const PipelineOptions& options)
      : accounts_(accounts),
        mappings_(mappings),
        lives_(lives),
        problems_(problems),
        kernel_code_(sink),
        news_(sink, table, accounts, options.all_marks),
        samples_(sink, table, accounts, news_, wait_names, waits_.tracker(), options.slot_states) {}

  // How the recording is made; tells the sink.
  void recorded(const profile::RecordingInfo& info);

  // Events in the order of their time.
  void take(const capture::Batch& batch, capture::Event& event);
  void take(const capture::Batch& batch, const capture::PackedSample& sample) {
    if (samples_.take(sample)) return;
    capture::Event event = sample.event();
    take(batch, event);
  }
  // Events that came when the watermark had passed them.
  void take_late(capture::Batch& late);
  // Nothing of the process is recorded from `time` on (Waits::cut).
  void cut(std::int32_t pid, TimeNs time) { waits_.cut(pid, time); }

  // Before anything that changes what processes are (SampleStage::settle).
  void settle() { samples_.settle(); }
  // Gives the sink what it has not yet of what happened before the watermark.
  void give(TimeNs watermark);
  // Accounts of processes that changed, behind their samples.
  void tell_accounts() { news_.tell_accounts(); }
  // Processes are gone. Between give() and the next event.
  void forget_processes() { samples_.forget_processes(); }

  KernelCode& kernel_code() { return kernel_code_; }
  // Given to the sink.
  std::uint64_t samples() const { return samples_.samples(); }
  // Waits that no sample has.
  std::uint64_t waits_abandoned() const { return waits_.abandoned(); }

 private:
  void kernel_symbol(const capture::Batch& batch, const capture::Event& event);

  Accounts& accounts_;
  Mappings& mappings_;
  ProcessLives& lives_;
  Problems& problems_;
  KernelCode kernel_code_;
  ProcessNews news_;
  Waits waits_;
  SampleStage samples_;
};

}  // namespace tailor::pipeline
