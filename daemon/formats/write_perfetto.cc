// Fields by number: https://github.com/google/perfetto/tree/main/protos/perfetto/trace.
#include <algorithm>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "daemon/formats/busy_counters.h"
#include "daemon/formats/trace_writers.h"
#include "proto/base/utf8.h"

namespace tailor::formats {
namespace {

using protozero::pbf_writer;

namespace packet {
enum : protozero::pbf_tag_type {
  kPacket = 1,  // of Trace
  kTimestamp = 8,
  kSequence = 10,
  kTrackEvent = 11,
  kInterned = 12,
  kSequenceFlags = 13,
  kTrackDescriptor = 60,
  kPerfSample = 66,
};
}  // namespace packet

constexpr std::uint32_t kSequenceId = 1;
constexpr std::uint32_t kStateCleared = 1, kNeedsState = 2;
enum : std::int32_t { kSliceBegin = 1, kSliceEnd = 2, kCounter = 4 };

class Writing {
 public:
  explicit Writing(const Trace& trace) : trace_(trace), to_(out_) {}

  std::string run() {
    describe_tracks();
    intern();
    for (const TraceSpan& span : trace_.executions) {
      const std::uint64_t track = kExecutions + static_cast<std::uint32_t>(span.pid);
      events_.push_back({span.begin, track, kSliceBegin, span.name + " " + span.id.substr(0, 8)});
      events_.push_back({span.end, track, kSliceEnd, {}});
    }
    add_operator_slices();
    add_counters();
    write_events();
    for (const TraceSample& sample : trace_.samples) add_sample(sample);
    return std::move(out_);
  }

 private:
  static constexpr std::uint64_t kExecutions = std::uint64_t{1} << 40, kProcesses = std::uint64_t{2} << 40,
                                 kCounters = std::uint64_t{3} << 40;
  struct Event {
    TimeNs time;
    std::uint64_t track;
    std::int32_t type;
    std::string name;  // of a slice that begins
    double value = 0;  // of a counter
  };

  std::uint64_t thread_track(std::uint32_t thread) const { return thread + 1; }

  void describe_tracks() {
    std::map<std::int32_t, std::string> processes;
    for (const TraceThread& thread : trace_.threads) processes.emplace(thread.pid, thread.process);
    for (const auto& [pid, name] : processes) {
      pbf_writer packet = start();
      pbf_writer track(packet, packet::kTrackDescriptor);
      track.add_uint64(1, kProcesses + static_cast<std::uint32_t>(pid));
      pbf_writer process(track, 3);
      process.add_int32(1, pid);
      process.add_string(6, replace_non_utf8(name));
    }
    for (std::uint32_t i = 0; i < trace_.threads.size(); ++i) {
      const TraceThread& thread = trace_.threads[i];
      pbf_writer packet = start();
      pbf_writer track(packet, packet::kTrackDescriptor);
      track.add_uint64(1, thread_track(i));
      pbf_writer of(track, 4);
      of.add_int32(1, thread.pid);
      of.add_int32(2, thread.tid);
      of.add_string(5, replace_non_utf8(thread.thread));
    }
    std::map<std::int32_t, bool> with_executions;
    for (const TraceSpan& span : trace_.executions) with_executions[span.pid] = true;
    for (const auto& [pid, unused] : with_executions) {
      pbf_writer packet = start();
      pbf_writer track(packet, packet::kTrackDescriptor);
      track.add_uint64(1, kExecutions + static_cast<std::uint32_t>(pid));
      track.add_string(2, "executions");
      if (processes.contains(pid)) track.add_uint64(5, kProcesses + static_cast<std::uint32_t>(pid));
    }
  }

  pbf_writer start() {
    pbf_writer packet(to_, packet::kPacket);
    packet.add_uint32(packet::kSequence, kSequenceId);
    return packet;
  }

  // Names, frames and stacks; what readers of the sequence keep from here on.
  void intern() {
    pbf_writer packet = start();
    packet.add_uint32(packet::kSequenceFlags, kStateCleared);
    pbf_writer interned(packet, packet::kInterned);
    std::map<std::string, std::uint64_t> objects;
    for (const TraceFrame& frame : trace_.frames) objects.emplace(frame.object, objects.size() + 1);
    for (const auto& [object, id] : objects) {
      add_text(interned, 17, id, object.empty() ? "[query]" : object);
      pbf_writer mapping(interned, 19);
      mapping.add_uint64(1, id);
      mapping.add_uint64(7, id);
    }
    for (std::size_t i = 0; i < trace_.frames.size(); ++i) {
      add_text(interned, 5, i + 1, trace_.frames[i].name);
      pbf_writer frame(interned, 6);
      frame.add_uint64(1, i + 1);
      frame.add_uint64(2, i + 1);
      frame.add_uint64(3, objects.at(trace_.frames[i].object));
    }
    std::vector<bool> used(trace_.nodes.size());
    for (const TraceSample& sample : trace_.samples) used[sample.node] = true;
    std::vector<std::uint64_t> stack;
    for (std::uint32_t node = 1; node < trace_.nodes.size(); ++node) {
      if (!used[node]) continue;
      stack.clear();
      for (std::uint32_t at = node; at != 0; at = trace_.nodes[at].parent)
        stack.push_back(trace_.nodes[at].frame + 1);
      std::ranges::reverse(stack);
      pbf_writer callstack(interned, 7);
      callstack.add_uint64(1, node);
      for (const std::uint64_t frame : stack) callstack.add_uint64(2, frame);
    }
  }

  static void add_text(pbf_writer& to, protozero::pbf_tag_type field, std::uint64_t id,
                       const std::string& text) {
    pbf_writer entry(to, field);
    entry.add_uint64(1, id);
    entry.add_string(2, replace_non_utf8(text));
  }

  // Samples of a thread in a row with one owner are a slice, each sample as long as to the next, or as its
  // weight.
  void add_operator_slices() {
    struct Open {
      TimeNs begin = 0, end = 0;
      std::string name;
    };
    std::map<std::uint32_t, Open> open;
    const auto close = [&](std::uint32_t thread, const Open& each) {
      events_.push_back({each.begin, thread_track(thread), kSliceBegin, each.name});
      events_.push_back({each.end, thread_track(thread), kSliceEnd, {}});
    };
    for (const TraceSample& sample : trace_.samples) {
      const TraceSource& source = trace_.sources[sample.source];
      if (source.off_cpu || source.unit != "nanoseconds") continue;
      std::string name = owner_of(sample.node);
      const TimeNs end = sample.time,
                   begin = end - static_cast<TimeNs>(std::min<std::uint64_t>(sample.weight, 1u << 30));
      Open& lane = open[sample.thread];
      // Gaps of less than one more sample are none.
      const TimeNs slack = end - begin;
      if (!lane.name.empty() && lane.name == name && begin - lane.end <= slack) {
        lane.end = end;
        continue;
      }
      if (!lane.name.empty()) close(sample.thread, lane);
      lane = {lane.name.empty() ? begin : std::max(begin, lane.end), end, std::move(name)};
      lane.begin = std::min(lane.begin, lane.end);
    }
    for (const auto& [thread, lane] : open) close(thread, lane);
  }

  // The innermost frame that is no function, but for the process.
  std::string owner_of(std::uint32_t node) const {
    for (; node != 0; node = trace_.nodes[node].parent) {
      const TraceFrame& frame = trace_.frames[trace_.nodes[node].frame];
      if (frame.kind == TraceFrame::Kind::kOperator || frame.kind == TraceFrame::Kind::kEngine ||
          frame.kind == TraceFrame::Kind::kNobody)
        return frame.name;
    }
    return "[no plan]";
  }

  // Tracks of their own below the process.
  void add_counters() {
    std::uint64_t track = kCounters;
    for (const BusyCounter& counter : busy_counters(trace_)) {
      pbf_writer packet = start();
      pbf_writer descriptor(packet, packet::kTrackDescriptor);
      descriptor.add_uint64(1, ++track);
      descriptor.add_uint64(5, kProcesses + static_cast<std::uint32_t>(counter.pid));
      descriptor.add_string(2, replace_non_utf8(counter.name));
      pbf_writer kind(descriptor, 8);
      kind.add_string(6, "CPUs");
      for (const BusyCounter::Value& value : counter.values)
        events_.push_back({value.from, track, kCounter, {}, value.cpus});
    }
  }

  // In the order of time; at one time ends before begins.
  void write_events() {
    std::ranges::stable_sort(events_, {},
                             [](const Event& each) { return std::pair(each.time, each.type != kSliceEnd); });
    for (const Event& each : events_) {
      pbf_writer packet = start();
      packet.add_uint64(packet::kTimestamp, static_cast<std::uint64_t>(std::max<TimeNs>(each.time, 0)));
      pbf_writer event(packet, packet::kTrackEvent);
      event.add_int32(9, each.type);
      event.add_uint64(11, each.track);
      if (each.type == kSliceBegin) event.add_string(23, replace_non_utf8(each.name));
      if (each.type == kCounter) event.add_double(44, each.value);
    }
  }

  void add_sample(const TraceSample& sample) {
    const TraceThread& thread = trace_.threads[sample.thread];
    pbf_writer packet = start();
    packet.add_uint64(packet::kTimestamp, static_cast<std::uint64_t>(std::max<TimeNs>(sample.time, 0)));
    packet.add_uint32(packet::kSequenceFlags, kNeedsState);
    pbf_writer of(packet, packet::kPerfSample);
    of.add_uint32(2, static_cast<std::uint32_t>(thread.pid));
    of.add_uint32(3, static_cast<std::uint32_t>(thread.tid));
    const bool kernel =
        sample.node != 0 && trace_.frames[trace_.nodes[sample.node].frame].kind == TraceFrame::Kind::kKernel;
    of.add_int32(5, kernel ? 1 : 2);
    of.add_uint64(6, sample.weight);
    if (sample.node != 0) of.add_uint64(4, sample.node);
  }

  const Trace& trace_;
  std::string out_;
  pbf_writer to_;
  std::vector<Event> events_;
};

}  // namespace

std::string write_perfetto(const Trace& trace) {
  return Writing(trace).run();
}

}  // namespace tailor::formats
