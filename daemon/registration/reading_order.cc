#include "daemon/registration/reading_order.h"

#include <algorithm>
#include <cmath>

namespace tailor::registration {

void ReadingOrder::fade(const std::vector<Connection*>& connections, Clock::time_point now) {
  const double passed = std::chrono::duration<double>(now - faded_).count();
  faded_ = now;
  const double stays = std::exp2(-std::min(passed, 1000.0));
  for (Connection* connection : connections) {
    connection->debt *= stays;
    connection->said *= stays;
  }
}

void ReadingOrder::sort(std::vector<Connection*>& connections, double Connection::* cost) {
  std::ranges::stable_sort(connections, {}, cost);
}

}  // namespace tailor::registration
