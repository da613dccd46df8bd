// Samples <-> SampleBlock.
#pragma once

#include <span>
#include <vector>

#include "daemon/profile/sink.h"
#include "proto/base/result.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::store {

// At most kMaxBlockRows samples. The same samples always give the same message.
v1::SampleBlock encode_samples(std::span<const profile::SampleRecord> samples);

// Fails, saying which rule is broken, on any block that encode_samples could not have made.
struct DecodedSamples {
  std::vector<profile::SampleRecord> samples;  // their call chains lie in `frames`
  std::vector<profile::StackFrame> frames;
};
Result<DecodedSamples> decode_samples(const v1::SampleBlock& block);

}  // namespace tailor::store
