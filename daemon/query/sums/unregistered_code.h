// Samples in code that a process generated and that nobody registered (profile::Reason::kUnregisteredCode):
// what a profile tells of why it is nobody's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"

namespace tailor::query {

// In the order in which they are tried.
enum class WhyUnregistered : std::uint8_t {
  kOtherTime,  // there are code objects at most of the addresses, but not at these times
  kWrongPlan,  // code objects were refused, because their plan was not loaded
  kRefused,    // messages of its agent were refused
  kNone,       // the process has no code object
  kNotThis,    // the process has code objects elsewhere
};

struct UnregisteredCode {
  ProcessId process;
  WhyUnregistered why = WhyUnregistered::kNone;
  std::uint64_t refused = 0;       // messages of its agent
  std::uint64_t without_plan = 0;  // of them, code objects whose plan was not loaded
  bool tags = false;               // its agent keeps tags somewhere
  Cell cost;
};

// A smaller part of a report is a stub of a library here and there.
inline constexpr double kUnregisteredMatters = 0.01;

// Of each process that has such samples in the selection, most expensive first.
std::vector<UnregisteredCode> unregistered_code(const Profile& profile, const Selection& selection,
                                                std::uint16_t source);

// As `why` of a report and `cause` of a finding say it.
std::string_view key_of(WhyUnregistered why);
// What is said of the process, after its number.
std::string found_text(const UnregisteredCode& code);
// What to do about it.
std::string_view remedy_of(WhyUnregistered why);

}  // namespace tailor::query
