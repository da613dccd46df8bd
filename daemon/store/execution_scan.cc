#include "daemon/store/execution_scan.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "daemon/store/crc32c.h"
#include "daemon/store/wire.h"
#include "proto/base/utf8.h"

namespace tailor::store {
namespace {

constexpr std::uint8_t varint_field(int number) {
  return static_cast<std::uint8_t>(number << 3);
}
constexpr std::uint8_t bytes_field(int number) {
  return static_cast<std::uint8_t>(number << 3 | 2);
}

// v1::MetaRecord
constexpr std::uint8_t kExecution = bytes_field(7);
// v1::Execution
constexpr std::uint8_t kProcess = bytes_field(1), kHandle = varint_field(2), kId = bytes_field(3),
                       kPlan = varint_field(4), kBegin = varint_field(5), kEnd = varint_field(6),
                       kEnded = varint_field(7), kRows = varint_field(8), kError = bytes_field(9),
                       kLabel = bytes_field(10), kHeard = varint_field(11), kRowsUnknown = varint_field(12),
                       kUid = varint_field(14), kWallBegin = varint_field(15);
// Longer texts are read each time: 256 of them are kept.
constexpr std::size_t kMostKeptBytes = 1024;
// v1::ProcessRef and v1::Label
constexpr std::uint8_t kPid = varint_field(1), kStart = varint_field(2);
constexpr std::uint8_t kKey = bytes_field(1), kValue = bytes_field(2);

bool scan_process(std::string_view bytes, ProcessId& out) {
  WireReader in(bytes);
  std::uint64_t pid = 0, start = 0;
  for (std::uint8_t before = 0; !in.done();) {
    const std::uint8_t tag = in.tag();
    if (tag <= std::exchange(before, tag)) return false;
    if (tag != kPid && tag != kStart) return false;
    if (!in.varint(tag == kPid ? pid : start)) return false;
  }
  out = {static_cast<std::int32_t>(pid), start};
  return true;
}

bool scan_label(std::string_view bytes, std::pair<std::string, std::string>& out) {
  WireReader in(bytes);
  for (std::uint8_t before = 0; !in.done();) {
    const std::uint8_t tag = in.tag();
    if (tag <= std::exchange(before, tag)) return false;
    std::string_view text;
    if ((tag != kKey && tag != kValue) || !in.bytes(text) || !is_utf8(text)) return false;
    (tag == kKey ? out.first : out.second) = text;
  }
  return true;
}

}  // namespace

std::string_view execution_in(std::string_view record) {
  WireReader in(record);
  std::string_view execution;
  if (in.done() || in.tag() != kExecution || !in.bytes(execution) || !in.done()) return {};
  return execution;
}

void ExecutionScanner::exchange(Texts& texts) {
  record_.error.swap(texts.error);
  record_.labels.swap(texts.labels);
}

// Fields 9 and 10, which follow each other.
bool ExecutionScanner::scan_texts(std::string_view bytes) {
  if (lent_ != nullptr) exchange(*std::exchange(lent_, nullptr));
  Texts& texts =
      known_[crc32c({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}) % kKnownTexts];
  if (texts.bytes != bytes) {
    texts = {};
    for (WireReader in(bytes); !in.done();) {
      const bool error = in.tag() == kError;
      std::string_view text;
      if (!in.bytes(text) || !(error ? is_utf8(text) : scan_label(text, texts.labels.emplace_back()))) {
        texts = {};
        return false;
      }
      if (error) texts.error = text;
    }
    if (bytes.size() <= kMostKeptBytes) texts.bytes = bytes;
  }
  exchange(texts);
  lent_ = &texts;
  return true;
}

const profile::ExecutionRecord* ExecutionScanner::scan(std::string_view bytes) {
  WireReader in(bytes);
  std::string_view process, id, skipped;
  std::uint64_t handle = 0, plan = 0, ended = 0, rows = 0, rows_unknown = 0, uid = 0, wall_begin = 0;
  std::int64_t begin = 0, end = 0, heard = 0;
  bool has_uid = false, good = true;
  const char *texts = nullptr, *texts_end = nullptr;
  for (std::uint8_t before = 0; good && !in.done();) {
    const char* field = in.position();
    const std::uint8_t tag = in.tag();
    good = tag > before || (tag == kLabel && before == kLabel);
    before = tag;
    switch (tag) {
      case kProcess:
        good = good && in.bytes(process);
        break;
      case kHandle:
        good = good && in.varint(handle);
        break;
      case kId:
        good = good && in.bytes(id);
        break;
      case kPlan:
        good = good && in.varint(plan);
        break;
      case kBegin:
        good = good && in.zigzag(begin);
        break;
      case kEnd:
        good = good && in.zigzag(end);
        break;
      case kEnded:
        good = good && in.varint(ended);
        break;
      case kRows:
        good = good && in.varint(rows);
        break;
      case kError:
      case kLabel:
        if (texts == nullptr) texts = field;
        good = good && in.bytes(skipped);
        texts_end = in.position();
        break;
      case kHeard:
        good = good && in.zigzag(heard);
        break;
      case kRowsUnknown:
        good = good && in.varint(rows_unknown);
        break;
      case kUid:
        has_uid = true;
        good = good && in.varint(uid);
        break;
      case kWallBegin:
        good = good && in.varint(wall_begin);
        break;
      default:
        good = false;
    }
  }
  if (!good || id.size() != record_.id.bytes.size() || !scan_process(process, record_.process))
    return nullptr;
  if (!scan_texts({texts, static_cast<std::size_t>(texts_end - texts)})) return nullptr;
  record_.handle = handle;
  std::copy(id.begin(), id.end(), record_.id.bytes.begin());
  record_.plan = plan;
  record_.begin = begin;
  record_.end = ended != 0 ? end : kTimeMax;
  record_.heard = heard;
  record_.rows = rows;
  record_.rows_known = rows_unknown == 0;
  record_.uid.reset();
  if (has_uid) record_.uid = static_cast<std::uint32_t>(uid);
  record_.wall_begin_ns = wall_begin;
  return &record_;
}

}  // namespace tailor::store
