// The store of a daemon as a library. What is loaded of executions that have ended is kept for a while: a
// page asks for many views of the same one.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <list>
#include <mutex>

#include "daemon/query/executions.h"
#include "daemon/query/keys.h"
#include "daemon/serve/library.h"
#include "daemon/store/store_directory.h"

namespace tailor::serve {
namespace {

// Rows that a list looks through at most: filters are applied to what the catalogue gives.
constexpr std::size_t kMostRows = 100'000;
constexpr std::size_t kRecent = 100;

Error not_in_store(const std::string& prefix) {
  return not_found(
      fmt::format("no execution begins with \"{}\", and there is no such file; `tailor list` shows the "
                  "executions there are",
                  prefix));
}

Result<std::vector<store::ExecutionRow>> find_rows(const store::Catalogue& catalogue, const Target& target) {
  const bool by_prefix = target.what == Target::What::kPrefix;
  const bool newest = !by_prefix && (target.what != Target::What::kLast || target.count == 1);
  auto rows = by_prefix ? catalogue.find_executions(target.prefix)
                        : catalogue.executions(newest ? kRecent : target.count);
  if (!rows) return rows.error();
  if (by_prefix && rows->empty()) return not_in_store(target.prefix);
  if (by_prefix && rows->size() > 1)
    return ambiguous(target.prefix, (*rows)[0].record.id, (*rows)[1].record.id);
  if (rows->empty()) return not_found("the store holds no execution yet");
  // Clocks of different recordings cannot be compared: the newest one's count.
  const store::RecordingNumber recording = rows->front().recording;
  std::erase_if(*rows, [&](const auto& row) { return row.recording != recording; });
  if (newest && target.what != Target::What::kProcess) {
    // The newest may have just begun, or been too short for a sample.
    const auto sampled =
        std::find_if(rows->begin(), rows->end(), [](const auto& row) { return row.cost.samples > 0; });
    const store::ExecutionRow chosen = sampled == rows->end() ? rows->front() : *sampled;
    *rows = {chosen};
  }
  return rows;
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
  StoreLibrary(std::string directory, std::function<void()> refresh)
      : directory_(std::move(directory)), refresh_(std::move(refresh)) {}

  Result<ExecutionList> executions(const ExecutionFilter& filter, const Stop& stop) override {
    auto catalogue = open();
    if (!catalogue) return catalogue.error();
    // All that the catalogue itself cannot answer.
    const bool plain = filter.after.empty() && !filter.pid && filter.process_name.empty() &&
                       filter.labels.empty() && filter.fingerprint.empty() && filter.plan.empty() &&
                       !filter.min_elapsed_ns && !filter.visible;
    const std::size_t most = plain ? std::min(filter.limit, kMostRows) + 1 : kMostRows;
    auto rows =
        catalogue->executions(most, {filter.since_ns.value_or(0), filter.until_ns.value_or(INT64_MAX)});
    if (!rows) return rows.error();
    const bool all = rows->size() < most;
    auto list = page_of(std::move(*rows), filter, stop);
    if (list.ok()) list->more = list->more || !all;
    return list;
  }

  Result<Loaded> load(const Target& target, Detail detail, const Stop& stop) override {
    if (target.what == Target::What::kAll)
      return invalid("a store is shown by execution: name one, or take the last");
    auto catalogue = open();
    if (!catalogue) return catalogue.error();
    auto rows = find_rows(*catalogue, target);
    if (!rows) return rows.error();
    if (target.what == Target::What::kProcess) return load_recording(*catalogue, rows->front(), detail, stop);
    // One that still runs has more to come.
    const bool ended = rows->size() == 1 && rows->front().record.end != kTimeMax;
    const std::string key = ended && detail == Detail::kSamples ? query::hex(rows->front().record.id) : "";
    if (!key.empty()) {
      if (auto kept = kept_.find(key)) return *kept;
    }
    auto loaded = query::load_executions(directory_, *catalogue, *rows, load_options(detail, stop));
    if (!loaded) return loaded.error();
    Loaded out{std::make_shared<const query::Profile>(std::move(loaded->profile)),
               std::move(loaded->selection)};
    if (!key.empty()) kept_.keep(key, out);
    return out;
  }

  const std::string& file() const override { return none_; }

 private:
  static query::LoadOptions load_options(Detail detail, const Stop& stop) {
    query::LoadOptions options;
    options.keep_samples = options.keep_activity = detail == Detail::kSamples;
    options.stop = &stop;
    return options;
  }

  Result<store::Catalogue> open() const {
    if (refresh_) refresh_();
    const std::string path = store::catalogue_path(directory_);
    if (!std::filesystem::exists(path)) {
      return unavailable(fmt::format(
          "there is no store in {}: name a .tailor file, start tailord, or say where the store is "
          "(--store, TAILOR_STORE)",
          directory_));
    }
    return store::Catalogue::open(path, store::Catalogue::Mode::kRead);
  }

  Result<Loaded> load_recording(const store::Catalogue& catalogue, const store::ExecutionRow& row,
                                Detail detail, const Stop& stop) const {
    auto profile =
        query::Profile::load_store(directory_, catalogue, row.recording, load_options(detail, stop));
    if (!profile) return profile.error();
    return Loaded{std::make_shared<const query::Profile>(std::move(*profile)), {}};
  }

  const std::string directory_;
  const std::function<void()> refresh_;
  const std::string none_;
  Kept kept_;
};

}  // namespace

std::unique_ptr<Library> open_store_library(std::string directory, std::function<void()> refresh) {
  return std::make_unique<StoreLibrary>(std::move(directory), std::move(refresh));
}

}  // namespace tailor::serve
