// One profile as a library.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <mutex>

#include "daemon/query/sums/keys.h"
#include "daemon/serve/library.h"
#include "daemon/serve/plan_shape.h"
#include "daemon/serve/view.h"

namespace tailor::serve {
namespace {

constexpr std::size_t kShownDigits = 12;  // of an execution's id, as in `tailor list`

class FileLibrary : public Library {
 public:
  FileLibrary(std::string path, FileLoader load, std::uint64_t most_kept)
      : path_(std::move(path)), load_(std::move(load)), most_kept_(most_kept) {}

  Status visit(const ExecutionFilter& filter, const Stop& stop,
               const std::function<bool(store::ExecutionRow)>& take) override {
    auto profile = get(Detail::kSums, stop);
    if (!profile) return profile.error();
    return visit_in(**profile, filter, stop, take);
  }

  Result<Loaded> load(const Target& target, Detail detail, const Stop& stop,
                      const Visible& visible) override {
    const bool time_alone =
        target.time_alone && detail.samples && kept_for(detail) == nullptr && holds_too_many(stop);
    auto profile = get(time_alone ? Detail::kSums : detail, stop);
    if (!profile) return profile.error();
    Loaded loaded{*profile, {}};
    if (target.what == Target::What::kPrefix) {
      auto found = find(**profile, target.prefix, visible);
      if (!found) return found.error();
      loaded.selection.executions.insert((*profile)->led_by(found->process, found->handle));
    } else if (target.what == Target::What::kIds) {
      for (const ExecutionId& id : target.ids) {
        auto found = find(**profile, query::hex(id), visible);
        if (!found) return found.error();
        loaded.selection.executions.insert((*profile)->led_by(found->process, found->handle));
      }
    } else if (target.what == Target::What::kFiltered) {
      if (Status done = select_filtered(target, stop, visible, loaded); !done) return done.error();
    } else if (target.what == Target::What::kLast || target.what == Target::What::kNewest) {
      if (Status done = select_newest(target, visible, loaded); !done) return done.error();
    }
    if (!time_alone) return loaded;
    return with_samples_of(*target.time_alone, std::move(loaded), detail, stop);
  }

  Status visit_slices(const store::WallRange& /*range*/, const Stop& stop,
                      const std::function<void(const query::Profile&)>& take) override {
    auto profile = get(Detail::kSlices, stop);
    if (!profile) return profile.error();
    take(**profile);
    return Ok{};
  }

  Result<PlanShapes> plan_shapes(const std::set<PlanKey>& plans, const Stop& stop) override {
    auto profile = get(Detail::kSums, stop);
    if (!profile) return profile.error();
    PlanShapes shapes;
    for (const PlanKey& key : plans) {
      if (const query::PlanModel* plan = (*profile)->plan(key.process, key.plan))
        shapes.emplace(key, plan_shape(*plan));
    }
    return shapes;
  }

  const std::string& file() const override { return path_; }

 private:
  static Status visit_in(const query::Profile& profile, const ExecutionFilter& filter, const Stop& stop,
                         const std::function<bool(store::ExecutionRow)>& take) {
    Sieve sieve(filter);
    for (store::ExecutionRow& row : rows_of(profile)) {
      if (stop.stopped()) return stop.error();
      if (sieve.passes(row) && !take(std::move(row))) break;
    }
    return Ok{};
  }

  Status select_filtered(const Target& target, const Stop& stop, const Visible& visible,
                         Loaded& loaded) const {
    const ExecutionFilter filter = filter_of(target, visible);
    Page page(filter.limit);
    Status read = visit_in(*loaded.profile, filter, stop,
                           [&](store::ExecutionRow row) { return page.take(std::move(row)); });
    if (!read) return read;
    const ExecutionList list = page.finish();
    if (list.rows.empty()) return none_passes(filter, path_);
    for (const store::ExecutionRow& row : list.rows)
      loaded.selection.executions.insert({row.record.process, row.record.handle});
    loaded.notes = cut_off_note(target, list);
    return Ok{};
  }

  Status select_newest(const Target& target, const Visible& visible, Loaded& loaded) const {
    auto rows = rows_of(*loaded.profile);
    if (visible) std::erase_if(rows, [&](const store::ExecutionRow& row) { return !visible(row); });
    if (rows.empty()) return not_found(fmt::format("{} holds no execution", path_));
    std::size_t first = 0;
    if (target.what == Target::What::kLast && target.count == 1) {
      while (first < rows.size() && rows[first].cost.samples == 0) ++first;
      if (first == rows.size()) first = 0;
    }
    for (std::size_t i = first; i < rows.size() && i - first < target.count; ++i)
      loaded.selection.executions.insert({rows[i].record.process, rows[i].record.handle});
    if (first == 0) note_no_sample(rows, std::min(rows.size(), target.count), loaded.notes);
    return Ok{};
  }

  // None of the newest `count` has a sample: the user learns which do. A recording may hold millions that are
  // too short for one.
  static void note_no_sample(const std::vector<store::ExecutionRow>& rows, std::size_t count,
                             std::vector<std::string>& notes) {
    const auto has_samples = [](const store::ExecutionRow& row) { return row.cost.samples > 0; };
    const auto newest = std::ranges::find_if(rows, has_samples);
    if (newest == rows.end() || newest < rows.begin() + static_cast<std::ptrdiff_t>(count)) return;
    const auto sampled = std::count_if(newest, rows.end(), has_samples);
    notes.push_back(fmt::format(
        "the last {} no sample; {} of {} executions {} samples, and the last of these is shown with -x {}",
        count == 1 ? "execution has" : fmt::format("{} executions have", count), sampled, rows.size(),
        sampled == 1 ? "has" : "have", query::hex(newest->record.id).substr(0, kShownDigits)));
  }

  bool holds_too_many(const Stop& stop) {
    const auto profile = get(Detail::kSums, stop);
    if (!profile) return false;
    std::uint64_t samples = 0;
    for (const auto& [source, total] : query::totals_by_source(**profile, {})) samples += total.samples;
    return samples > most_kept_;
  }

  // The same, with samples that are read for this once.
  Result<Loaded> with_samples_of(const std::pair<TimeNs, TimeNs>& time, Loaded loaded, Detail detail,
                                 const Stop& stop) const {
    const TimeNs origin = origin_of(*loaded.profile, loaded.selection);
    query::LoadOptions options;
    detail.tell(options);
    options.stop = &stop;
    options.from = time_since(origin, time.first);
    options.to = time_since(origin, time.second);
    auto part = load_(path_, options);
    if (!part) return part.error();
    loaded.profile = std::make_shared<const query::Profile>(std::move(*part));
    return loaded;
  }

  // Kept with what anybody has asked for. A request that needs no more does not wait while more is loaded.
  Result<std::shared_ptr<const query::Profile>> get(Detail detail, const Stop& stop) {
    if (auto kept = kept_for(detail)) return kept;
    std::lock_guard one_at_a_time(loading_);
    if (auto kept = kept_for(detail)) return kept;
    detail = detail.with(has_);
    query::LoadOptions options;
    detail.tell(options);
    options.stop = &stop;
    auto loaded = load_(path_, options);
    if (!loaded) return loaded.error();
    std::lock_guard lock(mutex_);
    profile_ = std::make_shared<const query::Profile>(std::move(*loaded));
    has_ = detail;
    return profile_;
  }

  // NULL: nothing with that detail is there yet.
  std::shared_ptr<const query::Profile> kept_for(Detail detail) {
    std::lock_guard lock(mutex_);
    return profile_ != nullptr && has_.covers(detail) ? profile_ : nullptr;
  }

  static Result<profile::ExecutionRecord> find(const query::Profile& profile, const std::string& prefix,
                                               const Visible& visible) {
    std::optional<profile::ExecutionRecord> found;
    for (const profile::ExecutionRecord& execution : profile.executions()) {
      if (!query::hex(execution.id).starts_with(prefix)) continue;
      if (visible && !visible({.recording = 0, .record = execution})) continue;
      if (found && found->id != execution.id) return ambiguous(prefix, found->id, execution.id);
      // Of an id that several processes declared it is the execution of the one that was heard of first.
      if (!found || execution.heard < found->heard) found = execution;
    }
    if (!found) return unknown_execution(prefix);
    return *found;
  }

  const std::string path_;
  const FileLoader load_;
  const std::uint64_t most_kept_;
  std::mutex loading_;  // taken before mutex_
  std::mutex mutex_;    // of what follows; who loads alone changes it
  std::shared_ptr<const query::Profile> profile_;
  Detail has_;
};

}  // namespace

std::unique_ptr<Library> open_file_library(std::string path, FileLoader load, std::uint64_t most_kept) {
  return std::make_unique<FileLibrary>(std::move(path), std::move(load), most_kept);
}

}  // namespace tailor::serve
