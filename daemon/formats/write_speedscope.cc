#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "daemon/formats/trace_writers.h"
#include "daemon/formats/write_text.h"

namespace tailor::formats {
namespace {

// Samples of one thread and source, as numbers in Trace::samples.
using Lane = std::pair<std::uint32_t, std::uint16_t>;

void append_stack(std::string& out, const Trace& trace, std::uint32_t node) {
  std::vector<std::uint32_t> stack;
  for (; node != 0; node = trace.nodes[node].parent) stack.push_back(trace.nodes[node].frame);
  std::ranges::reverse(stack);
  out += '[';
  append_list(out, stack, [](std::string& to, std::uint32_t frame) { to += std::to_string(frame); });
  out += ']';
}

void append_profile(std::string& out, const Trace& trace, const Lane& lane,
                    const std::vector<std::uint32_t>& samples) {
  const TraceThread& thread = trace.threads[lane.first];
  const TraceSource& source = trace.sources[lane.second];
  std::uint64_t total = 0;
  for (const std::uint32_t each : samples) total += trace.samples[each].weight;
  const std::string name =
      fmt::format("{} {} ({}): {}", thread.process, thread.thread, thread.tid, source.name);
  out += fmt::format(R"({{"type":"sampled","name":{},"unit":"{}","startValue":0,"endValue":{},"samples":[)",
                     json_text(name), source.unit == "nanoseconds" ? "nanoseconds" : "none", total);
  append_list(out, samples, [&](std::string& to, std::uint32_t each) {
    append_stack(to, trace, trace.samples[each].node);
  });
  out += R"(],"weights":[)";
  append_list(out, samples,
              [&](std::string& to, std::uint32_t each) { to += std::to_string(trace.samples[each].weight); });
  out += "]}";
}

}  // namespace

std::string write_speedscope(const Trace& trace) {
  std::map<Lane, std::vector<std::uint32_t>> lanes;
  for (std::uint32_t i = 0; i < trace.samples.size(); ++i)
    lanes[{trace.samples[i].thread, trace.samples[i].source}].push_back(i);
  std::string out = fmt::format(
      R"({{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":{},"name":{},"activeProfileIndex":0,"shared":{{"frames":[)",
      json_text(trace.producer), json_text(trace.command.empty() ? "tailor" : trace.command));
  append_list(out, trace.frames, [](std::string& to, const TraceFrame& frame) {
    to += R"({"name":)" + json_text(frame.name);
    if (!frame.object.empty()) to += R"(,"file":)" + json_text(frame.object);
    to += '}';
  });
  out += R"(]},"profiles":[)";
  append_list(out, lanes,
              [&](std::string& to, const auto& lane) { append_profile(to, trace, lane.first, lane.second); });
  return out + "]}\n";
}

}  // namespace tailor::formats
