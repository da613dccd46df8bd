// Fields by number: opentelemetry/proto/profiles/v1development/profiles.proto, of version 1.11 (with
// stack_table).
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "daemon/formats/otlp_dictionary.h"
#include "daemon/formats/trace_writers.h"
#include "proto/base/sha256.h"
#include "proto/base/utf8.h"

namespace tailor::formats {
namespace {

using protozero::pbf_writer;

// "cpu" and "off_cpu" are the protocol's words; the others have the name of their event.
std::string otlp_type(const TraceSource& source) {
  if (source.unit != "nanoseconds") return source.name;
  return source.off_cpu ? "off_cpu" : "cpu";
}

// Samples of one profile that differ in time and weight only: by stack, labels and thread.
using OtlpGroups =
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<const TraceSample*>>;

struct OtlpProcess {
  const TraceThread* thread = nullptr;  // one of them
  std::size_t samples = 0;
  std::map<std::uint16_t, OtlpGroups> sources;
};

// The process with most samples comes first: it is what viewers show.
std::vector<OtlpProcess> otlp_processes(const Trace& trace) {
  std::vector<OtlpProcess> out;
  std::vector<std::size_t> process_of_thread;
  std::map<std::tuple<std::int32_t, std::string, std::string>, std::size_t> numbers;
  for (const TraceThread& thread : trace.threads) {
    const auto [at, fresh] = numbers.try_emplace({thread.pid, thread.process, thread.version}, out.size());
    if (fresh) out.push_back({&thread, 0, {}});
    process_of_thread.push_back(at->second);
  }
  for (const TraceSample& sample : trace.samples) {
    OtlpProcess& process = out[process_of_thread[sample.thread]];
    ++process.samples;
    process.sources[sample.source][{sample.node, sample.labels, sample.thread}].push_back(&sample);
  }
  std::erase_if(out, [](const OtlpProcess& each) { return each.samples == 0; });
  std::ranges::stable_sort(out, std::greater<>(), &OtlpProcess::samples);
  return out;
}

// The keys of a sample are different ones, as the protocol demands. Plans name their levels as they like.
class OtlpKeys {
 public:
  std::string key(const std::string& name) {
    std::string out = "tailor." + replace_non_utf8(name);
    while (!taken_.insert(out).second) out += '_';
    return out;
  }

 private:
  std::set<std::string> taken_;
};

class OtlpMessage {
 public:
  explicit OtlpMessage(const Trace& trace) : trace_(trace), dictionary_(trace) {}

  std::string take() {
    std::string out;
    pbf_writer to(out);
    for (const OtlpProcess& process : otlp_processes(trace_)) {
      pbf_writer of_process(to, 1);
      add_resource(of_process, *process.thread);
      pbf_writer of_scope(of_process, 2);
      add_scope(of_scope);
      for (const auto& [source, groups] : process.sources)
        add_profile(of_scope, *process.thread, source, groups);
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

  void add_resource(pbf_writer& to, const TraceThread& thread) const {
    pbf_writer resource(to, 1);
    add_text(resource, "service.name", thread.service.empty() ? "unknown_service" : thread.service);
    add_text(resource, "service.version", thread.version);
    add_text(resource, "host.name", trace_.host);
    pbf_writer pair(resource, 1);
    pair.add_string(1, "process.pid");
    pbf_writer any(pair, 2);
    any.add_int64(3, thread.pid);
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

  void add_profile(pbf_writer& to, const TraceThread& thread, std::uint16_t number,
                   const OtlpGroups& groups) {
    const TraceSource& source = trace_.sources[number];
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
    profile.add_bytes(7, id_of(thread, number));
    const std::int32_t event = dictionary_.text_attribute("tailor.event", source.name);
    profile.add_packed_int32(11, &event, &event + 1);
  }

  // The same export again gives the same id.
  std::string id_of(const TraceThread& thread, std::uint16_t source) const {
    std::string what;
    for (const std::string& part :
         {trace_.host, std::to_string(trace_.wall_ns), std::to_string(trace_.start),
          std::to_string(trace_.samples.size()), std::to_string(thread.pid), thread.process, thread.version,
          std::to_string(source), trace_.sources[source].name})
      what += part + '\0';
    const Sha256Digest digest = sha256(what);
    return {digest.begin(), digest.begin() + 16};
  }

  // Of all samples with these labels.
  const std::vector<std::int32_t>& attributes_of(std::uint32_t labels) {
    const auto [at, fresh] = attributes_.try_emplace(labels);
    if (!fresh) return at->second;
    OtlpKeys keys;
    const auto add = [&](const std::string& name, const std::string& value) {
      at->second.push_back(dictionary_.text_attribute(keys.key(name), value));
    };
    for (const auto& [name, value] : trace_.labels[labels]) add(name, value);
    const TraceRun& run = trace_.runs[labels];
    if (!run.fingerprint.empty()) add("fingerprint", run.fingerprint);
    if (!run.trace_id.empty()) add("trace_id", run.trace_id);
    return at->second;
  }

  void add_sample(pbf_writer& to, const OtlpGroups::key_type& same,
                  const std::vector<const TraceSample*>& samples) {
    const auto& [node, labels, thread] = same;
    std::vector<std::int32_t> attributes = attributes_of(labels);
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
    if (const std::int32_t link = dictionary_.link(trace_.runs[labels])) sample.add_int32(3, link);
    sample.add_packed_int64(4, values.begin(), values.end());
    sample.add_packed_fixed64(5, times.begin(), times.end());
  }

  const Trace& trace_;
  OtlpDictionary dictionary_;
  std::map<std::uint32_t, std::vector<std::int32_t>> attributes_;  // by labels
};

}  // namespace

std::string write_otlp(const Trace& trace) {
  return OtlpMessage(trace).take();
}

}  // namespace tailor::formats
