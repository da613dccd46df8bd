// The text of /metrics.
#pragma once

#include <string>

#include "daemon/metrics/operator_meter.h"
#include "tailor/v1/control.pb.h"

namespace tailor::metrics {

// In the format of Prometheus, version 0.0.4. docs/operate.md lists the names.
std::string exposition(const MeterReading& meter, const v1::DaemonStatus& status);

}  // namespace tailor::metrics
