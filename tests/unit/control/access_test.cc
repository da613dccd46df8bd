// The table of docs/security.md, cell by cell.
#include "daemon/control/access.h"

#include <gtest/gtest.h>

namespace tailor::control {
namespace {

constexpr std::uint32_t kDaemon = 990, kMember = 1000, kOther = 1001;
constexpr std::int32_t kOwn = 10, kForeign = 20, kGone = 30;

bool may(const v1::ControlRequest& request, std::uint32_t uid) {
  const OwnerOf owner_of = [](std::int32_t pid) -> std::optional<std::uint32_t> {
    if (pid == kOwn) return kMember;
    if (pid == kForeign) return kOther;
    return std::nullopt;
  };
  const Status checked = check_access(request, {uid}, kDaemon, owner_of);
  if (!checked.ok()) {
    EXPECT_EQ(checked.error().kind, ErrorKind::kDenied);
  }
  return checked.ok();
}

v1::ControlRequest sample(std::int32_t pid) {
  v1::ControlRequest request;
  request.mutable_sample()->set_pid(pid);
  return request;
}
v1::ControlRequest unsample(std::int32_t pid) {
  v1::ControlRequest request;
  request.mutable_unsample()->mutable_process()->set_pid(pid);
  return request;
}
v1::ControlRequest pause(std::int32_t pid) {
  v1::ControlRequest request;
  request.mutable_pause()->set_pid(pid);
  return request;
}
v1::ControlRequest resume(std::int32_t pid) {
  v1::ControlRequest request;
  request.mutable_resume()->set_pid(pid);
  return request;
}
v1::ControlRequest pause_all() {
  v1::ControlRequest request;
  request.mutable_pause()->set_all(true);
  return request;
}
v1::ControlRequest resume_all() {
  v1::ControlRequest request;
  request.mutable_resume()->set_all(true);
  return request;
}

v1::ControlRequest rate(std::int32_t pid) {
  v1::ControlRequest request;
  request.mutable_rate()->set_pid(pid);
  return request;
}
v1::ControlRequest rate_of_all() {
  v1::ControlRequest request;
  request.mutable_rate()->set_all(true);
  return request;
}

TEST(ControlAccess, RootAndTheDaemonsUserMayDoEverything) {
  for (const std::uint32_t uid : {0u, kDaemon}) {
    for (const std::int32_t pid : {kOwn, kForeign, kGone}) {
      for (const auto& request : {sample(pid), unsample(pid), pause(pid), resume(pid), rate(pid)})
        EXPECT_TRUE(may(request, uid)) << request.ShortDebugString();
    }
    EXPECT_TRUE(may(pause_all(), uid));
    EXPECT_TRUE(may(resume_all(), uid));
    EXPECT_TRUE(may(rate_of_all(), uid));
  }
}

TEST(ControlAccess, OthersMayAsk) {
  v1::ControlRequest status, flush, report;
  status.mutable_status();
  flush.mutable_flush();
  report.mutable_report();
  for (const auto& request : {status, flush, report}) EXPECT_TRUE(may(request, kMember));
}

TEST(ControlAccess, OthersMayChangeWhatIsSampledOfTheirOwnProcesses) {
  for (const auto& request : {sample(kOwn), unsample(kOwn), pause(kOwn), resume(kOwn), rate(kOwn)})
    EXPECT_TRUE(may(request, kMember)) << request.ShortDebugString();
  for (const std::int32_t pid : {kForeign, kGone}) {
    for (const auto& request : {sample(pid), unsample(pid), pause(pid), resume(pid), rate(pid)})
      EXPECT_FALSE(may(request, kMember)) << request.ShortDebugString();
  }
}

TEST(ControlAccess, OthersMayNotChangeWhatIsSampledOfAll) {
  EXPECT_FALSE(may(pause_all(), kMember));
  EXPECT_FALSE(may(resume_all(), kMember));
  EXPECT_FALSE(may(rate_of_all(), kMember));
  v1::ControlRequest nothing;
  nothing.mutable_pause();
  EXPECT_FALSE(may(nothing, kMember));
  nothing.mutable_rate()->set_frequency(1);
  EXPECT_FALSE(may(nothing, kMember));
}

// An unknown peer is the user that nobody is.
TEST(ControlAccess, WhoIsNotKnownIsNobody) {
  EXPECT_FALSE(may(pause(kGone), Peer{}.uid));
  EXPECT_FALSE(may(sample(kOwn), Peer{}.uid));
}

}  // namespace
}  // namespace tailor::control
