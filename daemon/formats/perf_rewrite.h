// Brings two kinds of records into the form of all others, so that nobody behind has to know of them:
//
// - Samples of a group of events (`perf record -e '{a,b}:S'`). Only the leader samples. Each of its samples
//   carries the counts of all members; it becomes one sample for each member that counted since the last one,
//   whose weight is what it counted.
// - Records without time (`perf record --per-thread`). Each gets the number of its place in the file, so that
//   a mapping holds for the samples that come behind it.
//
// Sans I/O; bytes are not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "daemon/formats/perf_event_of.h"
#include "daemon/formats/perf_file.h"

namespace tailor::formats {

class PerfRewriter {
 public:
  // Bytes that one sample of a group may become: those of a group with deep call chains are far below it.
  static constexpr std::size_t kMostOfASample = std::size_t{1} << 20;

  // Replaces the events. What members counted so far stays.
  void set_events(const std::vector<PerfAttr>& events);

  // False: records of these events are as they should be, and rewrite() would change none.
  bool needed() const { return any_group_ || any_timeless_; }
  // How the records of an event look behind.
  static perf_event_attr rewritten(const perf_event_attr& attr);

  // Appends what becomes of whole records. A sample that does not fit its own sizes becomes nothing. A record
  // may become much more than it was: where `out` has `enough` bytes it stops, behind one record at least.
  // Returns how many bytes it took.
  std::size_t rewrite(PerfBytes records, std::vector<std::byte>& out, std::size_t enough = SIZE_MAX);

  // No event has times: those of the records are their places in the file.
  bool timeless() const { return any_timeless_ && !any_timed_; }
  // Counts of members that no event has; samples that do not fit their own sizes, that count a member twice,
  // or that would grow beyond the largest size of a record, or all together beyond kMostOfASample.
  std::uint64_t unknown_members() const { return unknown_members_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Format {
    std::uint64_t type = 0, read_format = 0;
    bool id_all = false, by_thread = false;
    bool group() const { return (type & PERF_SAMPLE_READ) != 0; }
    bool timeless() const { return (type & PERF_SAMPLE_TIME) == 0; }
  };
  struct Sample;  // a sample in its parts
  struct Key {
    std::uint64_t id;
    std::uint32_t thread;  // 0: of all
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return key.id * 0x9E3779B97F4A7C15 ^ key.thread; }
  };

  const Format* format_of(const perf_event_header& header, PerfBytes payload) const;
  bool take_apart(const Format& format, PerfBytes payload, Sample& out) const;
  void sample(const perf_event_header& header, PerfBytes payload, const Format& format,
              std::vector<std::byte>& out);
  void members(const perf_event_header& header, const Sample& sample, const Format& format,
               std::vector<std::byte>& out);
  void put(const perf_event_header& header, const Sample& sample, const Format& format,
           std::vector<std::byte>& out);
  void other(const perf_event_header& header, PerfBytes payload, const Format& format,
             std::vector<std::byte>& out);
  void record(const perf_event_header& header, PerfBytes payload, std::vector<std::byte>& out);
  // No event has ids: all records are of the only one.
  bool only_event() const { return formats_.size() == 1 && !event_of_.any_ids(); }
  static std::uint64_t member_id(const Sample& sample, std::size_t member);
  bool each_member_once(const Sample& sample);
  std::uint64_t counted_since(const Key& key, std::uint64_t value);

  std::vector<Format> formats_;
  PerfEventOf event_of_;
  bool any_group_ = false, any_timeless_ = false, any_timed_ = false;
  std::unordered_map<Key, std::uint64_t, Hash> last_;  // counts of members
  std::vector<std::uint64_t> ids_;                     // of the members of one sample
  std::uint64_t time_ = 0;                             // of the record before
  std::uint64_t unknown_members_ = 0, dropped_ = 0;
};

}  // namespace tailor::formats
