// A store that another version of the program wrote, or that is changed without being asked: it is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "daemon/store/crc32c.h"
#include "daemon/store/store_directory.h"
#include "daemon/store/store_writer.h"
#include "daemon/store/summary_files.h"
#include "tests/support/sample_profile.h"

namespace tailor::store {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kOpenedAt = 1'700'000'000'000'000'000;

class StoreVersionsTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "/store_versions_" +
                 testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(directory_);
    auto writer = StoreWriter::open(directory_, {}, kOpenedAt);
    ASSERT_TRUE(writer) << writer.error().message;
    test::give_profile(**writer, 20);
    ASSERT_TRUE((*writer)->finish());
  }
  void TearDown() override { fs::remove_all(directory_); }

  // As a program with the next major version begins its files; what follows stays.
  void make_newer(const std::string& path, FileKind kind, std::uint64_t number) {
    auto header = encode(FileHeader{kind, 0, number, 0});
    const std::uint16_t known = kind == FileKind::kSummary ? kSummaryVersionMajor : kVersionMajor;
    header[8] = static_cast<std::uint8_t>(known + 1);
    const std::uint32_t sum = crc32c(std::span(header).first(28));
    std::memcpy(&header[28], &sum, sizeof sum);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    if (!file) file.open(path, std::ios::out | std::ios::binary);
    file.write(reinterpret_cast<const char*>(header.data()), header.size());
  }
  std::map<std::string, std::uintmax_t> files() const {
    std::map<std::string, std::uintmax_t> out;
    for (const auto& entry : fs::directory_iterator(directory_)) out[entry.path()] = entry.file_size();
    return out;
  }
  // The error, of a store that stays as it is though everything in it is too old to keep.
  std::string refused() {
    const auto before = files();
    StoreOptions options;
    options.keep_ns = 1;
    auto writer = StoreWriter::open(directory_, options, kOpenedAt + 1'000'000'000);
    EXPECT_EQ(before, files());
    return writer ? std::string() : writer.error().message;
  }

  std::string directory_;
};

TEST_F(StoreVersionsTest, ASealedSegmentOfANewerProgramStays) {
  const auto segments = list_segments(directory_);
  ASSERT_TRUE(segments);
  for (const SegmentFile& each : *segments) {
    const std::string path = segment_path(directory_, each.number, each.kind);
    const std::string aside = directory_ + "/aside";
    fs::copy_file(path, aside);
    make_newer(path, each.kind, each.number);
    EXPECT_THAT(refused(), testing::AllOf(testing::HasSubstr(path), testing::HasSubstr("format version 2"),
                                          testing::HasSubstr("was not changed")));
    fs::rename(aside, path);
  }
}

TEST_F(StoreVersionsTest, ASummaryOfANewerProgramStays) {
  const std::string path = summary_path(directory_, {1, 2, 0});
  make_newer(path, FileKind::kSummary, 2);
  EXPECT_THAT(refused(), testing::AllOf(testing::HasSubstr(path), testing::HasSubstr("format version 3")));
}

TEST_F(StoreVersionsTest, WhatIsPutAsideIsTold) {
  std::ofstream(catalogue_path(directory_), std::ios::binary) << std::string(4096, 'x');
  std::vector<std::string> told;
  StoreOptions options;
  options.on_put_aside = [&](const std::string& what) { told.push_back(what); };
  auto writer = StoreWriter::open(directory_, options, kOpenedAt);
  ASSERT_TRUE(writer) << writer.error().message;
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], testing::HasSubstr(catalogue_path(directory_) + ".bad"));
  EXPECT_TRUE(fs::exists(catalogue_path(directory_) + ".bad"));
}

TEST_F(StoreVersionsTest, WhatIsRemovedIsTold) {
  const std::size_t before = list_segments(directory_)->size();
  std::vector<std::string> told;
  StoreOptions options;
  options.keep_ns = 1;
  options.on_removed = [&](const std::string& what) { told.push_back(what); };
  auto writer = StoreWriter::open(directory_, options, kOpenedAt + 1'000'000'000'000'000);
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_EQ(told.size(), before);
  EXPECT_THAT(told, testing::Contains(testing::HasSubstr("too old")));
  EXPECT_THAT(told, testing::Contains(testing::HasSubstr("which no samples use")));
}

}  // namespace
}  // namespace tailor::store
