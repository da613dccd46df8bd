// Which processes are sampled though they never register, and which are never sampled, by what the kernel
// says of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/os/os.h"

namespace tailor::session {

// All that is set must hold.
struct ProcessMatch {
  std::string executable;            // an absolute path, or the name of a file without its directory
  std::string cgroup;                // in the unified hierarchy: this one, and those below it
  std::optional<std::uint32_t> uid;  // effective
  bool operator==(const ProcessMatch&) const = default;
};

// Where the names of generated code come from in a process that has no agent.
enum class NamesFrom {
  kAuto,       // the jitdump that it has mapped, else its perf map
  kJitdump,    // that alone
  kPerfMap,    // that alone
  kFunctions,  // neither: symbols of files only
};

struct SampleRule {
  ProcessMatch match;
  NamesFrom names = NamesFrom::kAuto;
  bool operator==(const SampleRule&) const = default;
};

struct ProcessRules {
  std::vector<ProcessMatch> ignore;  // goes before `sample`, and before registering
  std::vector<SampleRule> sample;    // the first that matches counts
  bool operator==(const ProcessRules&) const = default;
};

struct ProcessFacts {
  std::string executable;  // as the process itself sees it; "" for threads of the kernel
  std::string cgroup;
  std::uint32_t uid = UINT32_MAX;
};

// Nothing, if there is no such process.
std::optional<ProcessFacts> facts_of(const os::Os& os, std::int32_t pid);

bool matches(const ProcessMatch& match, const ProcessFacts& facts);
bool is_ignored(const ProcessRules& rules, const ProcessFacts& facts);
// The rule by which the process is sampled; null: none, or it is ignored.
const SampleRule* rule_for(const ProcessRules& rules, const ProcessFacts& facts);

// All processes of the host now.
std::vector<std::int32_t> pids_of_host(const os::Os& os);

}  // namespace tailor::session
