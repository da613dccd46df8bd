// Who is asked for files that this host does not have. Only commands that make a report name one
// (use_debug_finder()): neither a recording nor a daemon asks anybody.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "proto/base/unique_fd.h"

namespace tailor::query {

class DebugFinder {
 public:
  enum class What : std::uint8_t {
    kFile,       // that ran
    kDebugFile,  // of its debug information, with its table of symbols
  };
  struct Found {
    UniqueFd file = {};    // empty: there is none, for this reason
    std::string why = {};  // for people
  };
  DebugFinder() = default;
  DebugFinder(const DebugFinder&) = delete;
  DebugFinder& operator=(const DebugFinder&) = delete;
  virtual ~DebugFinder() = default;

  // The file with that build id, as the server that was asked has it: it is not trusted. May take long,
  // but not without bound. Any thread.
  virtual Found find(What what, const std::string& build_id) = 0;
};

// What reports of this program ask; NULL: nobody.
DebugFinder* debug_finder();
// Once, before threads begin that may ask.
void use_debug_finder(std::unique_ptr<DebugFinder> finder);

}  // namespace tailor::query
