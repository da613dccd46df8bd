#include "agent/label_sets.h"

#include <algorithm>
#include <functional>

#include "agent/connection.h"
#include "agent/encode.h"
#include "agent/message.h"
#include "agent/wire.h"

namespace tailor::agent {

namespace {

// Fields of ExecutionBegin.
constexpr std::uint32_t kHandle = 1, kId = 2, kPlan = 3, kLabel = 4, kTagsOff = 5, kLabelSet = 6,
                        kSetLabel = 7;

// Labels that differ from one execution of a statement to the next.
bool is_of_one_execution(std::string_view label) {
  std::string_view key;
  for (WireReader fields(label); fields.next();) {
    if (fields.field() == 1) key = fields.bytes();
  }
  return key == "trace_id" || key == "span_id" || key == "leader_execution";
}

}  // namespace

void LabelSets::begin(std::uint32_t sets) noexcept {
  count_ = std::min(sets, kMost);
  for (Set& set : sets_) set.used = 0;
  to_say_ = nullptr;
}

std::span<const char> LabelSets::shorten(std::span<const char> message) noexcept {
  to_say_ = nullptr;
  if (count_ == 0) return message;
  try {
    std::uint64_t tsc = 0;
    std::string_view body;
    for (WireReader fields({message.data(), message.size()}); fields.next();) {
      if (fields.field() == 1) tsc = fields.number();
      if (fields.field() == static_cast<std::uint32_t>(MessageKind::kExecutionBegin)) body = fields.bytes();
    }
    if (!gather(body)) return message;
    hash_ = std::hash<std::string_view>()(shared_);
    Set* set = find(hash_);
    const bool defines = set == nullptr;
    if (defines) {
      if (!was_seen(hash_)) return message;
      if (sets_.empty()) sets_.resize(kMost);
      to_say_ = set = &least_used();
    }
    if (!defines) set->used = ++uses_;
    out_.resize(message.size() + kFixedBound);
    write(tsc, body, static_cast<std::uint32_t>(set - sets_.data()) + 1, defines);
    if (out_size_ != 0) return {out_.data(), out_size_};
  } catch (...) {
    // Out of memory.
  }
  to_say_ = nullptr;
  return message;
}

bool LabelSets::gather(std::string_view body) {
  shared_.clear();
  GrowingWire all{GrowingMemory()};
  WireReader fields(body);
  while (fields.next()) {
    if (fields.field() > kTagsOff) return false;
    if (fields.field() == kLabel && !is_of_one_execution(fields.bytes()))
      all.bytes_even_if_empty(kSetLabel, fields.bytes());
  }
  shared_ = all.memory().take();
  return fields.ok() && !shared_.empty() && shared_.size() <= kMostBytes;
}

void LabelSets::write(std::uint64_t tsc, std::string_view body, std::uint32_t number, bool defines) {
  FixedWire wire{FixedMemory(out_)};
  encode_message(wire, MessageKind::kExecutionBegin, tsc, [&](FixedWire& to) {
    for (WireReader fields(body); fields.next();) {
      switch (fields.field()) {
        case kHandle:
        case kPlan:
        case kTagsOff:
          to.number(fields.field(), fields.number());
          break;
        case kId:
          to.bytes(kId, fields.bytes());
          break;
        case kLabel:
          if (is_of_one_execution(fields.bytes())) to.bytes_even_if_empty(kLabel, fields.bytes());
          break;
        default:
          break;
      }
    }
    to.number(kLabelSet, number);
    if (defines) to.raw(shared_);
  });
  const bool fits = wire.memory().complete() && wire.size() <= Connection::kMaxPacketBytes;
  out_size_ = fits ? wire.size() : 0;
}

void LabelSets::sent() noexcept {
  if (to_say_ == nullptr) return;
  to_say_->hash = hash_;
  to_say_->used = ++uses_;
  to_say_->labels.swap(shared_);
  to_say_ = nullptr;
}

LabelSets::Set* LabelSets::find(std::uint64_t hash) noexcept {
  for (std::size_t i = 0; i < std::min<std::size_t>(count_, sets_.size()); ++i) {
    Set& set = sets_[i];
    if (set.used != 0 && set.hash == hash && set.labels == shared_) return &set;
  }
  return nullptr;
}

LabelSets::Set& LabelSets::least_used() noexcept {
  return *std::min_element(sets_.begin(), sets_.begin() + count_,
                           [](const Set& a, const Set& b) { return a.used < b.used; });
}

bool LabelSets::was_seen(std::uint64_t hash) noexcept {
  std::uint64_t& known = seen_[hash % seen_.size()];
  if (known == hash) return true;
  known = hash;
  return false;
}

}  // namespace tailor::agent
