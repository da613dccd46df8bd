// Fields by number: https://github.com/google/pprof/blob/main/proto/profile.proto.
#include <algorithm>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <tuple>
#include <unordered_map>

#include "daemon/formats/trace_writers.h"
#include "proto/base/utf8.h"

namespace tailor::formats {
namespace {

using protozero::pbf_writer;

enum ProfileField : protozero::pbf_tag_type {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultSampleType = 14,
};

class Strings {
 public:
  Strings() { (void)number(""); }
  std::int64_t number(const std::string& text) {
    const auto [at, fresh] = numbers_.try_emplace(text, static_cast<std::int64_t>(texts_.size()));
    if (fresh) texts_.push_back(&at->first);
    return at->second;
  }
  const std::vector<const std::string*>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::vector<const std::string*> texts_;
};

void add_value_type(pbf_writer& to, ProfileField field, Strings& strings, const std::string& type,
                    const std::string& unit) {
  pbf_writer value(to, field);
  value.add_int64(1, strings.number(type));
  value.add_int64(2, strings.number(unit));
}

std::string samples_name(const Trace& trace, const TraceSource& source) {
  return trace.sources.size() == 1 ? "samples" : source.name + "/samples";
}

std::string weight_name(const TraceSource& source) {
  if (source.unit != "nanoseconds") return source.name;
  return source.off_cpu ? "off-cpu" : source.name == "cpu-clock" ? "cpu" : source.name;
}

// Samples that differ in nothing that the format keeps; values come in pairs of number and weight.
using Sums = std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<std::int64_t>>;

Sums sum_up(const Trace& trace) {
  Sums sums;
  for (const TraceSample& sample : trace.samples) {
    auto& values = sums[{sample.node, sample.labels, sample.thread}];
    values.resize(2 * trace.sources.size());
    ++values[2 * sample.source];
    values[2 * sample.source + 1] += static_cast<std::int64_t>(sample.weight);
  }
  return sums;
}

void add_label(pbf_writer& sample, Strings& strings, const std::string& key, const std::string& text) {
  pbf_writer label(sample, 3);
  label.add_int64(1, strings.number(key));
  label.add_int64(2, strings.number(replace_non_utf8(text)));
}

void add_number(pbf_writer& sample, Strings& strings, const std::string& key, std::int64_t number) {
  pbf_writer label(sample, 3);
  label.add_int64(1, strings.number(key));
  label.add_int64(3, number);
}

void add_samples(pbf_writer& to, const Trace& trace, Strings& strings) {
  std::vector<std::uint64_t> locations;
  for (const auto& [key, values] : sum_up(trace)) {
    const auto& [node, labels, thread] = key;
    locations.clear();
    for (std::uint32_t at = node; at != 0; at = trace.nodes[at].parent)
      locations.push_back(trace.nodes[at].frame + 1);
    pbf_writer sample(to, kSample);
    sample.add_packed_uint64(1, locations.begin(), locations.end());
    sample.add_packed_int64(2, values.begin(), values.end());
    for (const auto& [name, text] : trace.labels[labels]) add_label(sample, strings, name, text);
    add_label(sample, strings, "thread", trace.threads[thread].thread);
    add_number(sample, strings, "tid", trace.threads[thread].tid);
  }
}

// One function and one location a frame; what has a library is in a mapping of its name. The first mapping is
// that of the program: readers name the profile after it.
void add_frames(pbf_writer& to, const Trace& trace, Strings& strings) {
  std::map<std::string, std::uint64_t> mappings;
  const auto add_mapping = [&](const std::string& object) {
    if (object.empty() || mappings.contains(object)) return;
    const std::uint64_t id = mappings.size() + 1;
    mappings.emplace(object, id);
    pbf_writer mapping(to, kMapping);
    mapping.add_uint64(1, id);
    mapping.add_int64(5, strings.number(replace_non_utf8(object)));
    mapping.add_bool(7, true);  // it has functions: nobody needs to look them up
  };
  add_mapping(trace.program);
  for (const TraceFrame& frame : trace.frames) add_mapping(frame.object);
  for (std::size_t i = 0; i < trace.frames.size(); ++i) {
    const TraceFrame& frame = trace.frames[i];
    pbf_writer function(to, kFunction);
    const std::int64_t name = strings.number(replace_non_utf8(frame.name));
    function.add_uint64(1, i + 1);
    function.add_int64(2, name);
    function.add_int64(3, name);
    function.commit();
    pbf_writer location(to, kLocation);
    location.add_uint64(1, i + 1);
    if (!frame.object.empty()) location.add_uint64(2, mappings.at(frame.object));
    pbf_writer line(location, 4);
    line.add_uint64(1, i + 1);
  }
}

}  // namespace

std::string write_pprof(const Trace& trace) {
  std::string out;
  pbf_writer to(out);
  Strings strings;
  for (const TraceSource& source : trace.sources) {
    add_value_type(to, kSampleType, strings, samples_name(trace, source), "count");
    add_value_type(to, kSampleType, strings, weight_name(source), source.unit);
  }
  add_samples(to, trace, strings);
  add_frames(to, trace, strings);
  if (trace.wall_ns != 0) to.add_int64(kTimeNanos, static_cast<std::int64_t>(trace.wall_ns));
  to.add_int64(kDurationNanos, std::max<TimeNs>(0, trace.end - trace.start));
  if (!trace.sources.empty()) {
    add_value_type(to, kPeriodType, strings, weight_name(trace.sources.front()), trace.sources.front().unit);
    to.add_int64(kPeriod, static_cast<std::int64_t>(trace.sources.front().period));
    to.add_int64(kDefaultSampleType, strings.number(weight_name(trace.sources.front())));
  }
  to.add_int64(kComment, strings.number(replace_non_utf8(trace.producer)));
  for (const std::string* text : strings.texts()) to.add_string(kStringTable, *text);
  return out;
}

}  // namespace tailor::formats
