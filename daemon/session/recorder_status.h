// What a recorder does, as it publishes it for other threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "daemon/pipeline/pipeline.h"
#include "daemon/profile/accounting.h"
#include "daemon/profile/records.h"
#include "daemon/registration/server.h"
#include "daemon/unwind/object_counts.h"

namespace tailor::session {

// A process that is sampled or registered.
struct RecordedProcess {
  profile::ProcessRecord record;
  profile::Accounting accounting;
  bool sampled = false;
  std::string not_sampled_because;
  std::uint64_t paused_ns = 0;        // all pauses together
  std::uint64_t paused_since_ns = 0;  // CLOCK_REALTIME; 0: it is not paused
  std::uint64_t frequency = 0;        // that was asked for, samples per second of CPU time; 0: no other one
  std::uint64_t rate_until_ns = 0;    // CLOCK_REALTIME; 0: until another one is asked for
  std::string rate_why;
};

// What the registered processes of a user take.
struct UserResources {
  std::uint64_t processes = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t descriptors = 0;   // of this program
  std::uint64_t dictionaries = 0;  // plans and code objects that are loaded
  std::uint64_t messages_rejected = 0;
};

struct RecorderStatus {
  TimeNs published = 0;  // when the control thread said this
  pipeline::PipelineStats pipeline;
  profile::Accounting total;     // of all processes
  std::uint64_t stacks = 0;      // samples that brought a piece of their stack
  unwind::ObjectCounts objects;  // of these, those whose stack shows an operator
  std::string sampling_notes;    // as in RecordingInfo
  std::uint64_t own_cpu_ns = 0;  // of this program, since the recording began
  TimeNs longest_step = 0;       // of the control thread, in the last minute; see StepClock
  std::uint64_t long_steps = 0;  // since the recording began
  profile::RecordingInfo recording;
  registration::Counters registration;
  std::map<std::string, std::uint64_t> limits;  // what went beyond them, by configuration key
  std::string clock_source;
  std::uint64_t clock_error_ns = 0;
  std::vector<RecordedProcess> processes;
  std::map<std::uint32_t, UserResources> users;  // by number
  std::uint32_t untagged_ppm = 0;                // as RecorderOptions
  bool all_paused = false;                       // also what registers from now on
  // As of a process: what all have that have no rate of their own.
  std::uint64_t frequency = 0;
  std::uint64_t rate_until_ns = 0;
  std::string rate_why;
};

// Any thread.
class PublishedStatus {
 public:
  void publish(RecorderStatus status) {
    auto published = std::make_shared<const RecorderStatus>(std::move(status));
    std::lock_guard lock(mutex_);
    published_.swap(published);
  }
  // What was published last.
  RecorderStatus get() const {
    std::shared_ptr<const RecorderStatus> published;
    {
      std::lock_guard lock(mutex_);
      published = published_;
    }
    return *published;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const RecorderStatus> published_ = std::make_shared<const RecorderStatus>();
};

}  // namespace tailor::session
