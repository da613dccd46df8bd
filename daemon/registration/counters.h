// What registration has seen and thrown away. Written by the server's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tailor::registration {

struct Counters {
  std::uint64_t connections = 0;      // ever accepted
  std::uint64_t refused = 0;          // closed by the daemon's will: limits, policy
  std::uint64_t messages = 0;         // handed to the sink
  std::uint64_t rejected = 0;         // messages dropped, each told to the sink
  std::uint64_t protocol_errors = 0;  // connections closed because of what came
  std::uint64_t foreign_packets = 0;  // sent by another process than the one that connected (a forked child)
  std::uint64_t future_times = 0;     // messages and log records from the future, set to their arrival
  std::uint64_t untranslated_tids = 0;  // threads that were gone before their id was known here
  std::uint64_t log_records = 0;        // handed to the sink
  std::uint64_t log_lost = 0;           // overwritten before they were read
  std::uint64_t log_malformed = 0;
  std::map<std::string, std::uint64_t>
      refusals;  // connections that were turned away or closed, by reason: few
  // By limit: times a user's agents were read later, and messages of which something was not kept.
  std::map<std::string, std::uint64_t> pauses;
};

}  // namespace tailor::registration
