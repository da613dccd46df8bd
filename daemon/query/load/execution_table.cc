#include "daemon/query/load/execution_table.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <tuple>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/blockers.h"

namespace tailor::query {

namespace {

// Slots of a line of the cache.
constexpr std::size_t kLine = 16;
// What a map has besides each of its values, and a shared pointer besides its own.
constexpr std::size_t kNodeBytes = 96;

// The finaliser of splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

// Where to look after `slot`: at the same place of the next line, so that a line full of others costs one
// look, not as many as it has slots. Behind the last line, at the next place: else only one of each would be
// used.
std::size_t next_slot(std::size_t slot, std::size_t mask) {
  slot += kLine;
  return slot <= mask ? slot : (slot + 1) & mask;
}

// One multiplication for eight bytes: half of its result depends on all bits that came before.
std::uint64_t mix_in(std::uint64_t hash, std::uint64_t bytes) {
  const auto product = static_cast<unsigned __int128>(hash ^ bytes) * 0x9E3779B97F4A7C15;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t mix_in(std::uint64_t hash, std::string_view text) {
  hash = mix_in(hash, text.size() + 1);
  for (; text.size() >= sizeof hash; text.remove_prefix(sizeof hash)) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data(), sizeof bytes);
    hash = mix_in(hash, bytes);
  }
  std::uint64_t last = 0;
  std::memcpy(&last, text.data(), text.size());
  return mix_in(hash, last);
}

}  // namespace

template <typename Said>
std::size_t ExecutionTable::RestHash::operator()(const Said& said) const {
  const unsigned flags = said.rows_known + 2u * said.drawn + 4u * said.tags_off;
  std::uint64_t hash = mix_in(mix(seed + said.plan), std::uint64_t{said.uid.value_or(0)} << 3 | flags);
  hash = mix_in(hash, std::string_view(said.error));
  for (const auto& [key, value] : said.labels)
    hash = mix_in(mix_in(hash, std::string_view(key)), std::string_view(value));
  return mix(hash);
}

ExecutionTable::ExecutionTable()
    : seed_(std::uint64_t{std::random_device()()} << 32 | std::random_device()()),
      slots_(1024),
      rest_numbers_(16, RestHash{seed_}) {}

std::uint64_t ExecutionTable::hash(std::uint64_t seed, std::uint32_t process, ExecutionHandle handle) {
  return mix(mix(handle / kLine + seed) + process + seed) ^ handle % kLine;
}

std::size_t ExecutionTable::slot_of(std::uint32_t process, ExecutionHandle handle) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash(seed_, process, handle) & mask;; slot = next_slot(slot, mask)) {
    if (slots_[slot] == 0) return slot;
    const Row& row = rows_[slots_[slot] - 1];
    if (row.handle == handle && row.process == process) return slot;
  }
}

// No two rows are of one execution, so none is looked at.
void ExecutionTable::grow() {
  slots_.assign(slots_.size() * 2, 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    std::size_t slot = hash(seed_, rows_[i].process, rows_[i].handle) & mask;
    while (slots_[slot] != 0) slot = next_slot(slot, mask);
    slots_[slot] = i + 1;
  }
}

// Executions that follow each other are mostly of one process, and often of one query.
std::uint32_t ExecutionTable::process_number(ProcessId process) {
  if (!processes_.empty() && processes_[process_] == process) return process_;
  const auto [it, added] =
      process_numbers_.try_emplace(process, static_cast<std::uint32_t>(processes_.size()));
  if (added) processes_.push_back(process);
  return process_ = it->second;
}

std::uint32_t ExecutionTable::rest_number(const profile::ExecutionRecord& execution) {
  if (!rests_.empty() && RestEqual()(*rests_[rest_], execution)) return rest_;
  const auto known = rest_numbers_.find(execution);
  if (known != rest_numbers_.end()) return rest_ = known->second;
  rest_ = static_cast<std::uint32_t>(rests_.size());
  Rest rest{execution.plan,     execution.uid,   execution.rows_known, execution.drawn,
            execution.tags_off, execution.error, execution.labels};
  rests_.push_back(&rest_numbers_.emplace(std::move(rest), rest_).first->first);
  rest_bytes_ += 192 + execution.error.size();
  for (const auto& [key, value] : execution.labels) rest_bytes_ += 96 + key.size() + value.size();
  return rest_;
}

void ExecutionTable::add(const profile::ExecutionRecord& execution) {
  const std::uint32_t process = process_number(execution.process);
  // What is said of an execution a second time, that it ended, mostly comes soon after the first.
  std::uint32_t& recent = recent_[execution.handle % recent_.size()];
  const bool again =
      recent < rows_.size() && rows_[recent].handle == execution.handle && rows_[recent].process == process;
  const bool the_same = again && RestEqual()(*rests_[rows_[recent].rest], execution);
  const Row row{.handle = execution.handle,
                .begin = execution.begin,
                .end = execution.end,
                .heard = execution.heard,
                .rows = execution.rows,
                .id = execution.id,
                .process = process,
                .rest = the_same ? rows_[recent].rest : rest_number(execution)};
  if (!again) recent = number_of(process, execution.handle);
  rows_[recent] = row;
  note_added(recent, execution);
  note_blockers(recent, execution);
}

void ExecutionTable::note_added(std::uint32_t row, const profile::ExecutionRecord& execution) {
  if (const auto known = added_.find(row); known != added_.end()) {
    added_bytes_ -= kNodeBytes + profile::bytes_of(*known->second);
    added_.erase(known);
  }
  if (execution.added == nullptr) return;
  added_bytes_ += kNodeBytes + profile::bytes_of(*execution.added);
  added_[row] = execution.added;
}

void ExecutionTable::note_blockers(std::uint32_t row, const profile::ExecutionRecord& execution) {
  const auto bytes = [](const profile::Blockers& blockers) {
    return kNodeBytes + sizeof blockers + blockers.seen.size() * sizeof(profile::Blocker);
  };
  if (const auto known = blockers_.find(row); known != blockers_.end()) {
    blockers_bytes_ -= bytes(*known->second);
    blockers_.erase(known);
  }
  if (execution.blockers == nullptr) return;
  blockers_bytes_ += bytes(*execution.blockers);
  blockers_[row] = execution.blockers;
}

// The row of it: a new one where there is none.
std::uint32_t ExecutionTable::number_of(std::uint32_t process, ExecutionHandle handle) {
  const std::size_t slot = slot_of(process, handle);
  if (slots_[slot] != 0) return slots_[slot] - 1;
  const auto number = static_cast<std::uint32_t>(rows_.size());
  slots_[slot] = number + 1;
  Row row{};
  row.handle = handle;
  row.process = process;
  rows_.push_back(row);
  if (rows_.size() * 2 > slots_.size()) grow();
  return number;
}

bool ExecutionTable::before(const Row& left, const Row& right) const {
  return std::tie(left.begin, processes_[left.process], left.handle) <
         std::tie(right.begin, processes_[right.process], right.handle);
}

void ExecutionTable::sort() {
  bool sorted = true;
  for (std::size_t i = 1; sorted && i < rows_.size(); ++i) sorted = !before(rows_[i], rows_[i - 1]);
  if (sorted) return;
  order_.resize(rows_.size());
  std::iota(order_.begin(), order_.end(), 0u);
  std::ranges::sort(order_, [this](std::uint32_t a, std::uint32_t b) { return before(rows_[a], rows_[b]); });
}

std::size_t ExecutionTable::bytes() const {
  return rows_.size() * (sizeof(Row) + sizeof(std::uint32_t)) + slots_.size() * sizeof(std::uint32_t) +
         rest_bytes_ + added_bytes_ + blockers_bytes_ + processes_.size() * 128;
}

bool ExecutionTable::has_not_drawn() const {
  return std::ranges::any_of(rests_, [](const Rest* rest) { return !rest->drawn; });
}

std::optional<std::uint32_t> ExecutionTable::row_of(ProcessId process, ExecutionHandle handle) const {
  const auto number = process_numbers_.find(process);
  if (number == process_numbers_.end()) return std::nullopt;
  const std::uint32_t found = slots_[slot_of(number->second, handle)];
  return found == 0 ? std::nullopt : std::optional(found - 1);
}

profile::ExecutionRecord ExecutionTable::record(std::uint32_t number) const {
  const Row& row = rows_[number];
  const Rest& rest = *rests_[row.rest];
  profile::ExecutionRecord out;
  out.process = processes_[row.process];
  out.handle = row.handle;
  out.id = row.id;
  out.plan = rest.plan;
  out.begin = row.begin;
  out.end = row.end;
  out.heard = row.heard;
  out.rows = row.rows;
  out.rows_known = rest.rows_known;
  out.drawn = rest.drawn;
  out.tags_off = rest.tags_off;
  out.uid = rest.uid;
  out.error = rest.error;
  out.labels = rest.labels;
  if (const auto added = added_.find(number); added != added_.end()) out.added = added->second;
  if (const auto held = blockers_.find(number); held != blockers_.end()) out.blockers = held->second;
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
  std::vector<bool> has(rests_.size());
  for (std::size_t i = 0; i < rests_.size(); ++i) {
    has[i] = std::ranges::any_of(rests_[i]->labels, [&](const auto& label) { return label.first == key; });
  }
  std::vector<profile::ExecutionRecord> found;
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    if (has[rows_[i].rest]) found.push_back(record(i));
  }
  return found;
}

ExecutionTable::ByIdentity ExecutionTable::with_ids(const std::set<ExecutionId>& ids) const {
  std::map<ByIdentity::key_type, std::uint32_t> first;
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    if (!ids.contains(rows_[i].id)) continue;
    const auto [known, added] = first.try_emplace({rows_[i].id, rests_[rows_[i].rest]->uid}, i);
    if (!added && rows_[i].heard < rows_[known->second].heard) known->second = i;
  }
  ByIdentity found;
  for (const auto& [key, row] : first) found.emplace(key, record(row));
  return found;
}

void ExecutionTable::visit(const std::function<void(const Brief&)>& use) const {
  auto added = added_.begin();  // by row, as the loop goes
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const Rest& rest = *rests_[row.rest];
    Brief brief{processes_[row.process], row.handle, rest.plan, rest.drawn, 1};
    if (added != added_.end() && added->first == i) brief.runs = (added++)->second->runs;
    use(brief);
  }
}

std::optional<PlanId> ExecutionTable::plan_of(ProcessId process, ExecutionHandle handle) const {
  const auto row = row_of(process, handle);
  return row ? std::optional(rests_[rows_[*row].rest]->plan) : std::nullopt;
}

}  // namespace tailor::query
