// The store of a daemon as a library. What is loaded of executions that have ended is kept for a while: a
// page asks for many views of the same one.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <span>

#include "daemon/query/reports/executions.h"
#include "daemon/query/sums/keys.h"
#include "daemon/serve/library.h"
#include "daemon/serve/load_segments.h"
#include "daemon/serve/stored_plans.h"
#include "daemon/serve/stored_sums.h"
#include "daemon/serve/summarise.h"
#include "daemon/store/store_directory.h"
#include "proto/base/errors.h"

namespace tailor::serve {
namespace {

constexpr std::size_t kRecent = 100;
constexpr std::size_t kMostWithParts = 100;  // executions: of many, each row stands for itself
constexpr std::uint64_t kMostSliced = 2'000'000;

// A segment has the time of its beginning, and ends where the next one begins.
std::vector<store::SegmentRow> data_within(const std::vector<store::SegmentRow>& all,
                                           const store::WallRange& range) {
  std::vector<store::SegmentRow> rows;
  for (const store::SegmentRow& row : all) {
    if (row.kind != store::FileKind::kDataSegment || row.given_up() || row.wall_ns >= range.until_ns)
      continue;
    if (!rows.empty() && row.wall_ns <= range.since_ns) rows.clear();
    rows.push_back(row);
  }
  return rows;
}

// Those of the executions' recordings that may hold samples of the time in which they ran.
std::vector<store::SegmentRow> data_behind(const std::vector<store::SegmentRow>& all,
                                           const std::vector<store::ExecutionRow>& executions) {
  struct Span {
    TimeNs from = kTimeMax, to = kTimeMin;
  };
  std::map<store::RecordingNumber, Span> spans;
  for (const store::ExecutionRow& execution : executions) {
    Span& span = spans[execution.recording];
    span.from = std::min(span.from, execution.record.begin);
    span.to = std::max(span.to, execution.record.end);
  }
  std::vector<store::SegmentRow> rows;
  for (const store::SegmentRow& row : all) {
    const auto span = spans.find(row.recording);
    if (row.kind != store::FileKind::kDataSegment || row.given_up() || span == spans.end()) continue;
    // Of one at work the catalogue knows a part only.
    const bool unknown = !row.sealed || row.first > row.last;
    if (unknown || (row.first <= span->second.to && row.last >= span->second.from)) rows.push_back(row);
  }
  return rows;
}

// The newest of those that are visible.
Result<std::vector<store::ExecutionRow>> newest_rows(const store::Catalogue& catalogue, std::size_t limit,
                                                     const Stop& stop, const Visible& visible) {
  std::vector<store::ExecutionRow> rows;
  Status read = catalogue.visit_executions({}, [&](store::ExecutionRow row) {
    if (!visible || visible(row)) rows.push_back(std::move(row));
    return rows.size() < limit && !stop.stopped();
  });
  if (!read) return read.error();
  if (stop.stopped()) return stop.error();
  return rows;
}

// What one may not see is as unknown as what is not there.
Result<std::vector<store::ExecutionRow>> rows_of_ids(const store::Catalogue& catalogue,
                                                     const std::vector<ExecutionId>& ids,
                                                     const Visible& visible) {
  auto rows = query::find_executions(catalogue, ids);
  if (!rows || !visible) return rows;
  const auto hidden = std::ranges::find_if_not(*rows, visible);
  if (hidden != rows->end()) return unknown_execution(query::hex(hidden->record.id));
  return rows;
}

Result<std::vector<store::ExecutionRow>> find_rows(const store::Catalogue& catalogue, const Target& target,
                                                   const Stop& stop, const Visible& visible) {
  if (target.what == Target::What::kIds) return rows_of_ids(catalogue, target.ids, visible);
  const bool by_prefix = target.what == Target::What::kPrefix;
  const bool exact = target.what == Target::What::kNewest;
  const bool newest = !by_prefix && !exact && (target.what != Target::What::kLast || target.count == 1);
  auto rows = by_prefix ? catalogue.find_executions(target.prefix, visible)
                        : newest_rows(catalogue, newest ? kRecent : target.count, stop, visible);
  if (!rows) return rows.error();
  if (by_prefix && rows->empty()) return unknown_execution(target.prefix);
  if (by_prefix && rows->size() > 1)
    return ambiguous(target.prefix, (*rows)[0].record.id, (*rows)[1].record.id);
  if (rows->empty()) return not_found("the store holds no execution yet");
  if (newest) {
    // The newest may have just begun, or been too short for a sample.
    const auto sampled =
        std::find_if(rows->begin(), rows->end(), [](const auto& row) { return row.cost.samples > 0; });
    const store::ExecutionRow chosen = sampled == rows->end() ? rows->front() : *sampled;
    *rows = {chosen};
  }
  return rows;
}

// None of the newest has a sample: the user learns how to see one that has.
void note_no_sample(const std::vector<store::ExecutionRow>& rows, std::vector<std::string>& notes) {
  if (!std::ranges::all_of(rows, [](const auto& row) { return row.cost.samples == 0; })) return;
  notes.push_back(
      fmt::format("the last {} no sample; without --last, the newest one that has samples is shown",
                  rows.size() == 1 ? "execution has" : fmt::format("{} executions have", rows.size())));
}

Status visit_in(const store::Catalogue& catalogue, const ExecutionFilter& filter, const Stop& stop,
                const std::function<bool(store::ExecutionRow)>& take) {
  Sieve sieve(filter);
  bool stopped = false;
  Status read = catalogue.visit_executions(
      {filter.since_ns.value_or(0), filter.until_ns.value_or(INT64_MAX), filter.ran_since},
      [&](store::ExecutionRow row) {
        stopped = stop.stopped();
        return !stopped && (!sieve.passes(row) || take(std::move(row)));
      });
  if (read.ok() && stopped) return stop.error();
  return read;
}

Result<std::vector<store::ExecutionRow>> filtered_rows(const store::Catalogue& catalogue,
                                                       const Target& target, const Stop& stop,
                                                       const Visible& visible,
                                                       std::vector<std::string>& notes) {
  const ExecutionFilter filter = filter_of(target, visible);
  Page page(filter.limit);
  Status read =
      visit_in(catalogue, filter, stop, [&](store::ExecutionRow row) { return page.take(std::move(row)); });
  if (!read) return read.error();
  ExecutionList list = page.finish();
  if (list.rows.empty()) return none_passes(filter, "the store");
  notes = cut_off_note(target, list);
  return std::move(list.rows);
}

std::string why_left_out(query::Unchained why) {
  switch (why) {
    case query::Unchained::kAnotherShare:
      return "another share of the executions was sampled then";
    case query::Unchained::kAnotherBoot:
      return "the host was booted since then, and its kernel had its functions elsewhere";
    case query::Unchained::kNoTime:
      return "the host was booted since then, and nobody knows when that was";
    case query::Unchained::kTooMany:
      return fmt::format("at most {} starts of the daemon are added up", query::kMostLinks);
    case query::Unchained::kNothingIsLeft:
      break;
  }
  return "the store no longer holds what they did";
}

std::string left_out_note(query::Unchained why, std::size_t count) {
  return fmt::format("{} {} left out: {}. Narrow the time (--until) to see {}", count,
                     count == 1 ? "execution is" : "executions are", why_left_out(why),
                     count == 1 ? "it" : "them");
}

// What the same execution did before a restart of the daemon, or after it.
Status add_other_parts(const store::Catalogue& catalogue, const Visible& visible,
                       std::vector<store::ExecutionRow>& rows) {
  const std::size_t chosen = rows.size();
  for (std::size_t i = 0; i < chosen; ++i) {
    auto parts = catalogue.other_parts(rows[i]);
    if (!parts) return parts.error();
    for (store::ExecutionRow& part : *parts) {
      if (!visible || visible(part)) rows.push_back(std::move(part));
    }
  }
  return Ok{};
}

// Not the identity: several processes may declare it.
std::string key_of(const store::ExecutionRow& row) {
  return fmt::format("{}:{}:{}", row.recording, query::process_key(row.record.process), row.record.handle);
}

// A few loaded executions, the last used first.
class Kept {
 public:
  std::optional<Loaded> find(const std::string& key) {
    std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
    if (found == entries_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front().loaded;
  }

  void keep(const std::string& key, const Loaded& loaded) {
    std::lock_guard lock(mutex_);
    if (loaded.profile->samples().size() + loaded.profile->activity().size() > kMostRecords) return;
    entries_.push_front({key, loaded});
    std::size_t records = 0, entries = 0;
    for (auto at = entries_.begin(); at != entries_.end();) {
      records += at->loaded.profile->samples().size() + at->loaded.profile->activity().size();
      at = ++entries > kMostEntries || records > kMostRecords ? entries_.erase(at) : std::next(at);
    }
  }

 private:
  static constexpr std::size_t kMostRecords = 500'000;  // some 25 MB
  static constexpr std::size_t kMostEntries = 8;
  struct Entry {
    std::string key;
    Loaded loaded;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;
};

class StoreLibrary : public Library {
 public:
  StoreLibrary(std::string directory, std::function<void()> refresh, query::OnDamage on_damage)
      : directory_(std::move(directory)), refresh_(std::move(refresh)), on_damage_(std::move(on_damage)) {}

  Status visit(const ExecutionFilter& filter, const Stop& stop,
               const std::function<bool(store::ExecutionRow)>& take) override {
    auto catalogue = open();
    if (!catalogue) return catalogue.error();
    return visit_in(*catalogue, filter, stop, take);
  }

  Result<Loaded> load(const Target& target, Detail detail, const Stop& stop,
                      const Visible& visible) override {
    if (target.what == Target::What::kAll)
      return invalid("a store has no bundle of all: name an execution, or take the last");
    auto catalogue = open();
    if (!catalogue) return catalogue.error();
    if (target.what == Target::What::kProcess) return load_newest_recording(*catalogue, detail, stop);
    std::vector<std::string> notes;
    auto rows = target.what == Target::What::kFiltered
                    ? filtered_rows(*catalogue, target, stop, visible, notes)
                    : find_rows(*catalogue, target, stop, visible);
    if (!rows) return rows.error();
    if (target.what == Target::What::kNewest) note_no_sample(*rows, notes);
    if (rows->size() <= kMostWithParts) {
      if (Status added = add_other_parts(*catalogue, visible, *rows); !added) return added.error();
    }
    // One that still runs has more to come.
    const bool ended = rows->size() == 1 && rows->front().record.end != kTimeMax;
    const bool keeps = detail == Detail::kSamples || detail == Detail::kSamples.with(Detail::kCode) ||
                       detail == Detail::kFunctions;
    const std::string key = ended && keeps ? key_of(rows->front()) + (detail.code ? " code" : "") +
                                                 (detail.functions ? " functions" : "")
                                           : "";
    if (!key.empty()) {
      if (auto kept = kept_.find(key)) {
        kept->notes = std::move(notes);
        return *std::move(kept);
      }
    }
    auto loaded = query::load_executions(directory_, *catalogue, *rows, load_options(detail, stop));
    if (!loaded) return loaded.error();
    for (const auto& [why, count] : loaded->left_out) notes.push_back(left_out_note(why, count));
    Loaded out{std::make_shared<const query::Profile>(std::move(loaded->profile)),
               std::move(loaded->selection), std::move(notes)};
    tell(query::damage_text(*out.profile));
    if (!key.empty()) kept_.keep(key, out);
    return out;
  }

  Result<store::Summary> sums(const store::WallRange& range, const Stop& stop,
                              query::StoreDamage& damage) override {
    // For its errors, and so that what happened so far is written down.
    if (auto catalogue = open(); !catalogue) return catalogue.error();
    auto sums = sums_of_store(directory_, range, stop, &damage);
    if (sums) tell(query::damage_text(damage.read, damage.loss));
    return sums;
  }

  Result<GoneList> gone(const ExecutionFilter& filter, const SeesUser& sees, const Stop& stop) override {
    if (!sums_know(filter)) return GoneList{};
    return gone_executions(directory_, filter, sees, stop);
  }

  Result<std::vector<store::RemovedOfUser>> removed(const SeesUser& sees) override {
    auto catalogue = store::Catalogue::open(store::catalogue_path(directory_), store::Catalogue::Mode::kRead);
    if (!catalogue) return catalogue.error();
    auto removed = catalogue->removed();
    if (!removed) return removed;
    std::erase_if(*removed, [&](const store::RemovedOfUser& each) {
      return each.executions == 0 || (sees && !sees(each.uid));
    });
    return removed;
  }

  Status visit_slices(const store::WallRange& range, const Stop& stop,
                      const std::function<void(const query::Profile&)>& take) override {
    auto catalogue = open();
    if (!catalogue) return catalogue.error();
    auto all = catalogue->segments();
    if (!all) return all.error();
    const std::vector<store::SegmentRow> rows = data_within(*all, range);
    std::uint64_t samples = 0;
    for (const store::SegmentRow& row : rows) samples += row.samples;
    if (samples > kMostSliced)
      return exhausted(fmt::format("the time has {} samples, and at most {} are added up: ask for less of it",
                                   samples, kMostSliced));
    for (std::span<const store::SegmentRow> rest = rows; !rest.empty();) {
      const auto batch = rest.first(one_batch(rest));
      rest = rest.subspan(batch.size());
      auto profile = load_segments(directory_, *catalogue, batch, load_options(Detail::kSlices, stop));
      if (!profile) return profile.error();
      tell(query::damage_text(*profile));
      take(*profile);
    }
    return Ok{};
  }

  Result<PlanShapes> plan_shapes(const std::set<PlanKey>& plans, const Stop& stop) override {
    auto catalogue = open();
    if (!catalogue) return catalogue.error();
    return shapes_in_store(directory_, *catalogue, plans, stop, on_damage_);
  }

  Result<Checked> check(const store::WallRange& range, std::uint64_t most_bytes, const Stop& stop) override {
    return check_those([&](const auto& all) { return data_within(all, range); }, most_bytes, stop);
  }

  Result<Checked> check_behind(const std::vector<store::ExecutionRow>& rows, std::uint64_t most_bytes,
                               const Stop& stop) override {
    return check_those([&](const auto& all) { return data_behind(all, rows); }, most_bytes, stop);
  }

  const std::string& file() const override { return none_; }

 private:
  static query::LoadOptions load_options(Detail detail, const Stop& stop) {
    query::LoadOptions options;
    detail.tell(options);
    options.stop = &stop;
    return options;
  }

  Result<store::Catalogue> open() const {
    if (refresh_) refresh_();
    const std::string path = store::catalogue_path(directory_);
    std::error_code problem;
    const bool there = std::filesystem::exists(path, problem);
    if (problem)
      return os_error(fmt::format("cannot look into the store {}: {}", directory_, problem.message()),
                      problem.value());
    if (!there) {
      return unavailable(fmt::format(
          "there is no store in {}: name a .tailor file, start tailord, or say where the store is "
          "(--store, TAILOR_STORE)",
          directory_));
    }
    return store::Catalogue::open(path, store::Catalogue::Mode::kRead);
  }

  // A process need not have executions.
  Result<Loaded> load_newest_recording(const store::Catalogue& catalogue, Detail detail,
                                       const Stop& stop) const {
    const auto segments = catalogue.segments();
    if (!segments) return segments.error();
    if (segments->empty()) return not_found("the store holds nothing yet");
    auto profile = query::Profile::load_store(directory_, catalogue, segments->back().recording,
                                              load_options(detail, stop));
    if (!profile) return profile.error();
    tell(query::damage_text(*profile));
    return Loaded{std::make_shared<const query::Profile>(std::move(*profile)), {}};
  }

  // `choose`: which of all segments.
  Result<Checked> check_those(
      const std::function<std::vector<store::SegmentRow>(const std::vector<store::SegmentRow>&)>& choose,
      std::uint64_t most_bytes, const Stop& stop) {
    auto catalogue = open();
    if (!catalogue) return catalogue.error();
    auto all = catalogue->segments();
    if (!all) return all.error();
    auto checked = checked_.look_at(directory_, choose(*all), most_bytes, stop);
    if (!checked) return checked;
    std::string damage = query::damage_text(checked->read, {});
    if (!checked->unreadable.empty()) damage += (damage.empty() ? "" : " ") + checked->unreadable;
    tell(damage);
    return checked;
  }

  void tell(const std::string& damage) const {
    if (on_damage_ && !damage.empty()) on_damage_(damage);
  }

  const std::string directory_;
  const std::function<void()> refresh_;
  const query::OnDamage on_damage_;
  const std::string none_;
  Kept kept_;
  CheckedSegments checked_;
};

}  // namespace

std::unique_ptr<Library> open_store_library(std::string directory, std::function<void()> refresh,
                                            query::OnDamage on_damage) {
  return std::make_unique<StoreLibrary>(std::move(directory), std::move(refresh), std::move(on_damage));
}

}  // namespace tailor::serve
