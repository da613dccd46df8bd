// Samples of the sample profile's process in a library that has no symbols, with and without a call chain.
#pragma once

#include <vector>

#include "tests/support/sample_profile.h"

namespace tailor::test {

inline constexpr std::uint64_t kCalledLibrary = 0x4000'0000;
inline constexpr const char* kCalledPath = "/nowhere/libx.so";

// Time 1 and 1 again: a nameless caller > generated code > the library at 0x10, by the tag of task 1, whose
// operator is the hash join. Time 2: the library at 0x10, of that task too, without a chain. Time 3:
// "compile".
inline void give_called(profile::ProfileSink& sink) {
  give_context(sink);
  sink.on_mapping({kSampleProcess, kSampleStart, kCalledLibrary, 0x10000, 0, kCalledPath, "b1"});
  const profile::StackFrame outermost{nullptr, kCalledLibrary + 0x9000};
  const profile::StackFrame generated{&outermost, sample_code().base() + 8};
  profile::SampleRecord called = tag_sample(kSampleStart + 1, 1);
  called.ip = called.user_ip = kCalledLibrary + 16;
  called.stack = &generated;
  profile::SampleRecord alone = tag_sample(kSampleStart + 2, 1);
  alone.ip = alone.user_ip = kCalledLibrary + 16;
  sink.on_samples(std::vector{called, called, alone});
  sink.on_samples(std::vector{component_sample(kSampleStart + 3, 1)});
}

}  // namespace tailor::test
