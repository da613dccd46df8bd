#include <fmt/format.h>

#include <algorithm>

#include "daemon/formats/trace_writers.h"
#include "proto/base/utf8.h"

namespace tailor::formats {
namespace {

std::string field(std::string_view text) {
  std::string clean = replace_non_utf8(text);
  if (clean.find_first_of(",\"\r\n") == std::string::npos) return clean;
  std::string out = "\"";
  for (const char c : clean) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string_view value_of(const TraceLabels& labels, const std::string& key) {
  const auto found = std::ranges::find(labels, key, &std::pair<std::string, std::string>::first);
  return found == labels.end() ? std::string_view() : std::string_view(found->second);
}

bool is_code(TraceFrame::Kind kind) {
  return kind == TraceFrame::Kind::kFunction || kind == TraceFrame::Kind::kGenerated ||
         kind == TraceFrame::Kind::kKernel;
}

}  // namespace

std::string write_csv(const Trace& trace) {
  std::string out = "time_ns,pid,tid,process,thread,source,unit,weight";
  for (const std::string& key : trace.label_keys) out += "," + field(key);
  out += ",function,object,kernel\r\n";
  std::vector<std::string> labels, threads, sources;
  for (const TraceLabels& each : trace.labels) {
    std::string columns;
    for (const std::string& key : trace.label_keys) columns += "," + field(value_of(each, key));
    labels.push_back(std::move(columns));
  }
  for (const TraceThread& thread : trace.threads)
    threads.push_back(
        fmt::format("{},{},{},{}", thread.pid, thread.tid, field(thread.process), field(thread.thread)));
  for (const TraceSource& source : trace.sources) sources.push_back(field(source.name) + "," + source.unit);
  for (const TraceSample& sample : trace.samples) {
    out += fmt::format("{},{},{},{}{},", sample.time, threads[sample.thread], sources[sample.source],
                       sample.weight, labels[sample.labels]);
    const TraceFrame* frame = sample.node == 0 ? nullptr : &trace.frames[trace.nodes[sample.node].frame];
    if (frame != nullptr && is_code(frame->kind)) {
      out += field(frame->name) + "," + field(frame->object) +
             (frame->kind == TraceFrame::Kind::kKernel ? ",1" : ",0");
    } else {
      out += ",,";
    }
    out += "\r\n";
  }
  return out;
}

}  // namespace tailor::formats
