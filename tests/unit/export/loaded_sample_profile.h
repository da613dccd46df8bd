// The sample profile as exports need it: with its samples and call chains.
#pragma once

#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::exporter::test {

inline constexpr int kRounds = 3;
using tailor::test::kSamplesOfRound;
inline constexpr std::uint64_t kWeight = 1'000'000;

inline query::Profile load(const std::function<void(profile::ProfileSink&)>& give) {
  query::LoadOptions options;
  options.keep_samples = options.functions = true;
  return tailor::test::load(tailor::test::profile_bytes(give), options);
}

inline query::Profile sample_profile() {
  return load([](profile::ProfileSink& sink) { tailor::test::give_profile(sink, kRounds); });
}

}  // namespace tailor::exporter::test
