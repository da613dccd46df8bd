// A catalogue that was full: lists say what is missing, to those who may see the user's executions.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "daemon/serve/execution_groups.h"
#include "daemon/serve/json_time.h"
#include "daemon/serve/library.h"
#include "daemon/serve/service.h"
#include "daemon/serve/views.h"
#include "daemon/store/catalogue.h"
#include "daemon/store/store_directory.h"

namespace tailor::serve {
namespace {

class RemovedTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kRemovedAt = 1'700'000'000'000'000'000;

  void SetUp() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    auto catalogue =
        store::Catalogue::open(store::catalogue_path(directory_), store::Catalogue::Mode::kWrite);
    ASSERT_TRUE(catalogue);
    ASSERT_TRUE(catalogue->note_removed({1000, 12, 3, kRemovedAt, kRemovedAt}));
    ASSERT_TRUE(catalogue->note_removed({1000, 5, 0, kRemovedAt + 7'000'000, kRemovedAt + 7'000'000}));
    ASSERT_TRUE(catalogue->note_removed({std::nullopt, 4, 0, kRemovedAt, kRemovedAt}));
    ASSERT_TRUE(catalogue->note_removed({1001, 0, 9, kRemovedAt, kRemovedAt}));
    library_ = open_store_library(directory_, {});
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  const std::string directory_ = testing::TempDir() + "/removed_store";
  std::unique_ptr<Library> library_;
};

TEST_F(RemovedTest, AreToldByUser) {
  const auto removed = library_->removed({});
  ASSERT_TRUE(removed);
  ASSERT_EQ(removed->size(), 2u) << "names alone are no executions";
  EXPECT_EQ((*removed)[0].executions, 17u);
  EXPECT_EQ((*removed)[1].uid, std::nullopt);
  const Json json = removed_json(*removed);
  EXPECT_EQ(json[0]["uid"], 1000);
  EXPECT_EQ(json[0]["executions"], 17);
  EXPECT_EQ(json[0]["since_ms"], to_ms(kRemovedAt));
  EXPECT_EQ(json[0]["until_ms"], to_ms(kRemovedAt + 7'000'000));
  EXPECT_TRUE(json[1]["uid"].is_null());
}

TEST_F(RemovedTest, OfOthersAreNotTold) {
  const auto removed = library_->removed([](const auto& uid) { return uid == 2000u; });
  ASSERT_TRUE(removed);
  EXPECT_TRUE(removed->empty());
}

TEST_F(RemovedTest, GroupsSayWhatTheyLack) {
  const auto missing = not_in_groups(*library_, {}, {}, Stop());
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->removed.size(), 2u);
  EXPECT_EQ(missing->gone.to_ns, 0u) << "nothing was summed up";
  const Json json = groups_json({}, GroupBy::kPod, 10, *missing);
  EXPECT_EQ(json["removed"][0]["executions"], 17);
  EXPECT_FALSE(json.contains("gone"));
}

TEST_F(RemovedTest, GroupsDoNotSayWhatTheyLackOfOthers) {
  Service service(*library_, {});
  Access one;
  one.see_all = false;
  one.uids = {1000};
  const auto own = service.not_in_groups({}, one, Stop());
  ASSERT_TRUE(own);
  ASSERT_EQ(own->removed.size(), 1u);
  EXPECT_EQ(own->removed[0].uid, 1000u);
  one.uids = {2000};
  const auto none = service.not_in_groups({}, one, Stop());
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->removed.empty());
}

}  // namespace
}  // namespace tailor::serve
