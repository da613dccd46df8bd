// What the catalogue is to learn from the calls of a sink: the same for a writer at work and for segments
// that are catalogued after the fact.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/profile/sink.h"
#include "daemon/store/catalogue.h"

namespace tailor::store {

using ExecutionKey = std::pair<ProcessId, ExecutionHandle>;

// Where what was noted is to be entered.
struct NotePlace {
  RecordingNumber recording = 0;
  std::uint64_t data = 0;        // the data segment, 0 none
  std::uint64_t dictionary = 0;  // the dictionary segment, 0 none
  // Nothing new of this user is entered: CatalogueBudget::full_of(). Rows that are left out count as removed
  // then.
  std::optional<std::optional<std::uint32_t>> full_of = {};
  std::uint64_t wall_ns = 0;  // CLOCK_REALTIME now
};

// One thread at a time.
class CatalogueNotes {
 public:
  void recording(const profile::RecordingInfo& info);
  // The user whose process it is, as far as it is known.
  void owner(ProcessId process, std::optional<std::uint32_t> uid);
  // Without a name, what is known stays.
  void entry(const EntryKey& key, const std::string& name);
  // The entries that a record of a process makes.
  void process(const profile::ProcessRecord& process);
  // A plan or code, with the entry() of it: it may be of samples of before.
  void plan(TimeNs loaded, const v1::Plan& plan);
  void code(TimeNs loaded, const v1::CodeObject& code);
  // The same of what is entered later than it was said.
  void late(TimeNs loaded);
  void execution(const profile::ExecutionRecord& execution);
  void samples(std::span<const profile::SampleRecord> samples);

  // What was noted since the last take(), with what is needed to write it. This goes on without it.
  CatalogueNotes take();
  // `later` was noted after this, of the same segments.
  void add(CatalogueNotes&& later);

  // Enters everything that was noted. Call within a transaction.
  Status write(Catalogue& catalogue, const NotePlace& place) const;
  void forget() { noted_ = {}; }
  bool is_empty() const {
    return rows() == 0 && noted_.owners.empty() && noted_.rates.empty() && noted_.costs.empty() &&
           noted_.new_uses.empty();
  }
  // Executions and names that write() enters.
  std::size_t rows() const { return noted_.executions.size() + noted_.entries.size(); }
  // What the notes take of memory, about: where they cannot be entered they become more.
  std::size_t bytes() const;
  // What was noted names samples from this time on, which may lie in earlier data segments; kTimeMax: no
  // such.
  TimeNs late_since() const { return noted_.late_since; }
  // Everything that follows is of another data segment.
  void next_data_segment() { known_uses_.clear(); }

 private:
  void use(const EntryKey& key);
  void rates(const std::vector<profile::RateSpan>& spans);
  Status write_entries(Catalogue& catalogue, const NotePlace& place, RemovedOfUser& left_out) const;
  static Status write_uses_of_parents(Catalogue& catalogue, const NotePlace& place, ProcessId process);
  Status write_executions(Catalogue& catalogue, const NotePlace& place, RemovedOfUser& left_out) const;

  using RateKey = std::pair<ProcessId, TimeNs>;  // its process, and its begin

  struct Noted {
    std::map<ExecutionKey, profile::ExecutionRecord> executions;
    std::map<ExecutionKey, ExecutionCost> costs;
    std::map<EntryKey, std::string> entries;
    std::map<ProcessId, std::uint32_t> owners;
    std::map<RateKey, profile::RateSpan> rates;
    std::set<EntryKey> new_uses;
    TimeNs late_since = kTimeMax;
    std::size_t text_bytes = 0;  // of labels, errors and names; what was noted twice counts twice
  };

  std::shared_ptr<const profile::RecordingInfo> info_;
  std::set<std::uint16_t> cpu_sources_;
  std::set<EntryKey> known_uses_;         // of this data segment
  std::map<RateKey, TimeNs> told_rates_;  // until when, of those that the recording told last
  Noted noted_;
};

}  // namespace tailor::store
