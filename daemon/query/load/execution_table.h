// The executions of a profile, of which there may be millions: a short row each, what is said of many once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/profile/sink.h"
#include "proto/base/ids.h"

namespace tailor::query {

// Filled, then sorted, then asked. Records are made anew for each question.
class ExecutionTable {
 public:
  ExecutionTable();

  // One that is known is replaced.
  void add(const profile::ExecutionRecord& execution);
  // After the last add().
  void sort();
  std::size_t bytes() const;

  // From here on after sort(); any number of threads.
  std::size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  // Whether there may be one that is not drawn.
  bool has_not_drawn() const;
  // By begin, then process and handle.
  profile::ExecutionRecord operator[](std::size_t position) const {
    return record(order_.empty() ? static_cast<std::uint32_t>(position) : order_[position]);
  }
  // NULL: none. Stays where it is as long as the table.
  const profile::ExecutionRecord* find(ProcessId process, ExecutionHandle handle) const;
  // Those that have a label with that key.
  std::vector<profile::ExecutionRecord> labelled(std::string_view key) const;
  // Those with these identities: of each and each user the one whose process was heard of first.
  using ByIdentity = std::map<std::pair<ExecutionId, std::optional<std::uint32_t>>, profile::ExecutionRecord>;
  ByIdentity with_ids(const std::set<ExecutionId>& ids) const;
  // Of an execution, without a record of it.
  struct Brief {
    ProcessId process;
    ExecutionHandle handle = 0;
    PlanId plan = 0;
    bool drawn = true;
    std::uint64_t runs = 1;  // profile::runs_of()
  };
  // All of them, in any order: cheaper than records where there are millions.
  void visit(const std::function<void(const Brief&)>& use) const;
  // Of the execution; nothing where there is none.
  std::optional<PlanId> plan_of(ProcessId process, ExecutionHandle handle) const;

  // Of records, by value.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = profile::ExecutionRecord;
    using difference_type = std::ptrdiff_t;
    using reference = value_type;
    struct pointer {
      value_type record;
      const value_type* operator->() const { return &record; }
    };

    Iterator(const ExecutionTable* table, std::ptrdiff_t at, int step)
        : table_(table), at_(at), step_(step) {}
    value_type operator*() const { return (*table_)[static_cast<std::size_t>(at_)]; }
    pointer operator->() const { return {**this}; }
    Iterator& operator++() {
      at_ += step_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const ExecutionTable* table_;
    std::ptrdiff_t at_;
    int step_;
  };
  Iterator begin() const { return {this, 0, 1}; }
  Iterator end() const { return {this, static_cast<std::ptrdiff_t>(size()), 1}; }
  Iterator rbegin() const { return {this, static_cast<std::ptrdiff_t>(size()) - 1, -1}; }
  Iterator rend() const { return {this, -1, -1}; }

  // Where a row is looked for first. Handles are the engine's choice: without the seed nobody can choose many
  // that meet in one place. Handles that follow each other share a line of the cache.
  static std::uint64_t hash(std::uint64_t seed, std::uint32_t process, ExecutionHandle handle);

 private:
  struct Row {
    ExecutionHandle handle;
    TimeNs begin, end, heard;
    std::uint64_t rows;
    ExecutionId id;
    std::uint32_t process, rest;  // numbers
  };
  using Labels = std::vector<std::pair<std::string, std::string>>;
  // What many executions have in common.
  struct Rest {
    PlanId plan;
    std::optional<std::uint32_t> uid;
    bool rows_known;
    bool drawn, tags_off;
    std::string error;
    Labels labels;
  };
  struct RestHash {
    using is_transparent = void;
    std::uint64_t seed;
    template <typename Said>
    std::size_t operator()(const Said& said) const;
  };
  struct RestEqual {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return a.plan == b.plan && a.uid == b.uid && a.rows_known == b.rows_known && a.drawn == b.drawn &&
             a.tags_off == b.tags_off && a.error == b.error && a.labels == b.labels;
    }
  };
  // In pieces that stay where they are, so that growing takes no second copy of all.
  class Rows {
   public:
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    Row& operator[](std::size_t at) { return pieces_[at / kPiece][at % kPiece]; }
    const Row& operator[](std::size_t at) const { return pieces_[at / kPiece][at % kPiece]; }
    void push_back(const Row& row) {
      if (size_ == pieces_.size() * kPiece) pieces_.push_back(std::make_unique_for_overwrite<Row[]>(kPiece));
      (*this)[size_++] = row;
    }

   private:
    static constexpr std::size_t kPiece = 4096;
    std::vector<std::unique_ptr<Row[]>> pieces_;
    std::size_t size_ = 0;
  };
  // Where the row of that process and handle is in slots_, or would be.
  std::size_t slot_of(std::uint32_t process, ExecutionHandle handle) const;
  std::optional<std::uint32_t> row_of(ProcessId process, ExecutionHandle handle) const;
  profile::ExecutionRecord record(std::uint32_t row) const;
  void note_added(std::uint32_t row, const profile::ExecutionRecord& execution);
  void note_blockers(std::uint32_t row, const profile::ExecutionRecord& execution);
  std::uint32_t number_of(std::uint32_t process, ExecutionHandle handle);
  std::uint32_t process_number(ProcessId process);
  std::uint32_t rest_number(const profile::ExecutionRecord& execution);
  bool before(const Row& left, const Row& right) const;
  void grow();

  std::uint64_t seed_;
  Rows rows_;
  std::vector<std::uint32_t> slots_;         // row + 1, 0: free; a power of two, at most half full
  std::array<std::uint32_t, 256> recent_{};  // rows that were added last, by handle
  std::vector<std::uint32_t> order_;         // empty: as they were added
  std::map<ProcessId, std::uint32_t> process_numbers_;
  std::vector<ProcessId> processes_;
  std::uint32_t process_ = 0;  // number of the last one added
  std::unordered_map<Rest, std::uint32_t, RestHash, RestEqual> rest_numbers_;
  std::vector<const Rest*> rests_;
  std::uint32_t rest_ = 0;  // the last one's
  std::size_t rest_bytes_ = 0;
  // By row: of the few executions that stand for several runs.
  std::map<std::uint32_t, std::shared_ptr<const profile::AddedRuns>> added_;
  std::size_t added_bytes_ = 0;
  // By row: of the few executions that others held up.
  std::map<std::uint32_t, std::shared_ptr<const profile::Blockers>> blockers_;
  std::size_t blockers_bytes_ = 0;
  mutable std::mutex mutex_;  // guards:
  mutable std::map<std::uint32_t, profile::ExecutionRecord> made_;
};

}  // namespace tailor::query
