// What a service gives to those who make text of it: the same as its JSON, and no more than they may see.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "daemon/serve/file_state.h"
#include "daemon/serve/library.h"
#include "daemon/serve/service.h"
#include "tailor/v1/control.pb.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::serve {
namespace {

class ServiceValues : public testing::Test {
 protected:
  std::size_t visited(const Access& access) {
    std::size_t rows = 0;
    const Status read = service_.visit({}, access, Stop(), [&rows](const store::ExecutionRow&) {
      ++rows;
      return true;
    });
    EXPECT_TRUE(read.ok());
    return rows;
  }

  const std::string bytes_ =
      test::profile_bytes([](profile::ProfileSink& sink) { test::give_profile(sink, 2); });
  const std::unique_ptr<Library> library_ =
      open_file_library("a.tailor", [this](const std::string&, const query::LoadOptions& options) {
        store::MemoryInput input(bytes_);
        return query::Profile::load(input, options);
      });
  Service service_{*library_, {}};
};

TEST_F(ServiceValues, AreThoseOfTheJson) {
  const Access all = Access::everything();
  const auto page = service_.page({}, kMostCheckedOfRequest, all, Stop());
  ASSERT_TRUE(page);
  const auto json = service_.answer(ExecutionsRequest{}, all, Stop());
  ASSERT_TRUE(json);
  EXPECT_GT(page->list.rows.size(), 0u);
  EXPECT_EQ(json->at("executions").size(), page->list.rows.size());
  EXPECT_EQ(json->at("file"), page->file);
  EXPECT_TRUE(page->gone.has_value()) << "it is the last page";
  EXPECT_EQ(visited(all), page->list.rows.size());
  const auto range = service_.file_state_of_time({}, kMostCheckedOfRequest, all, Stop());
  ASSERT_TRUE(range);
  EXPECT_EQ(*range, page->file) << "of a file, it is that of the whole";
  EXPECT_TRUE(service_.open({Target::What::kAll}, {}, Detail::kSums, all, Stop()).ok());
}

TEST_F(ServiceValues, HaveNothingOfOthers) {
  Access other;
  other.see_all = false;
  other.uids = std::set<std::uint32_t>{4711};
  const auto page = service_.page({}, kMostCheckedOfRequest, other, Stop());
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->list.rows.empty());
  EXPECT_EQ(visited(other), 0u);
  const auto groups = service_.groups({}, GroupBy::kCgroup, other, Stop());
  ASSERT_TRUE(groups);
  EXPECT_TRUE(groups->empty());
  const auto changes = service_.plan_changes(ExecutionFilter{}, other, Stop());
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->executions + changes->without_plan, 0u);
  EXPECT_FALSE(service_.open({Target::What::kAll}, {}, Detail::kSums, other, Stop()).ok());
  const auto range = service_.file_state_of_time({}, kMostCheckedOfRequest, other, Stop());
  ASSERT_FALSE(range);
  EXPECT_EQ(range.error().kind, ErrorKind::kDenied);
}

// A process that ends at once takes a few messages along; a daemon that is too slow loses a part of all.
TEST_F(ServiceValues, HealthSaysThatMessagesWereNotSent) {
  v1::DaemonStatus said;
  Service service(*library_, {"test", [&said] { return said; }});
  const auto health = [&](std::uint64_t messages, std::uint64_t unsent) {
    said.mutable_total()->set_messages(messages);
    said.mutable_total()->set_agent_unsent(unsent);
    const auto answer = service.answer(HealthRequest{}, Access::everything(), Stop());
    EXPECT_TRUE(answer);
    return answer ? answer->dump() : std::string();
  };
  EXPECT_EQ(health(10, 20), R"({"status":"ok","reasons":[]})") << "a few";
  EXPECT_EQ(health(1'000'000, 6'425), R"({"status":"ok","reasons":[]})") << "a small part";
  const std::string many = health(1'575, 6'425);
  EXPECT_NE(many.find("degraded"), std::string::npos) << many;
  EXPECT_NE(many.find("6425 messages of agents were not sent"), std::string::npos) << many;
}

}  // namespace
}  // namespace tailor::serve
