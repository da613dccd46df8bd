// A view of the sample profile.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "daemon/serve/views.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::cli {

inline serve::View view_of(int rounds) {
  query::LoadOptions options;
  options.keep_samples = true;
  auto profile = test::load(
      test::profile_bytes([&](profile::ProfileSink& sink) { test::give_profile(sink, rounds); }), options);
  auto view = serve::make_view({std::make_shared<const query::Profile>(std::move(profile)), {}}, {});
  EXPECT_TRUE(view);
  return std::move(*view);
}

}  // namespace tailor::cli
