// Tells perf the names of generated code, in the two ways that it knows: a perf map, which has names only
// (Linux, tools/perf/Documentation/jit-interface.txt), and a jitdump, which also has times, the code and the
// line of IR behind each instruction (jitdump-specification.txt, version 1).
//
//   perf record -k CLOCK_MONOTONIC -- engine ...          # with a jitdump
//   perf inject --jit -i perf.data -o named.data; perf report -i named.data --sort symbol,srcline
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "proto/base/ids.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::tagging {

// Thread-safe. Functions are the symbols of code objects; code without symbols is named by the object. Line
// breaks in names become spaces.
class PerfMap {
 public:
  // Makes /tmp/perf-PID.map, replacing a file that an earlier process left. Fails if it cannot.
  static Result<std::unique_ptr<PerfMap>> create();

  // Adds the functions of code that was just loaded; fails if they cannot be written.
  Status add(const v1::CodeObject& code);
  const std::string& path() const { return path_; }

 private:
  PerfMap(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  UniqueFd file_;
  std::mutex mutex_;
};

// Thread-safe.
class JitDump {
 public:
  // Makes FOLDER/jit-PID.dump, and the folder if need be. Fails if it cannot.
  static Result<std::unique_ptr<JitDump>> create(const std::string& folder);
  ~JitDump();
  JitDump(const JitDump&) = delete;
  JitDump& operator=(const JitDump&) = delete;

  // Adds the functions of code that was just loaded and has not run yet. The plan's attachment "ir" goes to a
  // file beside the dump, which the lines refer to: line n is component n of the lowest level. Code without
  // bytes is left out. Fails if it cannot be written.
  Status add(const v1::Plan& plan, const v1::CodeObject& code);
  const std::string& path() const { return path_; }

 private:
  JitDump(std::string folder, std::string path, UniqueFd file);
  Result<std::string> listing(const v1::Plan& plan);

  std::string folder_, path_;
  UniqueFd file_;
  void* mapped_ = nullptr;  // what perf sees
  std::mutex mutex_;
  std::uint64_t index_ = 0;
  std::set<PlanId> listed_;
};

}  // namespace tailor::tagging
