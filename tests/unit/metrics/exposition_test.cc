// What /metrics says of agents that the daemon did not hear out.
#include "daemon/metrics/exposition.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace tailor::metrics {
namespace {

std::string metrics_of(std::uint64_t dropped, std::uint64_t unsent) {
  v1::DaemonStatus status;
  status.mutable_total()->set_agent_dropped(dropped);
  status.mutable_total()->set_agent_unsent(unsent);
  return exposition({}, status);
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

// What was not sent falls again where an agent comes back, so it is no counter.
TEST(Exposition, SaysWhichMessagesNeverArrived) {
  const std::string text = metrics_of(3, 6425);
  EXPECT_TRUE(has_line(text, "# TYPE tailor_agent_messages_dropped_total counter")) << text;
  EXPECT_TRUE(has_line(text, "tailor_agent_messages_dropped_total 3"));
  EXPECT_TRUE(has_line(text, "# TYPE tailor_agent_messages_unsent gauge"));
  EXPECT_TRUE(has_line(text, "tailor_agent_messages_unsent 6425"));
  EXPECT_TRUE(has_line(metrics_of(3, 0), "tailor_agent_messages_unsent 0"));
}

}  // namespace
}  // namespace tailor::metrics
