#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "daemon/formats/trace_writers.h"
#include "proto/base/utf8.h"

namespace tailor::formats {
namespace {

// What separates frames, and lines, cannot be in a name.
std::string folded_name(const TraceFrame& frame) {
  std::string name = replace_non_utf8(frame.name);
  for (char& c : name) {
    if (c == ';') c = ':';
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  if (frame.kind == TraceFrame::Kind::kKernel) name += "_[k]";
  if (frame.kind == TraceFrame::Kind::kGenerated) name += "_[j]";
  return name;
}

}  // namespace

std::string write_folded(const Trace& trace, std::uint16_t source) {
  std::vector<std::uint64_t> weights(trace.nodes.size());
  for (const TraceSample& sample : trace.samples) {
    if (sample.source == source) weights[sample.node] += sample.weight;
  }
  std::string out;
  std::vector<std::uint32_t> stack;
  for (std::uint32_t node = 0; node < weights.size(); ++node) {
    if (weights[node] == 0) continue;
    stack.clear();
    for (std::uint32_t at = node; at != 0; at = trace.nodes[at].parent)
      stack.push_back(trace.nodes[at].frame);
    for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
      if (frame != stack.rbegin()) out += ';';
      out += folded_name(trace.frames[*frame]);
    }
    out += fmt::format(" {}\n", weights[node]);
  }
  return out;
}

}  // namespace tailor::formats
