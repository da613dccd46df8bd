// Which processes are sampled though they never register, and which are never sampled, by what the kernel
// says of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/os/os.h"

namespace tailor::session {

// All that is set must hold.
struct ProcessMatch {
  std::string executable;  // an absolute path, or the name of a file without its directory; see below
  std::string cgroup;      // in the unified hierarchy: this one, and those below it
  std::optional<std::uint32_t> uid;  // effective
  bool operator==(const ProcessMatch&) const = default;
};

// Where the names of generated code come from in a process that has no agent.
enum class NamesFrom {
  kAuto,       // the jitdumps that it has mapped, and its perf map
  kJitdump,    // those alone
  kPerfMap,    // that alone
  kFunctions,  // neither: symbols of files only
};

struct SampleRule {
  ProcessMatch match;
  NamesFrom names = NamesFrom::kAuto;
  // The file of rules for functions that reports show its operators by (docs/rules.md): an absolute path, or
  // the name of an installed one. Empty: none. Nobody reads it here.
  std::string rules = {};
  bool operator==(const SampleRule&) const = default;
};

struct ProcessRules {
  std::vector<ProcessMatch> ignore;  // goes before `sample`, and before registering
  std::vector<SampleRule> sample;    // the first that matches counts
  bool operator==(const ProcessRules&) const = default;
};

// An executable is asked for by the name that people start it with, and the kernel knows the file that runs
// in the end: /usr/bin/python3 is a link to python3.11, a script runs in its interpreter, and a program may
// be an argument of the dynamic linker. So a process matches by any of these.
struct ProcessFacts {
  std::string executable;  // as the process itself sees it; "" for threads of the kernel
  std::string cgroup;
  std::uint32_t uid = UINT32_MAX;
  // What else the process runs by the name of: its first argument (a link, where the process wrote no other
  // name there), the script in it, or the program that the dynamic linker runs. Paths as on its command line,
  // so they are the process's own words.
  std::vector<std::string> called = {};
  // Whether an absolute path leads to the file that the process runs, in its own view of the files. Empty:
  // no.
  std::function<bool(const std::string& path)> leads_to_executable = {};
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
