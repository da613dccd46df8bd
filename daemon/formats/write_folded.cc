#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "daemon/formats/trace_writers.h"
#include "proto/base/harmful.h"
#include "proto/base/utf8.h"

namespace tailor::formats {
namespace {

// What separates frames, and lines, cannot be in a name; nor what a terminal would obey: these files are
// looked at with cat and grep.
std::string folded_name(const TraceFrame& frame) {
  const std::string clean = replace_non_utf8(frame.name);
  std::string name;
  for (std::string_view rest = clean; !rest.empty();) {
    const std::size_t size = utf8_sequence_length(rest);
    const std::string_view character = rest.substr(0, size);
    if (character == ";") {
      name += ':';
    } else if (is_harmful(utf8_character(character))) {
      name += ' ';
    } else {
      name += character;
    }
    rest.remove_prefix(size);
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
