// A busy engine as its rings and logs show it, and how many of its samples belong to whom.
//
// Four threads on four CPUs, each sampled at 5 kHz and now and then moved to another CPU; rings are read
// twenty times a second. Eight plans of three pipelines, each pipeline a code object of two hundred rows; two
// executions run at a time, for two seconds each, and every thread logs its executions, pipelines and
// morsels, or says them in its slot. A sample in eight is in shared code with the tag in r15, one in 256 in
// code nobody knows.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "daemon/pipeline/input.h"
#include "daemon/profile/attribution.h"
#include "proto/base/ids.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::bench {

// Who says for whom a thread works.
enum class Saying : std::uint8_t {
  kLogs,      // its log: samples bring no state
  kSlots,     // its slot, as it is: the state changes with the pipeline
  kRestless,  // its slot, with another pipeline than at its sample before
};

class RingLoad {
 public:
  // Samples of one execution that belong alike.
  using Owner = std::tuple<ExecutionHandle, PlanId, LevelIndex, std::uint32_t /*link*/, profile::How>;
  using Owners = std::map<Owner, std::uint64_t>;

  explicit RingLoad(int samples, Saying saying = Saying::kLogs);

  // As a host would: all of it.
  void feed(pipeline::Input& input) const;
  const Owners& expected() const { return expected_; }

 private:
  struct Code {
    v1::CodeObject object;
    std::vector<std::uint32_t> links;  // by instruction
  };
  struct Round {
    TimeNs now = 0;
    std::vector<capture::RingChunk> chunks;
    std::vector<registration::ActivityRecords> logs;
  };
  struct Place {
    ExecutionHandle execution = 0;
    PlanId plan = 0;
    std::uint32_t pipeline = 0;
  };

  static v1::Plan plan_of(PlanId id);
  Code code_of(PlanId plan, std::uint32_t pipeline);
  static Place place_of(int thread, TimeNs time);
  void log(Round& round, int thread, TimeNs time);
  void sample(capture::RingChunk& chunk, int thread, TimeNs time);
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  std::mt19937_64 random_{1};
  Saying saying_;
  capture::EventFormat format_;
  std::vector<v1::Plan> plans_;
  std::vector<Code> codes_;  // (plan, pipeline)
  std::vector<Round> rounds_;
  std::vector<Place> last_;          // by thread: as logged
  std::vector<std::uint64_t> said_;  // by thread: the pipeline in its slot
  Owners expected_;
};

}  // namespace tailor::bench
