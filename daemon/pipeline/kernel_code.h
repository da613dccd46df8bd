// Code that the kernel loads while it runs, by its own records (PERF_RECORD_KSYMBOL of perf_event_open(2)):
// what the profile is told of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/profile/kernel_ranges.h"
#include "daemon/profile/sink.h"
#include "proto/base/ids.h"

namespace tailor::pipeline {

struct KernelSymbol {
  TimeNs time = 0;
  std::uint64_t begin = 0, size = 0;
  std::string_view name;
  bool bpf = false;       // else code that the kernel made for itself
  bool unloaded = false;  // it is gone
};

// One thread; `sink` must outlive it. Bounded: when there is more than fits, the profile is told that nothing
// is known from then on.
class KernelCode {
 public:
  static constexpr std::size_t kMostAtOnce = 16384, kMostTold = 65536;

  explicit KernelCode(profile::ProfileSink& sink) : sink_(sink) {}

  // False: it makes no sense, and is ignored.
  bool add(const KernelSymbol& symbol);
  // Records were lost by `time`: nothing is known of what was there until then.
  void lost(TimeNs time);

 private:
  void load(const KernelSymbol& symbol);
  void unload(const KernelSymbol& symbol);
  bool clear(TimeNs time, std::uint64_t begin, std::uint64_t end);
  bool has_room(TimeNs time);
  void forget(TimeNs time);
  void tell(TimeNs time, std::uint64_t begin, std::uint64_t end, const std::string& path);

  profile::ProfileSink& sink_;
  profile::KernelRanges ranges_;
  TimeNs first_ = kTimeMin, newest_ = kTimeMin, lost_ = kTimeMin;
  std::size_t told_ = 0;
  bool given_up_ = false;
};

}  // namespace tailor::pipeline
