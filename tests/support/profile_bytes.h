// A profile as the bytes of its file, and loaded back.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "daemon/query/load/profile.h"
#include "daemon/store/file_writer.h"
#include "tests/support/memory_output.h"

namespace tailor::test {

inline std::string profile_bytes(const std::function<void(profile::ProfileSink&)>& give) {
  std::string bytes;
  auto writer = store::FileWriter::on(std::make_unique<MemoryOutput>(bytes));
  give(*writer);
  EXPECT_TRUE(writer->finish());
  return bytes;
}

inline query::Profile load(const std::string& bytes, const query::LoadOptions& options = {}) {
  store::MemoryInput input(bytes);
  auto profile = query::Profile::load(input, options);
  EXPECT_TRUE(profile);
  return std::move(*profile);
}

inline query::Profile make_profile(const std::function<void(profile::ProfileSink&)>& give) {
  return load(profile_bytes(give));
}

}  // namespace tailor::test
