// All processes of a recording that have no agent: what perf's conventions say of their code. Their files are
// read on threads of their own, so that no file makes the control thread wait; what was read is said on the
// control thread, a little at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/clock/timeline.h"
#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/session/foreign_process.h"
#include "daemon/session/process_rules.h"
#include "daemon/session/speech.h"
#include "daemon/unwind/file_work.h"

namespace tailor::session {

// What is asked of the files of all users together, and of each.
struct ForeignLimits {
  std::size_t functions = 200'000;                   // that are read, and not said yet
  std::size_t user_memory = std::size_t{256} << 20;  // bytes that are held of a user's files
  TimeNs step = 3'000'000;                           // of saying, in one round
  std::uint32_t burst = 256;                         // looks at a process that need not wait ...
  TimeNs interval = 100'000'000;                     // ... and the time between those that must
};

// Control thread only.
class ForeignProcesses {
 public:
  // The unwinder of stacks hears of code with call frame information; nobody else does.
  using HearCode = std::function<void(ProcessId, const v1::CodeObject&)>;
  // Reads the files of a process of a user, now or later, here or elsewhere.
  using Run = unwind::FileWork::Run;
  // All must outlive this.
  ForeignProcesses(os::Os& os, pipeline::Pipeline& pipeline, pipeline::Input& input,
                   ForeignLimits limits = {}, HearCode hear_code = {}, Run run = unwind::on_user_threads())
      : os_(os),
        pipeline_(pipeline),
        input_(input),
        limits_(limits),
        hear_code_(std::move(hear_code)),
        run_(std::move(run)) {}

  // Speaks for the process from now on, unless that is done already, by this or by an agent of the process.
  void add(ProcessId process, NamesFrom names);
  // For the user: where its names come from; "" where nobody speaks for it.
  std::string source_of(ProcessId process) const;

  struct Moment {
    bool follows_children = false;              // children of sampled processes are sampled too
    bool ending = false;                        // the recording ends: what runtimes wrote at their end counts
    bool all_read = false;                      // and everything was read
    std::function<bool(ProcessId)> is_sampled;  // or is to be again
  };
  // Looks for what is new.
  void look(const Moment& moment);
  // The process has mapped a jitdump: the next look looks for it.
  void mapped_dump(std::int32_t pid);
  // There are jitdumps, with call frame information perhaps: stacks are cut until it is read.
  bool reads_dumps() const { return reads_dumps_; }
  // Says what was read by now. Call it each round, and before the watermark moves.
  void say();

  // Up to when their files are known: `now`, unless somebody is reading them, or what was read is not said
  // yet. Nobody can hold it back for long.
  TimeNs known_until(TimeNs now) const;
  // What is not said yet was read, or is being read. Of one process, or of all.
  bool is_pending(ProcessId process) const;
  bool is_pending() const;
  // More was read than this round could say.
  bool is_behind() const { return is_behind_; }
  // How many functions were named so far.
  std::uint64_t functions() const { return functions_; }
  // It waits no longer for processes that are pending, and says so.
  void give_up();

 private:
  // What a thread that reads has to do with. It is the thread's while `busy`, else the control thread's.
  struct Reading {
    Reading(os::Os& os, ProcessId id, NamesFrom names) : process(os, id, names) {}
    ForeignProcess process;
    std::deque<Speech> said;
    std::size_t functions = 0;  // in them
    std::atomic<bool> busy = false;
  };

  // A pid may be another process's later, and a process may execute another program.
  struct Followed {
    std::shared_ptr<Reading> reading;
    std::uint32_t user = 0;
    std::uint64_t number = 0;  // of its entry in the pipeline, 0: it has none yet
    std::uint32_t executed = 0;
    std::optional<TimeNs> executed_at;  // to be told when nobody reads
    TimeNs since = kTimeMax;            // of the look whose findings are not all said
    TimeNs next = kTimeMin;             // when it may be looked at next
    std::uint32_t looks = 0;            // of those that need not wait
    bool dumps = false;                 // it has mapped a jitdump ...
    bool look_for_dump = false;         // ... which is to be told when nobody reads
    bool over = false, last = false;    // it has ended; and that look is the last
    bool may_come_back = false;         // it may have mapped a dump that is not known yet
    std::vector<std::string> seen_dumps;
    std::string source;
    std::size_t memory = 0;  // as of the last look
  };
  using Processes = std::map<ProcessId, Followed>;

  bool is_pending(const Followed& followed) const { return followed.since != kTimeMax; }
  static bool follow(Followed& followed, const pipeline::ProcessEntry* entry);
  Followed& start(ProcessId process, NamesFrom names, const pipeline::ProcessEntry* entry);
  void look_at(Followed& followed);
  bool settle(ProcessId process, Followed& followed);
  void bound_memory(Followed& followed);
  void say_now(Speech speech);
  void tell_frames(Speech& speech) const;
  void adopt_children();
  bool is_over(ProcessId process, const Moment& moment) const;

  os::Os& os_;
  pipeline::Pipeline& pipeline_;
  pipeline::Input& input_;
  const ForeignLimits limits_;
  const HearCode hear_code_;
  const Run run_;
  Processes processes_;
  std::set<std::pair<ProcessId, std::uint64_t>> spoken_for_;  // to their end, with their numbers
  ProcessId next_{};                                          // whose turn it is to be said
  std::shared_ptr<const clock::Timeline> timeline_;           // as of the last look
  std::size_t waiting_ = 0;                                   // functions that were read, and not said yet
  std::uint64_t functions_ = 0;
  bool is_behind_ = false, ending_ = false, reads_dumps_ = false;
};

}  // namespace tailor::session
