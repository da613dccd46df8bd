// Samples with stacks of names, as writers of others' formats need them: without plans, addresses and files.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "proto/base/ids.h"

namespace tailor::formats {

struct TraceFrame {
  enum class Kind : std::uint8_t {
    kProcess,
    kPlan,
    kOperator,  // or another component of a plan
    kEngine,    // an engine component
    kNobody,    // "[unattributed: ...]"
    kFunction,
    kGenerated,
    kKernel,
  };
  Kind kind = Kind::kFunction;
  std::string name;           // hostile bytes; what is no UTF-8 is replaced by writers
  std::string object;         // library of a function; "": none
  std::string build_id = {};  // of the file of `object`, in hexadecimal; "" unknown, or not asked for
  auto operator<=>(const TraceFrame&) const = default;
};
inline constexpr std::size_t kTraceFrameKinds = 8;

// Of the tree of stacks; `parent` comes before.
struct TraceNode {
  std::uint32_t parent = 0;  // 0: outermost
  std::uint32_t frame = 0;
};

// A unit is "nanoseconds" or "count"; units are never added together.
struct TraceSource {
  std::string name, unit;
  std::uint64_t period = 0;
  bool off_cpu = false;
};

struct TraceThread {
  std::int32_t pid = 0, tid = 0;
  std::string process, thread;  // "weft (4242)", "worker-1"
  // Of the process, without its pid: the engine, or else the program, and the version; "" unknown.
  std::string service = {}, version = {};
};

// What is known of many samples: "operator" -> "Hash join".
using TraceLabels = std::vector<std::pair<std::string, std::string>>;

// What is known of the execution of many samples, beside their labels. Engines say it: it may be any text.
struct TraceRun {
  std::string fingerprint;        // of its query; "" unknown, or not asked for
  std::string trace_id, span_id;  // of distributed tracing; "" unknown
  auto operator<=>(const TraceRun&) const = default;
};

struct TraceSample {
  TimeNs time = 0;
  std::uint64_t weight = 0;  // in the unit of the source
  std::uint32_t thread = 0, node = 0, labels = 0;
  std::uint16_t source = 0;  // of Trace::sources
};

// An execution of a plan.
struct TraceSpan {
  std::string name, id;
  std::int32_t pid = 0;
  TimeNs begin = 0, end = 0;
};

struct Trace {
  std::string producer;  // "tailor 0.1.0"
  std::string host, command;
  std::string program;        // TraceFrame::object of the program that has most of the samples; "" unknown
  std::uint64_t wall_ns = 0;  // of `start`, since 1970; 0 unknown
  TimeNs start = 0, end = 0;  // of the recording
  std::vector<TraceSource> sources;
  std::vector<TraceThread> threads;
  std::vector<TraceFrame> frames;
  std::vector<TraceNode> nodes = {{}};  // the first is the root, which has no frame
  std::vector<TraceLabels> labels;
  // Of samples with these labels: the operators' names, an engine component, or "[reason]" of nobody's.
  std::vector<std::string> owners;
  std::vector<TraceRun> runs;        // of samples with these labels
  std::vector<TraceSample> samples;  // by time
  std::vector<TraceSpan> executions;
  std::vector<std::string> label_keys;  // all there are, in the order of columns
};

}  // namespace tailor::formats
