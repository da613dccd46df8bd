#include "agent/live_set.h"

#include <string>

namespace tailor::agent {

LiveSet::Outcome LiveSet::Apply(const MessageView& message) {
  const MessageHead& head = message.head;
  switch (head.kind) {
    case MessageKind::kThreadRemove:
      return End(MessageKind::kThreadAdd, head.key);
    case MessageKind::kPlanUnload:
      EndOwned(head.key);
      return End(MessageKind::kPlanLoad, head.key);
    case MessageKind::kCodeUnload:
      return End(MessageKind::kCodeLoad, head.key);
    case MessageKind::kExecutionEnd:
      return End(MessageKind::kExecutionBegin, head.key);
    default:
      return Keep(message);
  }
}

LiveSet::Outcome LiveSet::Keep(const MessageView& message) {
  const MessageHead& head = message.head;
  // Said again: the newer word counts. There is only one barrier, the last.
  if (head.kind == MessageKind::kBarrier) {
    EndBarrier(head.key);
  } else {
    End(head.kind, head.key);
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

LiveSet::Outcome LiveSet::End(MessageKind begin, std::uint64_t key) {
  auto index = index_.find(begin);
  if (index == index_.end()) return Outcome::kNothing;
  auto found = index->second.find(key);
  if (found == index->second.end()) return Outcome::kNothing;
  Erase(found->second);
  return Outcome::kEnded;
}

void LiveSet::EndOwned(std::uint64_t owner) {
  auto found = owned_.find(owner);
  if (found == owned_.end()) return;
  std::vector<Order> orders = std::move(found->second);
  owned_.erase(found);
  for (Order order : orders) Erase(order);
}

void LiveSet::Erase(Order order) {
  auto entry = entries_.find(order);
  if (entry == entries_.end()) return;
  bytes_ -= entry->second.bytes.size();
  index_[entry->second.head.kind].erase(entry->second.head.key);
  entries_.erase(entry);
}

void LiveSet::KeepThreadsOnly() {
  for (auto it = entries_.begin(); it != entries_.end();) {
    auto next = std::next(it);
    if (it->second.head.kind != MessageKind::kThreadAdd) Erase(it->first);
    it = next;
  }
  owned_.clear();
}

void LiveSet::Forget(MessageKind kind) noexcept {
  auto index = index_.find(kind);
  if (index == index_.end()) return;
  while (!index->second.empty()) Erase(index->second.begin()->second);
}

void LiveSet::EndBarrier(std::uint64_t sequence) {
  auto index = index_.find(MessageKind::kBarrier);
  if (index == index_.end()) return;
  while (!index->second.empty() && index->second.begin()->first <= sequence) {
    Erase(index->second.begin()->second);
  }
}

}  // namespace tailor::agent
