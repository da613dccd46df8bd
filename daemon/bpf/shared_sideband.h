// What the kernel says of tasks and mappings, by one set of rings for all processes that are recorded.
//
// An event of a thread costs it some half a microsecond at each switch to another thread and back, also one
// that counts nothing. A database's short statements are two switches each. An event of a CPU costs no switch
// anything; it brings the records of all processes, which are given out here by process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/capture/host/recording.h"
#include "daemon/capture/select/event_spec.h"
#include "daemon/os/os.h"
#include "proto/base/result.h"

namespace tailor::bpf {

// Whether a recording with these options, whose samples BPF takes, can do with shared records. Pure.
bool can_share_sideband(const capture::CaptureOptions& options);

// Any threads.
class SharedSideband : public std::enable_shared_from_this<SharedSideband> {
 public:
  // The rings as a recording with `options` would have them. The error names what forbids it.
  static Result<std::shared_ptr<SharedSideband>> start(os::Os& os, const capture::CaptureOptions& options);

  // Whether a recording with `options` would have the same.
  bool suits(const capture::CaptureOptions& options) const;

  // A recording of the records of `pid` from now on, and of its family and that of `options.followed` where
  // options follow children. It has a ring for each CPU, and nothing to wait on: its records are few.
  std::unique_ptr<capture::Recording> add(pid_t pid, const capture::CaptureOptions& options);

 private:
  friend class SidebandMember;
  using MemberNumber = std::uint64_t;

  // What was read for a member and it has not taken yet, by ring.
  struct Member {
    pid_t pid = 0;
    bool follows = false;
    std::vector<std::vector<std::byte>> records;
    std::uint64_t lost = 0;
    bool has_records = false;
    bool fresh = false;  // the rings were read for another one since its last take()
  };
  struct Wanted {
    bool all = false;  // up to now, also where the rings were read for others just before
    bool layouts = false;
  };
  // What a member takes.
  struct Taken {
    std::vector<capture::RingLayout> layouts;     // numbered from 0; empty: not wanted
    std::vector<std::vector<std::byte>> records;  // by ring; empty: none
    std::uint64_t lost = 0;                       // so far, as the records say
  };
  class Collector;

  explicit SharedSideband(os::Os& os) : os_(os) {}
  Taken take(MemberNumber number, const Wanted& wanted);
  void remove(MemberNumber number);
  void read();
  void learn(std::span<const std::byte> bytes);
  void forget(std::span<const std::byte> bytes);
  void give_out(capture::RingIndex ring, std::span<const std::byte> bytes);

  os::Os& os_;
  capture::CaptureOptions options_;

  std::mutex mutex_;  // guards what follows
  std::unique_ptr<capture::Recording> rings_;
  std::vector<capture::RingLayout> layouts_;  // by ring
  std::map<MemberNumber, Member> members_;
  std::map<pid_t, MemberNumber> owners_;
  MemberNumber next_ = 1;
};

}  // namespace tailor::bpf
