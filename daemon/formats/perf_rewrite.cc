#include "daemon/formats/perf_rewrite.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "daemon/formats/perf_fields.h"

namespace tailor::formats {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
// One for each event and thread at most, where threads count apart.
constexpr std::size_t kMostCounts = std::size_t{1} << 21;

std::uint64_t word_at(PerfBytes bytes, std::size_t word) {
  std::uint64_t value;
  std::memcpy(&value, bytes.data() + word * kWord, kWord);
  return value;
}

void put_bytes(std::vector<std::byte>& out, PerfBytes bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}
void put_word(std::vector<std::byte>& out, std::uint64_t word) {
  put_bytes(out, std::as_bytes(std::span(&word, 1)));
}

// Fields of a sample, in their order, in front of what may have any size.
constexpr std::uint64_t kBeforeTime = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;
constexpr std::uint64_t kHead = kBeforeTime | kFieldsBeforeId | PERF_SAMPLE_ID | kFieldsAfterId;

}  // namespace

struct PerfRewriter::Sample {
  PerfBytes head;  // up to the time, or up to where it would be
  std::uint64_t time = 0;
  PerfBytes middle;  // behind the time, up to the CPU
  std::uint64_t period = 0;
  bool has_period = false;
  PerfBytes counts;  // of members, whole entries
  std::size_t members = 0, words_each = 0;
  std::size_t id_at = 0;  // in the entry of a member, in words
  PerfBytes rest;
  std::uint64_t id = 0;  // of the event it is to be of; 0: as it says itself
  std::uint32_t thread = 0;
};

perf_event_attr PerfRewriter::rewritten(const perf_event_attr& attr) {
  perf_event_attr out = attr;
  out.sample_type |= PERF_SAMPLE_TIME;
  if (attr.sample_type & PERF_SAMPLE_READ) {
    out.sample_type &= ~std::uint64_t{PERF_SAMPLE_READ};
    out.sample_type |= PERF_SAMPLE_PERIOD;
  }
  return out;
}

void PerfRewriter::set_events(const std::vector<PerfAttr>& events) {
  formats_.clear();
  event_of_.clear();
  any_group_ = any_timeless_ = any_timed_ = false;
  for (const PerfAttr& event : events) {
    const Format& format =
        formats_.emplace_back(Format{event.attr.sample_type, event.attr.read_format,
                                     event.attr.sample_id_all != 0, event.attr.inherit != 0});
    any_group_ = any_group_ || format.group();
    (format.timeless() ? any_timeless_ : any_timed_) = true;
  }
  for (std::size_t i = 0; needed() && i < events.size(); ++i) event_of_.add(events[i]);
}

// NULL: of no event that is known.
const PerfRewriter::Format* PerfRewriter::format_of(const perf_event_header& header,
                                                    PerfBytes payload) const {
  const std::optional<std::size_t> event = event_of_.of(header, payload);
  return event ? &formats_[*event] : nullptr;
}

// False where it does not fit its own sizes.
bool PerfRewriter::take_apart(const Format& format, PerfBytes payload, Sample& out) const {
  PerfCursor cursor(payload);
  out.head = cursor.take(perf_fields(format.type, kBeforeTime) * kWord);
  out.time = format.timeless() ? 0 : cursor.fixed<std::uint64_t>();
  out.middle =
      cursor.take(perf_fields(format.type, kHead & ~kBeforeTime & ~std::uint64_t{PERF_SAMPLE_TIME}) * kWord);
  out.has_period = format.type & PERF_SAMPLE_PERIOD;
  if (out.has_period) out.period = cursor.fixed<std::uint64_t>();
  if (cursor.ok() && format.type & PERF_SAMPLE_TID)
    out.thread = static_cast<std::uint32_t>(word_at(out.head, out.head.size() / kWord - 1) >> 32);
  if (format.group()) {
    const bool several = format.read_format & PERF_FORMAT_GROUP;
    const auto times =
        perf_fields(format.read_format, PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
    out.words_each = 1 + perf_fields(format.read_format, PERF_FORMAT_ID | PERF_FORMAT_LOST);
    std::uint64_t members = 1;
    if (several) {
      members = cursor.fixed<std::uint64_t>();
      cursor.take(times * kWord);
    }
    if (members > cursor.rest().size() / kWord) return false;
    out.members = static_cast<std::size_t>(members);
    // A single count has its times between itself and its id.
    out.id_at = (several ? 0 : times) + 1;
    out.counts = cursor.take((members * out.words_each + (several ? 0 : times)) * kWord);
  }
  out.rest = cursor.rest();
  return cursor.ok();
}

std::uint64_t PerfRewriter::counted_since(const Key& key, std::uint64_t value) {
  const auto known = last_.find(key);
  if (known == last_.end()) {
    if (last_.size() >= kMostCounts) {
      ++unknown_members_;
      return 0;
    }
    last_.emplace(key, value);
    return value;
  }
  // A counter that was set back begins again.
  const std::uint64_t before = std::exchange(known->second, value);
  return value >= before ? value - before : value;
}

std::uint64_t PerfRewriter::member_id(const Sample& sample, std::size_t member) {
  return word_at(sample.counts, member * sample.words_each + sample.id_at);
}

// As the kernel has it. A sample that names a member again and again would become as many samples, each with
// the whole call chain.
bool PerfRewriter::each_member_once(const Sample& sample) {
  if (only_event() && sample.members > 1) return false;
  ids_.clear();
  for (std::size_t i = 0; i < sample.members; ++i) ids_.push_back(member_id(sample, i));
  std::ranges::sort(ids_);
  return std::ranges::adjacent_find(ids_) == ids_.end();
}

// What no member counted is no sample, as perf has it: the sample of the leader stands for what was counted.
void PerfRewriter::members(const perf_event_header& header, const Sample& sample, const Format& format,
                           std::vector<std::byte>& out) {
  const bool ids = format.read_format & PERF_FORMAT_ID;
  if (!ids) return put(header, sample, format, out);
  if (!each_member_once(sample)) {
    ++dropped_;
    return;
  }
  const std::size_t begin = out.size();
  for (std::size_t i = 0; i < sample.members; ++i) {
    const std::uint64_t id = member_id(sample, i);
    if (!only_event() && !event_of_.has_id(id)) {
      ++unknown_members_;
      continue;
    }
    Sample one = sample;
    one.id = id;
    one.has_period = true;
    one.period = counted_since({id, format.by_thread ? sample.thread : 0},
                               word_at(sample.counts, i * sample.words_each));
    if (one.period != 0) put(header, one, format, out);
    if (out.size() - begin <= kMostOfASample) continue;
    ++dropped_;
    out.resize(begin);
    return;
  }
}

void PerfRewriter::put(const perf_event_header& header, const Sample& sample, const Format& format,
                       std::vector<std::byte>& out) {
  const std::size_t begin = out.size();
  perf_event_header made = header;
  put_bytes(out, std::as_bytes(std::span(&made, 1)));
  const std::size_t payload = out.size();
  put_bytes(out, sample.head);
  put_word(out, sample.time);
  put_bytes(out, sample.middle);
  if (sample.has_period || format.group()) put_word(out, sample.period);
  put_bytes(out, sample.rest);
  if (out.size() - begin > std::numeric_limits<std::uint16_t>::max()) {
    ++dropped_;
    out.resize(begin);
    return;
  }
  made.size = static_cast<std::uint16_t>(out.size() - begin);
  std::memcpy(out.data() + begin, &made, sizeof made);
  if (sample.id == 0) return;
  if (format.type & PERF_SAMPLE_IDENTIFIER) std::memcpy(out.data() + payload, &sample.id, kWord);
  if (format.type & PERF_SAMPLE_ID) {
    const std::size_t before =
        perf_fields(format.type | PERF_SAMPLE_TIME, kFieldsBeforeId | PERF_SAMPLE_IDENTIFIER);
    std::memcpy(out.data() + payload + before * kWord, &sample.id, kWord);
  }
}

void PerfRewriter::sample(const perf_event_header& header, PerfBytes payload, const Format& format,
                          std::vector<std::byte>& out) {
  Sample parts;
  if (!take_apart(format, payload, parts)) {
    ++dropped_;
    return;
  }
  time_ = format.timeless() ? time_ + (any_timed_ ? 0 : 1) : parts.time;
  parts.time = time_;
  if (format.group()) return members(header, parts, format, out);
  put(header, parts, format, out);
}

// Beginnings and ends of threads have a time in front as well, by the kernel's clock.
void PerfRewriter::other(const perf_event_header& header, PerfBytes payload, const Format& format,
                         std::vector<std::byte>& out) {
  const std::size_t trailer = format.id_all ? perf_fields(format.type, kFieldsOfTrailer) * kWord : 0;
  const bool fits =
      payload.size() >= trailer && header.size + kWord <= std::numeric_limits<std::uint16_t>::max();
  if (!format.timeless() || !format.id_all || !fits) {
    put_bytes(out, std::as_bytes(std::span(&header, 1)));
    return put_bytes(out, payload);
  }
  time_ += any_timed_ ? 0 : 1;
  perf_event_header made = header;
  made.size = static_cast<std::uint16_t>(header.size + kWord);
  put_bytes(out, std::as_bytes(std::span(&made, 1)));
  const std::size_t begin = out.size();
  const std::size_t in_front =
      payload.size() - trailer + (format.type & PERF_SAMPLE_TID ? kWord : std::size_t{0});
  put_bytes(out, payload.first(in_front));
  put_word(out, time_);
  put_bytes(out, payload.subspan(in_front));
  const bool task = header.type == PERF_RECORD_FORK || header.type == PERF_RECORD_EXIT;
  const bool throttle = header.type == PERF_RECORD_THROTTLE || header.type == PERF_RECORD_UNTHROTTLE;
  const std::size_t own = task ? 2 * kWord : 0;
  if ((task || throttle) && payload.size() - trailer >= own + kWord && !any_timed_)
    std::memcpy(out.data() + begin + own, &time_, kWord);
}

void PerfRewriter::record(const perf_event_header& header, PerfBytes payload, std::vector<std::byte>& out) {
  const Format* format = format_of(header, payload);
  if (format == nullptr) {
    put_bytes(out, std::as_bytes(std::span(&header, 1)));
    put_bytes(out, payload);
  } else if (header.type == PERF_RECORD_SAMPLE) {
    sample(header, payload, *format, out);
  } else {
    other(header, payload, *format, out);
  }
}

std::size_t PerfRewriter::rewrite(PerfBytes records, std::vector<std::byte>& out, std::size_t enough) {
  PerfBytes rest = records;
  while (rest.size() >= sizeof(perf_event_header)) {
    perf_event_header header;
    std::memcpy(&header, rest.data(), sizeof header);
    if (header.size < sizeof header || header.size > rest.size()) break;
    record(header, rest.subspan(sizeof header, header.size - sizeof header), out);
    rest = rest.subspan(header.size);
    if (out.size() >= enough) return records.size() - rest.size();
  }
  put_bytes(out, rest);
  return records.size();
}

}  // namespace tailor::formats
