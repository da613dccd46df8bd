#include "daemon/tailord/rights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <sstream>
#include <string>

namespace tailor::tailord {
namespace {

RightsFacts usual() {
  RightsFacts facts;
  facts.locks_any_memory = true;
  return facts;
}

std::string kept_for(const RightsFacts& facts) {
  return names_of(rights_to_keep(facts).all);
}

const std::string kUsual = "CAP_PERFMON, CAP_BPF, CAP_SYS_PTRACE, CAP_SYSLOG, CAP_CHECKPOINT_RESTORE";

TEST(Rights, AreThoseOfTheUnitAndFilesThatAreMapped) {
  EXPECT_EQ(kept_for(usual()), kUsual);
  EXPECT_TRUE(rights_to_keep(usual()).because.empty());
  std::ifstream unit(TAILORD_UNIT);
  std::string line;
  int sets = 0;
  while (std::getline(unit, line)) {
    if (!line.starts_with("CapabilityBoundingSet=")) continue;
    ++sets;
    std::istringstream names(line.substr(line.find('=') + 1));
    for (std::string name; names >> name;)
      EXPECT_NE((kUsual + ",").find(name + ","), std::string::npos) << name;
  }
  EXPECT_EQ(sets, 1);
}

TEST(Rights, MoreIsKeptOnlyForWhatNeedsIt) {
  RightsFacts facts = usual();
  facts.locks_any_memory = false;
  EXPECT_EQ(kept_for(facts), kUsual + ", CAP_IPC_LOCK");
  facts = usual();
  facts.binds_low_port = true;
  EXPECT_EQ(kept_for(facts), kUsual + ", CAP_NET_BIND_SERVICE");
  facts = usual();
  facts.is_in_socket_group = false;
  EXPECT_EQ(kept_for(facts), kUsual + ", CAP_CHOWN");
}

TEST(Rights, GreatOnesAreKeptWithAReasonAndAWayOut) {
  RightsFacts facts = usual();
  facts.foreign_places = {"/home/somebody/store"};
  EXPECT_EQ(kept_for(facts), kUsual + ", CAP_DAC_OVERRIDE");
  ASSERT_EQ(rights_to_keep(facts).because.size(), 1u);
  EXPECT_NE(rights_to_keep(facts).because[0].find("/home/somebody/store"), std::string::npos);
  facts.perf_is_for_admins = true;
  EXPECT_EQ(kept_for(facts), kUsual + ", CAP_DAC_OVERRIDE, CAP_SYS_ADMIN");
  ASSERT_EQ(rights_to_keep(facts).because.size(), 2u);
  EXPECT_NE(rights_to_keep(facts).because[1].find("perf_event_paranoid"), std::string::npos);
}

TEST(Rights, AllThatCanBeKeptHaveNames) {
  RightsFacts facts;
  facts.binds_low_port = facts.perf_is_for_admins = true;
  facts.is_in_socket_group = false;
  facts.foreign_places = {"/"};
  const os::Capabilities all = rights_to_keep(facts).all;
  const std::string names = names_of(all);
  EXPECT_EQ(std::count(names.begin(), names.end(), ',') + 1, std::popcount(all)) << names;
}

}  // namespace
}  // namespace tailor::tailord
