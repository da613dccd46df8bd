#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "daemon/formats/trace_writers.h"
#include "daemon/formats/write_text.h"

namespace tailor::formats {
namespace {

// Of the processed profile; readers bring older ones up to date.
constexpr int kVersion = 49;
constexpr double kNsOfMs = 1e6;

struct Category {
  const char* name;
  const char* colour;
};
// By TraceFrame::Kind.
constexpr Category kCategories[kTraceFrameKinds] = {
    {"Process", "grey"},     {"Plan", "purple"},   {"Operator", "green"},    {"Engine", "yellow"},
    {"Unattributed", "red"}, {"Function", "blue"}, {"Generated", "magenta"}, {"Kernel", "orange"},
};

std::string column(std::size_t length, const char* value) {
  std::string out = "[";
  for (std::size_t i = 0; i < length; ++i) out += (i == 0 ? "" : ",") + std::string(value);
  return out + "]";
}

template <typename Range>
std::string numbers(const Range& range) {
  std::string out = "[";
  append_list(out, range, [](std::string& to, const auto& each) { to += fmt::format("{}", each); });
  return out + "]";
}

// The tables of one thread, with what its own samples need.
class ThreadTables {
 public:
  explicit ThreadTables(const Trace& trace) : trace_(trace) {}

  void add(const TraceSample& sample) {
    stacks_of_samples_.push_back(stack(sample.node));
    times_.push_back(milliseconds(sample.time));
    weights_.push_back(sample.weight);
  }
  void add(const TraceSpan& span) {
    marker_names_.push_back(text("Execution"));
    marker_begins_.push_back(milliseconds(span.begin));
    marker_ends_.push_back(milliseconds(span.end));
    marker_texts_.push_back(json_text(span.name + " " + span.id));
  }

  std::string json(const TraceThread& thread, bool is_main, bool is_time) {
    std::string out = fmt::format(
        R"({{"processType":"default","processStartupTime":0,"processShutdownTime":null,"registerTime":0,)"
        R"("unregisterTime":null,"pausedRanges":[],"name":{},"isMainThread":{},"processName":{},"pid":"{}","tid":{},)",
        json_text(thread.thread.empty() ? thread.process : thread.thread), is_main, json_text(thread.process),
        thread.pid, thread.tid);
    out += samples_json(is_time) + "," + markers_json() + "," + stacks_json() + "," + frames_json() + "," +
           functions_json();
    out +=
        R"(,"nativeSymbols":{"libIndex":[],"address":[],"name":[],"functionSize":[],"length":0},"stringArray":[)";
    append_list(out, texts_, [](std::string& to, const std::string* each) { to += json_text(*each); });
    return out + "]}";
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  double milliseconds(TimeNs time) const { return static_cast<double>(time - trace_.start) / kNsOfMs; }
  std::uint32_t text(const std::string& text) {
    const auto [at, fresh] = text_numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (fresh) texts_.push_back(&at->first);
    return at->second;
  }
  std::uint32_t frame(std::uint32_t number) {
    const auto [at, fresh] = frame_numbers_.try_emplace(number, static_cast<std::uint32_t>(frames_.size()));
    if (fresh) frames_.push_back(number);
    return at->second;
  }
  std::uint32_t stack(std::uint32_t node) {
    std::vector<std::uint32_t> missing;
    for (; node != 0 && !stack_numbers_.contains(node); node = trace_.nodes[node].parent)
      missing.push_back(node);
    std::uint32_t prefix = node == 0 ? kNone : stack_numbers_.at(node);
    for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
      stack_frames_.push_back(frame(trace_.nodes[*at].frame));
      stack_prefixes_.push_back(prefix);
      prefix = static_cast<std::uint32_t>(stack_frames_.size() - 1);
      stack_numbers_.emplace(*at, prefix);
    }
    return prefix;
  }
  static void append_optional(std::string& to, std::uint32_t number) {
    to += number == kNone ? std::string("null") : std::to_string(number);
  }

  std::string samples_json(bool is_time) const {
    std::string out = R"("samples":{"stack":[)";
    append_list(out, stacks_of_samples_, append_optional);
    out += R"(],"time":)" + numbers(times_) + R"(,"weight":[)";
    // The unit of "tracing-ms" is the millisecond.
    append_list(out, weights_, [&](std::string& to, std::uint64_t weight) {
      to += is_time ? fmt::format("{}", static_cast<double>(weight) / kNsOfMs) : std::to_string(weight);
    });
    return out + fmt::format(R"(],"weightType":"{}","length":{}}})", is_time ? "tracing-ms" : "samples",
                             times_.size());
  }
  std::string markers_json() const {
    const std::size_t length = marker_names_.size();
    std::string out = R"("markers":{"data":[)";
    append_list(out, marker_texts_, [](std::string& to, const std::string& each) {
      to += R"({"type":"Text","name":)" + each + "}";
    });
    return out +
           fmt::format(R"(],"name":{},"startTime":{},"endTime":{},"phase":{},"category":{},"length":{}}})",
                       numbers(marker_names_), numbers(marker_begins_), numbers(marker_ends_),
                       column(length, "1"), column(length, "1"), length);
  }
  std::string stacks_json() const {
    std::string categories = "[";
    append_list(categories, stack_frames_, [&](std::string& to, std::uint32_t each) {
      to += std::to_string(static_cast<int>(trace_.frames[frames_[each]].kind));
    });
    std::string prefixes = "[";
    append_list(prefixes, stack_prefixes_, append_optional);
    return fmt::format(
        R"("stackTable":{{"frame":{},"category":{}],"subcategory":{},"prefix":{}],"length":{}}})",
        numbers(stack_frames_), categories, column(stack_frames_.size(), "0"), prefixes,
        stack_frames_.size());
  }
  std::string frames_json() const {
    const std::size_t length = frames_.size();
    std::string functions = "[", categories = "[";
    for (std::size_t i = 0; i < length; ++i) {
      functions += (i == 0 ? "" : ",") + std::to_string(i);
      categories += (i == 0 ? "" : ",") + std::to_string(static_cast<int>(trace_.frames[frames_[i]].kind));
    }
    const std::string zeros = column(length, "0"), nulls = column(length, "null");
    return fmt::format(
        R"("frameTable":{{"address":{},"inlineDepth":{},"category":{}],"subcategory":{},"func":{}],"nativeSymbol":{},)"
        R"("innerWindowID":{},"implementation":{},"line":{},"column":{},"length":{}}})",
        column(length, "-1"), zeros, categories, zeros, functions, nulls, zeros, nulls, nulls, nulls, length);
  }
  // A library is a resource.
  std::string functions_json() {
    std::map<std::string, std::size_t> libraries;
    std::vector<std::uint32_t> names, library_names;
    std::string resources = "[";
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      const TraceFrame& frame = trace_.frames[frames_[i]];
      names.push_back(text(frame.name));
      if (i > 0) resources += ',';
      if (frame.object.empty()) {
        resources += "-1";
        continue;
      }
      const auto [at, fresh] = libraries.try_emplace(frame.object, libraries.size());
      if (fresh) library_names.push_back(text(frame.object));
      resources += std::to_string(at->second);
    }
    const std::size_t length = frames_.size();
    const std::string falses = column(length, "false"), nulls = column(length, "null");
    return fmt::format(
               R"("funcTable":{{"isJS":{},"relevantForJS":{},"name":{},"resource":{}],"fileName":{},"lineNumber":{},)"
               R"("columnNumber":{},"length":{}}},)",
               falses, falses, numbers(names), resources, nulls, nulls, nulls, length) +
           fmt::format(R"("resourceTable":{{"lib":{},"name":{},"host":{},"type":{},"length":{}}})",
                       column(library_names.size(), "null"), numbers(library_names),
                       column(library_names.size(), "null"), column(library_names.size(), "1"),
                       library_names.size());
  }

  const Trace& trace_;
  std::unordered_map<std::string, std::uint32_t> text_numbers_;
  std::vector<const std::string*> texts_;
  std::unordered_map<std::uint32_t, std::uint32_t> frame_numbers_, stack_numbers_;
  std::vector<std::uint32_t> frames_;  // of Trace::frames
  std::vector<std::uint32_t> stack_frames_, stack_prefixes_, stacks_of_samples_;
  std::vector<double> times_, marker_begins_, marker_ends_;
  std::vector<std::uint64_t> weights_;
  std::vector<std::uint32_t> marker_names_;
  std::vector<std::string> marker_texts_;
};

std::string meta_json(const Trace& trace, const TraceSource& source) {
  std::string categories;
  append_list(categories, kCategories, [](std::string& to, const Category& each) {
    to += fmt::format(R"({{"name":"{}","color":"{}","subcategories":["Other"]}})", each.name, each.colour);
  });
  const double interval =
      source.unit == "nanoseconds" && source.period > 0 ? static_cast<double>(source.period) / kNsOfMs : 1.0;
  return fmt::format(
      R"("meta":{{"interval":{},"startTime":{},"processType":0,"product":{},"stackwalk":1,"debug":false,"version":24,)"
      R"("preprocessedProfileVersion":{},"symbolicated":true,"usesOnlyOneStackType":true,)"
      R"("doesNotUseFrameImplementation":true,"sourceCodeIsNotOnSearchfox":true,"oscpu":{},"platform":"Linux",)"
      R"("importedFrom":{},"extensions":{{"length":0,"baseURL":[],"id":[],"name":[]}},"categories":[{}],)"
      R"("markerSchema":[{{"name":"Text","display":["marker-chart","marker-table","timeline-overview"],)"
      R"("tableLabel":"{{marker.data.name}}","chartLabel":"{{marker.data.name}}",)"
      R"("data":[{{"key":"name","label":"Execution","format":"string"}}]}}]}})",
      interval, trace.wall_ns / 1'000'000, json_text(trace.command.empty() ? "tailor" : trace.command),
      kVersion, json_text(trace.host), json_text(trace.producer), categories);
}

}  // namespace

std::string write_firefox(const Trace& trace, std::uint16_t source) {
  std::map<std::uint32_t, ThreadTables> threads;
  std::map<std::int32_t, std::uint32_t> first_of_process;
  for (const TraceSample& sample : trace.samples) {
    if (sample.source != source) continue;
    threads.try_emplace(sample.thread, trace).first->second.add(sample);
    const auto [at, fresh] = first_of_process.try_emplace(trace.threads[sample.thread].pid, sample.thread);
    if (!fresh) at->second = std::min(at->second, sample.thread);
  }
  for (const TraceSpan& span : trace.executions) {
    const auto first = first_of_process.find(span.pid);
    if (first != first_of_process.end()) threads.at(first->second).add(span);
  }
  const bool is_time = trace.sources[source].unit == "nanoseconds";
  std::string out =
      "{" + meta_json(trace, trace.sources[source]) + R"(,"libs":[],"pages":[],"counters":[],"threads":[)";
  bool first = true;
  for (auto& [number, tables] : threads) {
    const TraceThread& thread = trace.threads[number];
    if (!first) out += ',';
    first = false;
    out += tables.json(thread, first_of_process.at(thread.pid) == number, is_time);
  }
  return out + "]}\n";
}

}  // namespace tailor::formats
