// Fields by number: opentelemetry/proto/profiles/v1development/profiles.proto, of version 1.11 (with
// stack_table).
#include <algorithm>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "daemon/formats/trace_writers.h"
#include "proto/base/sha256.h"
#include "proto/base/utf8.h"

namespace tailor::formats {
namespace {

using protozero::pbf_writer;

// Tables of the dictionary; entry 0 of each says "none".
enum OtlpTable : protozero::pbf_tag_type {
  kMappings = 1,
  kLocations = 2,
  kFunctions = 3,
  kLinks = 4,
  kStrings = 5,
  kAttributes = 6,
  kStacks = 7,
};

// Entries of one table by their bytes, each once.
class OtlpEntries {
 public:
  std::int32_t number(const std::string& entry) {
    const auto [at, fresh] = numbers_.try_emplace(entry, static_cast<std::int32_t>(entries_.size()));
    if (fresh) entries_.push_back(&at->first);
    return at->second;
  }
  void write(pbf_writer& to, OtlpTable table) const {
    for (const std::string* entry : entries_) to.add_message(table, *entry);
  }

 private:
  std::unordered_map<std::string, std::int32_t> numbers_ = {{"", 0}};
  std::vector<const std::string*> entries_ = {&numbers_.begin()->first};
};

std::string_view otlp_kind(TraceFrame::Kind kind) {
  switch (kind) {
    case TraceFrame::Kind::kProcess:
      return "process";
    case TraceFrame::Kind::kPlan:
      return "plan";
    case TraceFrame::Kind::kOperator:
      return "operator";
    case TraceFrame::Kind::kEngine:
      return "engine";
    case TraceFrame::Kind::kNobody:
      return "unattributed";
    case TraceFrame::Kind::kKernel:
      return "kernel";
    case TraceFrame::Kind::kGenerated:
      return "generated";
    case TraceFrame::Kind::kFunction:
      break;
  }
  return "native";
}

bool is_of_code(TraceFrame::Kind kind) {
  return kind == TraceFrame::Kind::kFunction || kind == TraceFrame::Kind::kGenerated ||
         kind == TraceFrame::Kind::kKernel;
}

// "off-cpu" and "cpu" are what readers know; the others have the name of their event.
std::string otlp_type(const TraceSource& source) {
  if (source.unit != "nanoseconds") return source.name;
  return source.off_cpu ? "off-cpu" : "cpu";
}

// What all profiles of a message refer to.
class OtlpDictionary {
 public:
  explicit OtlpDictionary(const Trace& trace) : trace_(trace) {}

  std::int32_t text(std::string_view text) { return strings_.number(replace_non_utf8(text)); }

  std::int32_t text_attribute(std::string_view key, std::string_view value) {
    return attribute(key, [&](pbf_writer& any) { any.add_string(1, replace_non_utf8(value)); });
  }
  std::int32_t number_attribute(std::string_view key, std::int64_t value) {
    return attribute(key, [&](pbf_writer& any) { any.add_int64(3, value); });
  }

  std::int32_t stack(std::uint32_t node) {
    const auto known = stacks_of_.find(node);
    if (known != stacks_of_.end()) return known->second;
    std::vector<std::int32_t> locations;  // the innermost first
    for (std::uint32_t at = node; at != 0; at = trace_.nodes[at].parent)
      locations.push_back(location(trace_.nodes[at].frame));
    std::string bytes;
    pbf_writer(bytes).add_packed_int32(1, locations.begin(), locations.end());
    return stacks_of_[node] = stacks_.number(bytes);
  }

  void write(pbf_writer& to) const {
    mappings_.write(to, kMappings);
    locations_.write(to, kLocations);
    functions_.write(to, kFunctions);
    to.add_message(kLinks, std::string());
    strings_.write(to, kStrings);
    attributes_.write(to, kAttributes);
    stacks_.write(to, kStacks);
  }

 private:
  template <typename Set>
  std::int32_t attribute(std::string_view key, const Set& set) {
    std::string bytes;
    pbf_writer to(bytes);
    to.add_int32(1, text(key));
    {
      pbf_writer any(to, 2);
      set(any);
    }
    return attributes_.number(bytes);
  }

  std::int32_t location(std::uint32_t number) {
    const auto known = locations_of_.find(number);
    if (known != locations_of_.end()) return known->second;
    const TraceFrame& frame = trace_.frames[number];
    std::string function, mapping, bytes;
    pbf_writer(function).add_int32(1, text(frame.name));
    if (!frame.object.empty()) pbf_writer(mapping).add_int32(4, text(frame.object));
    pbf_writer to(bytes);
    to.add_int32(1, mappings_.number(mapping));
    {
      pbf_writer line(to, 3);
      line.add_int32(1, functions_.number(function));
    }
    const std::int32_t kind = text_attribute(
        is_of_code(frame.kind) ? "profile.frame.type" : "tailor.frame.type", otlp_kind(frame.kind));
    to.add_packed_int32(4, &kind, &kind + 1);
    return locations_of_[number] = locations_.number(bytes);
  }

  const Trace& trace_;
  OtlpEntries mappings_, locations_, functions_, strings_, attributes_, stacks_;
  std::unordered_map<std::uint32_t, std::int32_t> locations_of_, stacks_of_;
};

// A profile is of one process and source.
using OtlpProfileKey = std::pair<std::int32_t, std::uint16_t>;
// Samples of one profile that differ in time and weight only: by stack, labels and thread.
using OtlpGroups =
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<const TraceSample*>>;

class OtlpMessage {
 public:
  explicit OtlpMessage(const Trace& trace) : trace_(trace), dictionary_(trace) {}

  std::string take() {
    std::map<OtlpProfileKey, OtlpGroups> profiles;
    for (const TraceSample& sample : trace_.samples)
      profiles[{trace_.threads[sample.thread].pid, sample.source}]
              [{sample.node, sample.labels, sample.thread}]
                  .push_back(&sample);
    std::string out;
    pbf_writer to(out);
    for (auto at = profiles.begin(); at != profiles.end();) {
      const std::int32_t pid = at->first.first;
      pbf_writer of_process(to, 1);
      add_resource(of_process, pid, std::get<2>(at->second.begin()->first));
      pbf_writer of_scope(of_process, 2);
      add_scope(of_scope);
      for (; at != profiles.end() && at->first.first == pid; ++at)
        add_profile(of_scope, at->first, at->second);
    }
    pbf_writer dictionary(to, 2);
    dictionary_.write(dictionary);
    return out;
  }

 private:
  static void add_text(pbf_writer& to, const std::string& key, std::string_view value) {
    if (value.empty()) return;
    pbf_writer pair(to, 1);
    pair.add_string(1, key);
    pbf_writer any(pair, 2);
    any.add_string(1, replace_non_utf8(value));
  }

  void add_resource(pbf_writer& to, std::int32_t pid, std::uint32_t thread) const {
    pbf_writer resource(to, 1);
    add_text(resource, "service.name", trace_.threads[thread].process);
    add_text(resource, "host.name", trace_.host);
    pbf_writer pair(resource, 1);
    pair.add_string(1, "process.pid");
    pbf_writer any(pair, 2);
    any.add_int64(3, pid);
  }

  // The producer is "tailor", a space, and its version.
  void add_scope(pbf_writer& to) const {
    pbf_writer scope(to, 1);
    const std::size_t space = trace_.producer.find(' ');
    scope.add_string(1, replace_non_utf8(trace_.producer.substr(0, space)));
    if (space != std::string::npos) scope.add_string(2, replace_non_utf8(trace_.producer.substr(space + 1)));
  }

  void add_value_type(pbf_writer& to, protozero::pbf_tag_type field, const TraceSource& source) {
    pbf_writer type(to, field);
    type.add_int32(1, dictionary_.text(otlp_type(source)));
    type.add_int32(2, dictionary_.text(source.unit));
  }

  std::uint64_t wall_of(TimeNs time) const {
    return trace_.wall_ns + static_cast<std::uint64_t>(time - trace_.start);
  }

  void add_profile(pbf_writer& to, const OtlpProfileKey& key, const OtlpGroups& groups) {
    const TraceSource& source = trace_.sources[key.second];
    TimeNs first = trace_.start, last = trace_.end;
    for (const auto& [same, samples] : groups) {
      first = std::min(first, samples.front()->time);  // they come by time
      last = std::max(last, samples.back()->time);
    }
    pbf_writer profile(to, 2);
    add_value_type(profile, 1, source);
    for (const auto& [same, samples] : groups) add_sample(profile, same, samples);
    // The last time is in the profile too, whose end is not.
    if (trace_.wall_ns != 0) profile.add_fixed64(3, wall_of(first));
    profile.add_uint64(4, static_cast<std::uint64_t>(last - first) + 1);
    add_value_type(profile, 5, source);
    profile.add_int64(6, static_cast<std::int64_t>(source.period));
    profile.add_bytes(7, id_of(key, source));
    const std::int32_t event = dictionary_.text_attribute("tailor.event", source.name);
    profile.add_packed_int32(11, &event, &event + 1);
  }

  // The same export again gives the same id.
  std::string id_of(const OtlpProfileKey& key, const TraceSource& source) const {
    const std::string what = trace_.host + '\0' + std::to_string(trace_.wall_ns) + '\0' +
                             std::to_string(trace_.start) + '\0' + std::to_string(trace_.samples.size()) +
                             '\0' + std::to_string(key.first) + '\0' + source.name;
    const Sha256Digest digest = sha256(what);
    return {digest.begin(), digest.begin() + 16};
  }

  void add_sample(pbf_writer& to, const OtlpGroups::key_type& same,
                  const std::vector<const TraceSample*>& samples) {
    const auto& [node, labels, thread] = same;
    std::vector<std::int32_t> attributes;
    for (const auto& [key, value] : trace_.labels[labels])
      attributes.push_back(dictionary_.text_attribute("tailor." + key, value));
    attributes.push_back(dictionary_.number_attribute("thread.id", trace_.threads[thread].tid));
    attributes.push_back(dictionary_.text_attribute("thread.name", trace_.threads[thread].thread));
    std::vector<std::int64_t> values;
    std::vector<std::uint64_t> times;
    for (const TraceSample* sample : samples) {
      values.push_back(static_cast<std::int64_t>(sample->weight));
      if (trace_.wall_ns != 0) times.push_back(wall_of(sample->time));
    }
    // Without times there is one value of all.
    if (times.empty()) {
      for (; values.size() > 1; values.pop_back()) values.front() += values.back();
    }
    pbf_writer sample(to, 2);
    sample.add_int32(1, dictionary_.stack(node));
    sample.add_packed_int32(2, attributes.begin(), attributes.end());
    sample.add_packed_int64(4, values.begin(), values.end());
    sample.add_packed_fixed64(5, times.begin(), times.end());
  }

  const Trace& trace_;
  OtlpDictionary dictionary_;
};

}  // namespace

std::string write_otlp(const Trace& trace) {
  return OtlpMessage(trace).take();
}

}  // namespace tailor::formats
