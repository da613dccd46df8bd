// The regions of data memory of one process, found by (address, time).
//
// Changes arrive thread by thread, ahead of the watermark; they wait here until a question, or the watermark,
// reaches their time, and are then applied in the order of time. So the live regions are always those of one
// moment, and one search among them is an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "daemon/process/limits.h"
#include "proto/base/ids.h"

namespace tailor::process {

struct Region {
  std::uint64_t base = 0, end = 0;  // addresses of the first byte and of the one after the last
  std::uint32_t kind = 0;           // as declared by the agent
  TimeNs from = kTimeMin;
  std::int32_t tid = 0;  // of the thread that added it
  bool found = false;    // find() has answered with it
};

// The begin or the end of a region that a question was answered with.
struct RegionChange {
  bool begins = false;
  Region region;
  TimeNs time = 0;
};

// Live regions never overlap: one that is added over others proves that their removal was not heard of, and
// ends them. One thread.
class RegionTimeline {
 public:
  explicit RegionTimeline(const Limits& limits) : limits_(limits) {}

  // Records of the activity logs; O(log waiting). A change whose time was passed already holds from now on.
  void add(std::uint32_t kind, std::uint64_t base, std::uint64_t bytes, TimeNs time, std::int32_t tid = 0);
  void remove(std::uint64_t base, TimeNs time);
  // Everything that was added up to `time` ends then.
  void clear(TimeNs time);

  // Applies the changes up to `time`. A time that was passed does nothing.
  void advance(TimeNs time);
  // The region that held `address` at `time`; times of questions grow, one that was passed is asked of the
  // latest. NULL: none. Valid until the next call. O(log live) beside the changes that are due.
  const Region* find(std::uint64_t address, TimeNs time);

  // Of the regions that find() has answered with: begins and ends that were not taken before. An engine may
  // add a hundred thousand regions a second, and readers of a profile need those that have samples.
  std::vector<RegionChange> take_found() { return std::exchange(found_, {}); }

  std::size_t live() const { return live_.size(); }
  std::size_t waiting() const { return waiting_.size(); }
  // Live regions ended by one that was added over them.
  std::uint64_t replaced() const { return replaced_; }
  // Removals of what was not there, and empty or impossible ranges.
  std::uint64_t unmatched() const { return unmatched_; }
  // Additions that found no room.
  std::uint64_t refused() const { return refused_; }

 private:
  enum class What : std::uint8_t { kAdd, kRemove, kClear };
  struct Change {
    TimeNs time;
    std::uint64_t number;  // of arrival
    Region region;
    What what;
  };

  static bool later(const Change& a, const Change& b) {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  }
  void wait(const Change& change);
  void apply(const Change& change);
  void end_overlapped(const Region& region, TimeNs time);
  void end(const Region& region, TimeNs time);

  Limits limits_;
  std::map<std::uint64_t, Region> live_;  // by base
  std::vector<Change> waiting_;           // a heap: the earliest first
  std::uint64_t arrived_ = 0;
  std::vector<RegionChange> found_;
  TimeNs now_ = kTimeMin;
  std::uint64_t replaced_ = 0, unmatched_ = 0, refused_ = 0;
};

}  // namespace tailor::process
