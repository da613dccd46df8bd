// How many CPUs each process and each owner of its samples used over time, as counters for a picture.
#pragma once

#include <string>
#include <vector>

#include "daemon/formats/trace.h"

namespace tailor::formats {

// Mean values over slices of time of equal length.
struct BusyCounter {
  std::int32_t pid = 0;
  std::string name;  // "CPUs busy", then "CPUs: " and an owner
  struct Value {
    TimeNs from = 0;  // until the next value
    double cpus = 0;
  };
  std::vector<Value> values;  // by time; none is as the one before it, and the last is 0
};

// Of samples of time on the CPU, of the first source that has such. A sample stands for the time of its
// weight before it. So the values of a process add up to its weight, and those of its owners to those of the
// process. Beyond the twelve owners with most cost, the others of a process are one counter. A slice is as
// long as ten samples of mean weight, or longer: there are a thousand at most.
std::vector<BusyCounter> busy_counters(const Trace& trace);

}  // namespace tailor::formats
