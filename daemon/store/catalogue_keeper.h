// Keeps the catalogue of a store as its writer says, and removes what is too old or too much.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "daemon/store/catalogue.h"
#include "daemon/store/catalogue_budget.h"
#include "daemon/store/catalogue_notes.h"
#include "daemon/store/file_io.h"
#include "daemon/store/process_weights.h"
#include "daemon/store/store_options.h"
#include "daemon/store/store_retention.h"
#include "proto/base/result.h"

namespace tailor::store {

// What a writer hands over: what it noted of two segments, and how far these and others are. What the notes
// name is in the files.
struct CatalogueBatch {
  std::uint64_t data = 0, dictionary = 0;  // the segments
  CatalogueNotes notes;
  std::map<std::uint64_t, SegmentRow> rows;         // by number
  std::map<std::uint64_t, BytesOfProcesses> parts;  // what was written for processes, by segment
  // Segments that are to be synced, before their rows say that they are sealed.
  std::map<std::uint64_t, std::shared_ptr<Output>> to_sync;
  bool retain = false, tidy = false;  // old segments may be due; the catalogue is to be made smaller

  bool is_of(const CatalogueBatch& other) const {
    return data == other.data && dictionary == other.dictionary;
  }
  // `later` is of the same segments, and was handed over after this.
  void add(CatalogueBatch&& later);
  void add_parts(std::uint64_t segment, const BytesOfProcesses& more);
};

// Entering takes long where much is new, and so does removing. The thread that serves everybody must not wait
// for either. So it hands over batches, and a thread of its own enters them, in rounds: all batches that wait
// are one transaction, which is entered as a whole or tried again with the next batch. Without that thread,
// until start_thread(), give() does the round.
class CatalogueKeeper {
 public:
  using Ticket = std::uint64_t;

  // Old segments are those of the store in `directory`, of which `recording` is being written.
  CatalogueKeeper(std::string directory, const StoreOptions& options, Catalogue catalogue,
                  RecordingNumber recording, std::uint64_t summed_up_to);
  // Batches that wait are not entered: see wait().
  ~CatalogueKeeper();
  CatalogueKeeper(const CatalogueKeeper&) = delete;
  CatalogueKeeper& operator=(const CatalogueKeeper&) = delete;

  void start_thread();

  // The thread of the writer.
  Ticket give(CatalogueBatch batch, const StoreTime& now);
  // The last batch was entered, and nothing waits.
  bool is_settled() const;
  Ticket last() const;
  struct News {
    std::string problem;               // what goes wrong with the catalogue or what is old; empty: nothing
    std::vector<std::string> removed;  // since the last call, for the log
  };
  News news();

  // Any thread, all below.

  // Waits for the round that the batch is in. What went wrong in it; EBUSY where somebody reads the catalogue
  // just then: the batch is tried again with the next one.
  Status wait(Ticket ticket);
  // As Catalogue::wait_for_readers(), from the next round on.
  void wait_for_readers(bool for_long);
  // As StoreOptions.
  void set_retention(std::uint64_t keep_bytes, std::uint64_t keep_ns, std::uint64_t catalogue_bytes);

  Result<std::vector<UserUse>> uses() const;
  Result<std::vector<RemovedOfUser>> removed() const;
  Result<std::vector<DiskUse>> disk_uses() const;
  Result<std::vector<CutOfUser>> cuts() const;
  // As StoreRetention, as of the last batch. Those that are summed up go before this returns.
  Result<std::vector<SegmentRow>> due_for_summary() const;
  Status summed_up(std::uint64_t last);
  // Of those that are due, what goes where none can be summed up: StoreRetention::choose_unsummed(), else
  // give_up_oldest(). Whether something went. `may_go_on`: of write_anew(). One thread at a time.
  Result<bool> give_up_some(const MayGoOn& may_go_on);
  GivenUp given_up() const;
  // Why they could not be summed up; empty: they could. It is a problem of this store.
  void set_summary_problem(const std::string& problem);

 private:
  struct Round;

  void loop();
  void run_round();
  void apply_cut(const ChosenCut& cut, const StoreTime& now);
  // Whether something went.
  Result<bool> cut_out(const ChosenCut& cut, const StoreTime& now, const MayGoOn& may_go_on);
  Round begin_round();
  // With the catalogue:
  Status write(const Round& round);
  Status write_all(const Round& round);
  void clear_up(Round& round);
  Status tidy(const StoreTime& now);
  // With mutex_:
  void end_round(Round&& round);
  std::string problem_of(const Round& round);
  void append(CatalogueBatch&& batch);
  void forget_if_too_many();
  StoreTime now() const;

  const RecordingNumber recording_;

  // Held by a thread for as long as it works on the catalogue.
  mutable std::mutex catalogue_mutex_;
  Catalogue catalogue_;
  CatalogueBudget budget_;
  StoreRetention retention_;
  Status cut_ = Ok{};  // how the last one went, for the next round

  // Held for moments only.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<CatalogueBatch> batches_;  // neighbours are of different segments
  StoreTime now_;                       // of the last batch
  Ticket given_ = 0, tried_ = 0, entered_ = 0;
  bool due_ = false, ending_ = false;  // a round
  std::set<std::uint64_t>
      incomplete_;  // segments of which notes were forgotten: they are read at the next start
  News news_;       // with the problem of the last round
  std::string summary_problem_;
  Status outcome_ = Ok{};         // of the last round's transaction
  TimeNs busy_since_ = kTimeMax;  // somebody reads the catalogue all the time
  std::thread thread_;
};

}  // namespace tailor::store
