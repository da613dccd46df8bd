// Where linkers made jumps for the calls of code objects. They are nobody's own code, so a tag decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "proto/base/ids.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::process {

// One thread; holds() from any while nothing changes.
class StubRanges {
 public:
  static constexpr int kMostOfACode = 4;
  static constexpr std::uint64_t kMostBytes = 1u << 20;

  // Never more than `most`; of what is beyond nothing is known.
  explicit StubRanges(std::size_t most) : most_(most) {}

  // What is wrong with them; "": nothing.
  static std::string problem_of(const v1::CodeObject& code);
  void add(const v1::CodeObject& code, TimeNs loaded);
  // Those that were there by then: a late message about an old object ends no newer one.
  void remove(CodeId code, TimeNs time);
  // Forgets what was removed before.
  void trim(TimeNs watermark);

  bool holds(std::uint64_t address, TimeNs time) const;
  std::size_t size() const { return ranges_.size(); }

 private:
  struct Range {
    std::uint64_t end = 0;
    TimeNs loaded = 0, unloaded = kTimeMax;
  };
  using Ranges = std::multimap<std::uint64_t, Range>;  // by begin

  std::size_t most_;
  Ranges ranges_;
  std::multimap<CodeId, Ranges::iterator> live_;
  std::multimap<TimeNs, Ranges::iterator> removed_;  // by when
};

}  // namespace tailor::process
