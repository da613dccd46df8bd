#include "agent/live_set.h"

#include <string>

namespace tailor::agent {

namespace {

// Threads may declare one thing at once, and others speak of it after the first time: that one is its place.
bool is_declaration(MessageKind kind) {
  return kind == MessageKind::kComponentDeclare || kind == MessageKind::kRegionKind;
}

}  // namespace

LiveSet::Outcome LiveSet::apply(const MessageView& message) {
  const MessageHead& head = message.head;
  switch (head.kind) {
    case MessageKind::kThreadRemove:
      return end(MessageKind::kThreadAdd, head.key);
    case MessageKind::kPlanUnload:
      end_owned(head.key);
      return end(MessageKind::kPlanLoad, head.key);
    case MessageKind::kCodeUnload:
      return end(MessageKind::kCodeLoad, head.key);
    case MessageKind::kExecutionEnd:
      return end(MessageKind::kExecutionBegin, head.key);
    case MessageKind::kBlocked:  // what was seen once, and is said again while it is seen
      return Outcome::kNothing;
    default:
      return keep(message);
  }
}

LiveSet::Outcome LiveSet::keep(const MessageView& message) {
  const MessageHead& head = message.head;
  // Said again: the newer message counts. There is only one barrier, the last.
  if (head.kind == MessageKind::kBarrier) {
    end_barrier(head.key);
  } else if (is_declaration(head.kind) && say_again(message)) {
    return Outcome::kKept;
  } else {
    end(head.kind, head.key);
  }
  if (bytes_ + message.bytes.size() > max_bytes_) return Outcome::kTooLarge;
  Entry entry{head, {message.bytes.begin(), message.bytes.end()}};
  Index& index = index_[head.kind];
  index.reserve(index.size() + 1);
  if (head.owner) owned_[head.owner].push_back(next_);
  auto [position, inserted] = index.emplace(head.key, next_);
  try {
    entries_.emplace(next_, std::move(entry));
  } catch (...) {
    index.erase(position);
    throw;
  }
  bytes_ += message.bytes.size();
  ++next_;
  return Outcome::kKept;
}

bool LiveSet::say_again(const MessageView& message) {
  const auto index = index_.find(message.head.kind);
  if (index == index_.end()) return false;
  const auto found = index->second.find(message.head.key);
  if (found == index->second.end()) return false;
  Entry& there = entries_.at(found->second);
  if (there.head.owner != message.head.owner) return false;
  const std::size_t others = bytes_ - there.bytes.size();
  if (others + message.bytes.size() > max_bytes_) return false;
  there.bytes.assign(message.bytes.begin(), message.bytes.end());
  there.head = message.head;
  bytes_ = others + message.bytes.size();
  return true;
}

LiveSet::Outcome LiveSet::end(MessageKind begin, std::uint64_t key) {
  auto index = index_.find(begin);
  if (index == index_.end()) return Outcome::kNothing;
  auto found = index->second.find(key);
  if (found == index->second.end()) return Outcome::kNothing;
  erase(found->second);
  return Outcome::kEnded;
}

void LiveSet::end_owned(std::uint64_t owner) {
  auto found = owned_.find(owner);
  if (found == owned_.end()) return;
  std::vector<Order> orders = std::move(found->second);
  owned_.erase(found);
  for (Order order : orders) erase(order);
}

void LiveSet::erase(Order order) {
  auto entry = entries_.find(order);
  if (entry == entries_.end()) return;
  bytes_ -= entry->second.bytes.size();
  index_[entry->second.head.kind].erase(entry->second.head.key);
  entries_.erase(entry);
}

void LiveSet::keep_threads_only() {
  for (auto it = entries_.begin(); it != entries_.end();) {
    auto next = std::next(it);
    if (it->second.head.kind != MessageKind::kThreadAdd) erase(it->first);
    it = next;
  }
  owned_.clear();
}

void LiveSet::forget(MessageKind kind) noexcept {
  auto index = index_.find(kind);
  if (index == index_.end()) return;
  while (!index->second.empty()) erase(index->second.begin()->second);
}

void LiveSet::end_barrier(std::uint64_t sequence) {
  auto index = index_.find(MessageKind::kBarrier);
  if (index == index_.end()) return;
  while (!index->second.empty() && index->second.begin()->first <= sequence) {
    erase(index->second.begin()->second);
  }
}

}  // namespace tailor::agent
