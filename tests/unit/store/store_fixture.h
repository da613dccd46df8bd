// A store in a directory of its own, made and read.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/store/catalogue.h"
#include "daemon/store/store_directory.h"
#include "daemon/store/store_reader.h"
#include "daemon/store/store_writer.h"
#include "tests/support/text_sink.h"

namespace tailor::store {

class StoreTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kWall = 1'700'000'000'000'000'000;
  static constexpr TimeNs kSecond = 1'000'000'000;

  void SetUp() override {
    directory_ =
        testing::TempDir() + "/store_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<StoreWriter> open(StoreOptions options = {}, std::uint64_t wall = kWall) {
    auto writer = StoreWriter::open(directory_, options, wall);
    EXPECT_TRUE(writer) << (writer ? "" : writer.error().message);
    return writer ? std::move(*writer) : nullptr;
  }

  struct Read {
    test::TextSink sink;
    ReadReport report;
    std::vector<ExecutionRow> executions;
  };
  Read read(RecordingNumber recording, StoreSelection selection = {}) {
    Read out;
    auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
    EXPECT_TRUE(catalogue) << catalogue.error().message;
    selection.recording = recording;
    SaidLoss loss;
    auto ok = read_store(directory_, *catalogue, selection, out.sink, out.report, loss);
    EXPECT_TRUE(ok) << ok.error().message;
    auto executions = catalogue->executions(100);
    EXPECT_TRUE(executions);
    out.executions = std::move(*executions);
    return out;
  }

  std::string directory_;
};

}  // namespace tailor::store
