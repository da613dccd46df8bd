// Who uses what: the biggest users one by one, the others together.
#include "daemon/tailord/user_status.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tailor::tailord {
namespace {

TEST(UserStatus, PutsTogetherWhatIsKnownOfEach) {
  session::RecorderStatus recorder;
  recorder.users[1000] = {
      .processes = 2, .memory_bytes = 10, .descriptors = 4, .dictionaries = 5, .messages_rejected = 6};
  CatalogueUsers catalogue;
  catalogue.uses = {{1000, 7, 700, 8, 80}, {std::nullopt, 1, 5, 0, 0}};
  catalogue.removed = {{1000, 9, 3, 50, 60}};
  catalogue.disk = {{1000, 5000}};
  catalogue.cuts = {{1000, 70, 2, 80, 90}};
  v1::DaemonStatus out;
  tell_users(recorder, catalogue, out);
  ASSERT_EQ(out.users_size(), 2);
  const v1::UserStatus& user = out.users(0);
  EXPECT_EQ(user.uid(), 1000u);
  EXPECT_EQ(user.users(), 1u);
  EXPECT_EQ(user.processes(), 2u);
  EXPECT_EQ(user.memory_bytes(), 10u);
  EXPECT_EQ(user.descriptors(), 4u);
  EXPECT_EQ(user.dictionaries(), 5u);
  EXPECT_EQ(user.messages_rejected(), 6u);
  EXPECT_EQ(user.catalogue_executions(), 7u);
  EXPECT_EQ(user.catalogue_names(), 8u);
  EXPECT_EQ(user.catalogue_bytes(), 780u);
  EXPECT_EQ(user.removed_executions(), 9u);
  EXPECT_EQ(user.removed_names(), 3u);
  EXPECT_EQ(user.removed_since_ns(), 50u);
  EXPECT_EQ(user.store_bytes(), 5000u);
  EXPECT_EQ(user.cut_bytes(), 70u);
  EXPECT_EQ(user.cut_samples(), 2u);
  EXPECT_EQ(user.cut_since_ns(), 80u);
  EXPECT_FALSE(out.users(1).has_uid());
  EXPECT_FALSE(out.has_other_users());
}

TEST(UserStatus, NamesTheBiggestAndAddsUpTheOthers) {
  session::RecorderStatus recorder;
  for (std::uint32_t uid = 1; uid <= 20; ++uid) recorder.users[uid] = {.processes = 1, .memory_bytes = uid};
  CatalogueUsers catalogue;
  catalogue.removed = {{1, 5, 0, 70, 80}, {2, 6, 0, 40, 50}};
  catalogue.disk = {{1, 5}, {2, 5}, {20, 500}};
  catalogue.cuts = {{1, 7, 1, 70, 80}, {2, 8, 1, 60, 90}};
  v1::DaemonStatus out;
  tell_users(recorder, catalogue, out);
  ASSERT_EQ(out.users_size(), 8);
  EXPECT_EQ(out.users(0).uid(), 20u);
  EXPECT_EQ(out.users(7).uid(), 13u);
  const v1::UserStatus& others = out.other_users();
  EXPECT_FALSE(others.has_uid());
  EXPECT_EQ(others.users(), 12u);
  EXPECT_EQ(others.processes(), 12u);
  EXPECT_EQ(others.memory_bytes(), 78u);
  EXPECT_EQ(others.removed_executions(), 11u);
  EXPECT_EQ(others.removed_since_ns(), 40u) << "the first of them";
  EXPECT_EQ(others.store_bytes(), 10u);
  EXPECT_EQ(others.cut_bytes(), 15u);
  EXPECT_EQ(others.cut_since_ns(), 60u) << "the first of them";
}

TEST(UserStatus, NamesWhoHasMostOfTheHttpServer) {
  std::map<std::string, serve::HttpUse> uses;
  for (int i = 0; i < 8; ++i) uses["user " + std::to_string(i)] = {.connections = 2};
  uses["token a"] = {.connections = 1, .running = 2, .waiting = 3, .streams = 4, .refused = 5};
  uses["token b"] = {.refused = 7};
  uses["token c"] = {.connections = 1, .refused = 1};
  v1::DaemonStatus out;
  tell_http(uses, out);
  ASSERT_EQ(out.http_size(), 8);
  const v1::HttpAsker& most = out.http(0);
  EXPECT_EQ(most.who(), "token a");
  EXPECT_EQ(most.askers(), 1u);
  EXPECT_EQ(most.connections(), 1u);
  EXPECT_EQ(most.running(), 2u);
  EXPECT_EQ(most.waiting(), 3u);
  EXPECT_EQ(most.streams(), 4u);
  EXPECT_EQ(most.refused(), 5u);
  EXPECT_EQ(out.http(1).who(), "user 0");
  const v1::HttpAsker& others = out.other_http();
  EXPECT_EQ(others.who(), "");
  EXPECT_EQ(others.askers(), 3u);
  EXPECT_EQ(others.connections(), 3u);
  EXPECT_EQ(others.refused(), 8u);
}

}  // namespace
}  // namespace tailor::tailord
