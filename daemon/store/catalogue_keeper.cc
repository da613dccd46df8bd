#include "daemon/store/catalogue_keeper.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "proto/base/errors.h"

namespace tailor::store {

struct CatalogueKeeper::Round {
  std::deque<CatalogueBatch> batches;
  StoreTime now;
  Ticket last = 0;
  std::set<std::uint64_t> incomplete;

  Status written = Ok{};  // the transaction
  Status other = Ok{};    // what else went wrong first
  std::vector<std::string> removed;

  void note(Status status) {
    if (other && !status) other = std::move(status);
  }
  void sync();
  bool wants(bool CatalogueBatch::* what) const {
    return std::ranges::any_of(batches, [what](const CatalogueBatch& batch) { return batch.*what; });
  }
  std::uint64_t rows() const {
    std::uint64_t sum = 0;
    for (const CatalogueBatch& batch : batches) sum += batch.notes.rows();
    return sum;
  }
};

void CatalogueBatch::add(CatalogueBatch&& later) {
  notes.add(std::move(later.notes));
  for (const auto& [number, row] : later.rows) rows[number] = row;
  for (const auto& [number, more] : later.parts) add_parts(number, more);
  to_sync.merge(later.to_sync);
  retain |= later.retain;
  tidy |= later.tidy;
}

void CatalogueBatch::add_parts(std::uint64_t segment, const BytesOfProcesses& more) {
  if (more.empty()) return;
  BytesOfProcesses& sums = parts[segment];
  for (const auto& [process, bytes] : more) sums[process] += bytes;
}

// A segment that could not be synced is read again at the next start.
void CatalogueKeeper::Round::sync() {
  for (CatalogueBatch& batch : batches) {
    for (const auto& [number, output] : std::exchange(batch.to_sync, {})) {
      const Status synced = output->sync();
      if (const auto row = batch.rows.find(number); row != batch.rows.end())
        row->second.sealed &= synced.ok();
      note(synced);
    }
  }
}

CatalogueKeeper::CatalogueKeeper(std::string directory, const StoreOptions& options, Catalogue catalogue,
                                 RecordingNumber recording, std::uint64_t summed_up_to)
    : recording_(recording),
      catalogue_(std::move(catalogue)),
      budget_(options.catalogue_bytes),
      retention_(std::move(directory), options, recording, summed_up_to) {
  news_.removed.push_back(budget_.news(catalogue_));
}

CatalogueKeeper::~CatalogueKeeper() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void CatalogueKeeper::start_thread() {
  thread_ = std::thread([this] { loop(); });
}

void CatalogueKeeper::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return due_ || ending_; });
    if (ending_) return;
    lock.unlock();
    run_round();
    lock.lock();
  }
}

CatalogueKeeper::Ticket CatalogueKeeper::give(CatalogueBatch batch, const StoreTime& now) {
  Ticket ticket = 0;
  {
    std::lock_guard lock(mutex_);
    // What waits is of rounds that failed, or of one that takes long.
    forget_if_too_many();
    append(std::move(batch));
    now_ = now;
    due_ = true;
    ticket = ++given_;
  }
  if (thread_.joinable()) {
    changed_.notify_all();
  } else {
    run_round();
  }
  return ticket;
}

void CatalogueKeeper::append(CatalogueBatch&& batch) {
  if (!batches_.empty() && batches_.back().is_of(batch)) return batches_.back().add(std::move(batch));
  batches_.push_back(std::move(batch));
}

// The segments hold all that they say.
void CatalogueKeeper::forget_if_too_many() {
  constexpr std::size_t kMostBytes = 16u << 20;
  std::size_t bytes = 0;
  for (const CatalogueBatch& batch : batches_) bytes += batch.notes.bytes();
  if (bytes < kMostBytes) return;
  for (CatalogueBatch& batch : batches_) {
    batch.notes.forget();
    incomplete_.insert({batch.data, batch.dictionary});
  }
}

CatalogueKeeper::Round CatalogueKeeper::begin_round() {
  std::lock_guard lock(mutex_);
  due_ = false;
  Round round;
  round.batches = std::exchange(batches_, {});
  round.now = now_;
  round.last = given_;
  round.incomplete = incomplete_;
  return round;
}

void CatalogueKeeper::run_round() {
  Round round = begin_round();
  const StoreTime now = round.now;
  std::optional<ChosenCut> cut;
  round.sync();
  {
    std::lock_guard lock(catalogue_mutex_);
    round.written = write(round);
    if (round.written) clear_up(round);
    cut = retention_.take_cut();
    for (std::string& what : retention_.take_removed()) round.removed.push_back(std::move(what));
  }
  {
    std::lock_guard lock(mutex_);
    end_round(std::move(round));
    changed_.notify_all();
  }
  // Nobody who asks for the state of the store, or waits for the round, waits for that.
  if (cut) apply_cut(*cut, now);
}

void CatalogueKeeper::apply_cut(const ChosenCut& cut, const StoreTime& now) {
  const auto went = cut_out(cut, now, [this](std::uint64_t) -> Status {
    std::lock_guard lock(mutex_);
    return ending_ ? Status(unavailable("the store is being closed")) : Status(Ok{});
  });
  std::lock_guard lock(catalogue_mutex_);
  cut_ = went ? Status(Ok{}) : Status(went.error());
}

Result<bool> CatalogueKeeper::cut_out(const ChosenCut& cut, const StoreTime& now, const MayGoOn& may_go_on) {
  const auto written = retention_.write_anew(cut, may_go_on);
  Result<bool> went = false;
  std::vector<std::string> removed;
  {
    std::lock_guard lock(catalogue_mutex_);
    went = retention_.enter_cut(catalogue_, cut, written, now);
    removed = retention_.take_removed();
  }
  std::lock_guard lock(mutex_);
  for (std::string& what : removed) news_.removed.push_back(std::move(what));
  return went;
}

// As a whole or not at all: costs are added to what is there.
Status CatalogueKeeper::write(const Round& round) {
  Status written = catalogue_.begin();
  if (written) written = write_all(round);
  if (written) written = catalogue_.commit();
  if (!written) catalogue_.rollback();
  return written;
}

Status CatalogueKeeper::write_all(const Round& round) {
  for (const CatalogueBatch& batch : round.batches) {
    const NotePlace place{recording_, batch.data, batch.dictionary, budget_.full_of(), round.now.wall_ns};
    if (auto ok = batch.notes.write(catalogue_, place); !ok) return ok;
    // The notes say whose the processes are.
    for (const auto& [number, parts] : batch.parts) {
      for (const auto& [process, bytes] : parts) {
        if (auto ok = catalogue_.add_part(recording_, number, process, bytes); !ok) return ok;
      }
    }
    for (const auto& [number, row] : batch.rows) {
      SegmentRow entered = row;
      // Else it is not read again at the next start.
      entered.sealed &= !round.incomplete.contains(number);
      if (auto ok = catalogue_.put_segment(entered); !ok) return ok;
    }
  }
  // As much goes as comes, and more while there is too much.
  constexpr std::uint64_t kRows = 8192;
  return budget_.make_room(catalogue_, kRows + 2 * round.rows(), round.now.wall_ns);
}

void CatalogueKeeper::clear_up(Round& round) {
  for (const CatalogueBatch& batch : round.batches) {
    const auto row = batch.rows.find(batch.dictionary);
    if (row != batch.rows.end() && row->second.sealed) retention_.sealed(batch.dictionary, batch.data);
  }
  // Another program that reads the catalogue may not do so the next time.
  const Status cut = std::exchange(cut_, Status(Ok{}));
  if (!cut && cut.error().code != EBUSY) round.note(cut);
  if (round.wants(&CatalogueBatch::retain) || retention_.has_more())
    round.note(retention_.apply(catalogue_, round.now));
  if (!round.wants(&CatalogueBatch::tidy)) return;
  round.note(tidy(round.now));
  round.removed.push_back(budget_.news(catalogue_));
}

// A program that reads the catalogue now does not do so the next time.
Status CatalogueKeeper::tidy(const StoreTime& now) {
  Status done = retention_.drop_old_executions(catalogue_, now);
  if (done) done = budget_.give_back(catalogue_, false);
  return done || done.error().code == EBUSY ? Status(Ok{}) : done;
}

void CatalogueKeeper::end_round(Round&& round) {
  tried_ = round.last;
  outcome_ = round.written;
  if (round.written) {
    entered_ = round.last;
  } else {
    // What was given meanwhile is later.
    std::deque<CatalogueBatch> later = std::exchange(batches_, std::move(round.batches));
    for (CatalogueBatch& batch : later) append(std::move(batch));
    forget_if_too_many();
  }
  news_.problem = problem_of(round);
  for (std::string& what : round.removed) news_.removed.push_back(std::move(what));
}

// A reader of the catalogue is a problem only if it goes on and on.
std::string CatalogueKeeper::problem_of(const Round& round) {
  constexpr TimeNs kLong = 30'000'000'000;
  const bool busy = !round.written && round.written.error().code == EBUSY;
  busy_since_ = busy ? std::min(busy_since_, round.now.watermark) : kTimeMax;
  if (busy && round.now.watermark - busy_since_ >= kLong) {
    return "another program reads it all the time, so new executions are missing there: " +
           round.written.error().message;
  }
  if (!busy && !round.written) return round.written.error().message;
  return round.other ? "" : round.other.error().message;
}

CatalogueKeeper::News CatalogueKeeper::news() {
  std::lock_guard lock(mutex_);
  return {news_.problem.empty() ? summary_problem_ : news_.problem, std::exchange(news_.removed, {})};
}

void CatalogueKeeper::set_summary_problem(const std::string& problem) {
  std::lock_guard lock(mutex_);
  summary_problem_ = problem;
}

Status CatalogueKeeper::wait(Ticket ticket) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return tried_ >= ticket; });
  return entered_ >= ticket ? Status(Ok{}) : outcome_;
}

bool CatalogueKeeper::is_settled() const {
  std::lock_guard lock(mutex_);
  return entered_ == given_;
}

CatalogueKeeper::Ticket CatalogueKeeper::last() const {
  std::lock_guard lock(mutex_);
  return given_;
}

StoreTime CatalogueKeeper::now() const {
  std::lock_guard lock(mutex_);
  return now_;
}

void CatalogueKeeper::wait_for_readers(bool for_long) {
  std::lock_guard lock(catalogue_mutex_);
  catalogue_.wait_for_readers(for_long);
}

void CatalogueKeeper::set_retention(std::uint64_t keep_bytes, std::uint64_t keep_ns,
                                    std::uint64_t catalogue_bytes) {
  std::lock_guard lock(catalogue_mutex_);
  retention_.set(keep_bytes, keep_ns);
  budget_.set_most(catalogue_bytes);
}

Result<std::vector<UserUse>> CatalogueKeeper::uses() const {
  std::lock_guard lock(catalogue_mutex_);
  return catalogue_.uses();
}

Result<std::vector<RemovedOfUser>> CatalogueKeeper::removed() const {
  std::lock_guard lock(catalogue_mutex_);
  return catalogue_.removed();
}

Result<std::vector<DiskUse>> CatalogueKeeper::disk_uses() const {
  std::lock_guard lock(catalogue_mutex_);
  return catalogue_.disk_uses();
}

Result<std::vector<CutOfUser>> CatalogueKeeper::cuts() const {
  std::lock_guard lock(catalogue_mutex_);
  return catalogue_.cuts();
}

Result<std::vector<SegmentRow>> CatalogueKeeper::due_for_summary() const {
  const StoreTime at = now();
  std::lock_guard lock(catalogue_mutex_);
  return retention_.due_for_summary(catalogue_, at);
}

Status CatalogueKeeper::summed_up(std::uint64_t last) {
  const StoreTime at = now();
  std::lock_guard lock(catalogue_mutex_);
  retention_.summed_up(last);
  return retention_.apply(catalogue_, at);
}

Result<bool> CatalogueKeeper::give_up_some(const MayGoOn& may_go_on) {
  const StoreTime at = now();
  std::optional<ChosenCut> cut;
  {
    std::lock_guard lock(catalogue_mutex_);
    auto chosen = retention_.choose_unsummed(catalogue_, at);
    if (!chosen) return chosen.error();
    cut = std::move(*chosen);
  }
  if (cut) {
    auto went = cut_out(*cut, at, may_go_on);
    if (!went || *went) return went;
    // That it was stopped is no reason to delete more.
    if (Status ok = may_go_on ? may_go_on(0) : Status(Ok{}); !ok) return ok.error();
  }
  std::lock_guard lock(catalogue_mutex_);
  return retention_.give_up_oldest(catalogue_, at);
}

GivenUp CatalogueKeeper::given_up() const {
  std::lock_guard lock(catalogue_mutex_);
  return retention_.given_up();
}

}  // namespace tailor::store
