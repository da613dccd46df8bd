#include "daemon/query/execution_table.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>

namespace tailor::query {

ExecutionTable::ExecutionTable()
    : seed_(std::uint64_t{std::random_device()()} << 32 | std::random_device()()), slots_(1024) {}

// The finaliser of splitmix64 (Steele, Lea, Flood 2014), once for each word.
std::uint64_t ExecutionTable::hash(std::uint64_t seed, std::uint32_t process, ExecutionHandle handle) {
  const auto mix = [](std::uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
  };
  return mix(mix(handle + seed) + process + seed);
}

std::size_t ExecutionTable::slot_of(std::uint32_t process, ExecutionHandle handle) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash(seed_, process, handle) & mask;
  for (;; slot = (slot + 1) & mask) {
    if (slots_[slot] == 0) return slot;
    const Row& row = rows_[slots_[slot] - 1];
    if (row.handle == handle && row.process == process) return slot;
  }
}

void ExecutionTable::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::uint32_t i = 0; i < rows_.size(); ++i) slots_[slot_of(rows_[i].process, rows_[i].handle)] = i + 1;
}

// Executions that follow each other are mostly of one process, and often of one query.
std::uint32_t ExecutionTable::process_number(ProcessId process) {
  if (!processes_.empty() && processes_[process_] == process) return process_;
  const auto [it, added] =
      process_numbers_.try_emplace(process, static_cast<std::uint32_t>(processes_.size()));
  if (added) processes_.push_back(process);
  return process_ = it->second;
}

std::uint32_t ExecutionTable::text_number(const profile::ExecutionRecord& execution) {
  const std::pair<const std::string&, const Labels&> text(execution.error, execution.labels);
  if (!texts_.empty() && texts_[text_]->first == text.first && texts_[text_]->second == text.second)
    return text_;
  const auto known = text_numbers_.find(text);
  if (known != text_numbers_.end()) return text_ = known->second;
  text_ = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(&text_numbers_.emplace(Text(text), text_).first->first);
  text_bytes_ += 192 + execution.error.size();
  for (const auto& [key, value] : execution.labels) text_bytes_ += 96 + key.size() + value.size();
  return text_;
}

void ExecutionTable::add(const profile::ExecutionRecord& execution) {
  const std::uint32_t process = process_number(execution.process);
  Row row{.handle = execution.handle, .plan = execution.plan, .begin = execution.begin, .end = execution.end};
  row.heard = execution.heard;
  row.rows = execution.rows;
  row.rows_known = execution.rows_known;
  row.id = execution.id;
  row.process = process;
  row.text = text_number(execution);
  row.uid = execution.uid;
  const std::size_t slot = slot_of(process, execution.handle);
  if (slots_[slot] != 0) {
    rows_[slots_[slot] - 1] = row;
    return;
  }
  rows_.push_back(row);
  slots_[slot] = static_cast<std::uint32_t>(rows_.size());
  if (rows_.size() * 2 > slots_.size()) grow();
}

void ExecutionTable::sort() {
  order_.resize(rows_.size());
  std::iota(order_.begin(), order_.end(), 0u);
  const auto before = [this](std::uint32_t a, std::uint32_t b) {
    const Row &left = rows_[a], &right = rows_[b];
    return std::tie(left.begin, processes_[left.process], left.handle) <
           std::tie(right.begin, processes_[right.process], right.handle);
  };
  if (!std::ranges::is_sorted(order_, before)) std::ranges::sort(order_, before);
}

std::size_t ExecutionTable::bytes() const {
  return rows_.size() * (sizeof(Row) + sizeof(std::uint32_t)) + slots_.size() * sizeof(std::uint32_t) +
         text_bytes_ + processes_.size() * 128;
}

std::optional<std::uint32_t> ExecutionTable::row_of(ProcessId process, ExecutionHandle handle) const {
  const auto number = process_numbers_.find(process);
  if (number == process_numbers_.end()) return std::nullopt;
  const std::uint32_t found = slots_[slot_of(number->second, handle)];
  return found == 0 ? std::nullopt : std::optional(found - 1);
}

profile::ExecutionRecord ExecutionTable::record(std::uint32_t number) const {
  const Row& row = rows_[number];
  profile::ExecutionRecord out;
  out.process = processes_[row.process];
  out.handle = row.handle;
  out.id = row.id;
  out.plan = row.plan;
  out.begin = row.begin;
  out.end = row.end;
  out.heard = row.heard;
  out.rows = row.rows;
  out.rows_known = row.rows_known != 0;
  out.uid = row.uid;
  std::tie(out.error, out.labels) = *texts_[row.text];
  return out;
}

const profile::ExecutionRecord* ExecutionTable::find(ProcessId process, ExecutionHandle handle) const {
  const auto row = row_of(process, handle);
  if (!row) return nullptr;
  std::lock_guard lock(mutex_);
  const auto [it, added] = made_.try_emplace(*row);
  if (added) it->second = record(*row);
  return &it->second;
}

std::vector<profile::ExecutionRecord> ExecutionTable::labelled(std::string_view key) const {
  std::vector<bool> has(texts_.size());
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    has[i] = std::ranges::any_of(texts_[i]->second, [&](const auto& label) { return label.first == key; });
  }
  std::vector<profile::ExecutionRecord> found;
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    if (has[rows_[i].text]) found.push_back(record(i));
  }
  return found;
}

ExecutionTable::ByIdentity ExecutionTable::with_ids(const std::set<ExecutionId>& ids) const {
  std::map<ByIdentity::key_type, std::uint32_t> first;
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    if (!ids.contains(rows_[i].id)) continue;
    const auto [known, added] = first.try_emplace({rows_[i].id, rows_[i].uid}, i);
    if (!added && rows_[i].heard < rows_[known->second].heard) known->second = i;
  }
  ByIdentity found;
  for (const auto& [key, row] : first) found.emplace(key, record(row));
  return found;
}

std::optional<PlanId> ExecutionTable::plan_of(ProcessId process, ExecutionHandle handle) const {
  const auto row = row_of(process, handle);
  return row ? std::optional(rows_[*row].plan) : std::nullopt;
}

}  // namespace tailor::query
