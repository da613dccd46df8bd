#include "daemon/query/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "daemon/store/store_reader.h"
#include "proto/base/errors.h"

namespace tailor::query {
namespace {

template <typename Map, typename Key>
auto* find_or_null(const Map& map, const Key& key) {
  const auto it = map.find(key);
  return it == map.end() ? nullptr : &it->second;
}

// Addresses beyond so many are not told apart: random jumps must not fill the memory of who reads the
// profile.
constexpr std::size_t kMaxPlaces = 1u << 18;

// What a node of a map takes beside strings, about.
constexpr std::size_t kNode = 160;

PlaceKey place_of(const profile::SampleRecord& s) {
  const profile::Attribution& a = s.attribution;
  const bool user = s.mode == profile::Mode::kUser;
  return {s.process, a.execution, s.source, a.reason, a.kernel, user ? s.ip : s.user_ip};
}

void count(Cell& cell, std::uint64_t sample_weight) {
  const auto weight = static_cast<double>(sample_weight);
  ++cell.samples;
  cell.weight += weight;
  cell.weight_squares += weight * weight;
}

store::MayGoOn asked_after_blocks(const ProfileLoader& loader, const Stop* stop) {
  return [&loader, stop](std::uint64_t read) -> Status {
    if (stop != nullptr && stop->stopped()) return stop->error();
    return loader.may_go_on(read);
  };
}

}  // namespace

void ProfileLoader::on_recording(const profile::RecordingInfo& info) {
  data_->recording = info;
}

void ProfileLoader::on_process(const profile::ProcessRecord& process) {
  count_kept(sizeof process + process.comm.size() + process.engine_name.size() + process.cgroup.size());
  data_->processes[process.process] = process;
  if (options_.functions) functions_.on_process(process);
}

void ProfileLoader::on_thread(ProcessId process, std::int32_t tid, const std::string& name) {
  count_kept(kNode + name.size());
  data_->threads[{process, tid}] = name;
}

void ProfileLoader::on_component(ProcessId process, std::uint32_t id, const std::string& name) {
  count_kept(kNode + name.size());
  data_->components[{process, id}] = name;
}

void ProfileLoader::on_mapping(const profile::MappingRecord& mapping) {
  count_kept(kNode + mapping.path.size());
  data_->mappings[mapping.process].push_back(mapping);
  if (options_.functions) functions_.on_mapping(mapping);
}

void ProfileLoader::on_region_kind(ProcessId process, const v1::RegionKind& kind) {
  count_kept(kNode + kind.SpaceUsedLong());
  data_->region_kinds[{process, kind.id()}] = kind;
}

void ProfileLoader::on_plan(ProcessId process, TimeNs /*loaded*/, const v1::Plan& plan) {
  v1::Plan kept = plan;
  for (v1::Attachment& attachment : *kept.mutable_attachments()) {
    // Kept in the plan only where it cannot be found again by its hash.
    if (attachment.sha256().empty() || attachment.content().empty()) continue;
    count_kept(kNode + attachment.content().size());
    data_->attachments[{process, attachment.sha256()}] = std::move(*attachment.mutable_content());
    attachment.clear_content();
  }
  count_kept(kNode + 2 * kept.SpaceUsedLong());  // its model is about as large
  const PlanId id = kept.id();
  data_->plans.insert_or_assign({process, id}, PlanModel(std::move(kept)));
}

void ProfileLoader::on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) {
  if (!names_are_whole_) names_.on_code(process, loaded, code);
  if (options_.functions)
    functions_.on_code(process, code.id(), code.base(), code.size() != 0 ? code.size() : code.code().size());
  for (const v1::Attachment& attachment : code.attachments()) {
    if (attachment.sha256().empty() || attachment.content().empty()) continue;
    count_kept(kNode + attachment.content().size());
    data_->attachments[{process, attachment.sha256()}] = attachment.content();
  }
  count_kept(kNode + code.name().size() + code.rows().SpaceUsedLong());
  const std::uint64_t size = code.size() != 0 ? code.size() : code.code().size();
  CodeInfo info{code.plan_id(), code.name(), code.tier(), code.base(), size, code.rows().link_sets()};
  data_->codes.insert_or_assign({process, code.id()}, std::move(info));
}

void ProfileLoader::on_execution(const profile::ExecutionRecord& execution) {
  data_->executions.add(execution);
  data_->last_time = std::max(data_->last_time, execution.begin);
}

void ProfileLoader::on_samples(std::span<const profile::SampleRecord> samples) {
  if (!names_are_whole_) return select(samples);
  renamed_.assign(samples.begin(), samples.end());
  for (profile::SampleRecord& sample : renamed_) {
    if (!names_.apply(sample)) continue;
    sample.alike = 0;
    ++named_late_[sample.process];
  }
  select(renamed_);
}

void ProfileLoader::select(std::span<const profile::SampleRecord> samples) {
  if (options_.from == kTimeMin && options_.to == kTimeMax) return add(samples);
  // Runs of samples that count.
  auto counts = [this](const profile::SampleRecord& sample) {
    return sample.time >= options_.from && sample.time <= options_.to;
  };
  for (auto next = samples.begin(); next != samples.end();) {
    const auto first = std::find_if(next, samples.end(), counts);
    next = std::find_if_not(first, samples.end(), counts);
    add({first, next});
  }
}

void ProfileLoader::add(std::span<const profile::SampleRecord> samples) {
  cells_.add(samples);
  TimeNs last = data_->last_time;
  for (const profile::SampleRecord& sample : samples) {
    last = std::max(last, sample.time);
    const std::uint32_t node = options_.functions ? functions_.add(sample) : 0;
    if (options_.keep_samples) {
      const CellKey& key = *keys_.insert(key_of(sample)).first;
      data_->samples.push_back(
          {sample.time, sample.tid, node, sample.weight, &key, sample.address, sample.latency});
    }
    if (sample.attribution.how == profile::How::kUnattributed) {
      PlaceKey place = place_of(sample);
      if (data_->places.size() >= kMaxPlaces) place.address = 0;
      count(data_->places[place], sample.weight);
    }
  }
  data_->last_time = last;
}

void ProfileLoader::on_activity(std::span<const profile::ActivityRecord> records) {
  if (options_.keep_activity) data_->activity.insert(data_->activity.end(), records.begin(), records.end());
  if (!options_.keep_samples) return;
  for (const profile::ActivityRecord& record : records) {
    if (record.kind == TAILOR_LOG_EXECUTION_BEGIN || record.kind == TAILOR_LOG_EXECUTION_END ||
        record.kind == TAILOR_LOG_ITERATION)
      data_->marks.push_back(record);
  }
}

void ProfileLoader::on_accounting(const profile::Accounting& accounting) {
  count_kept(data_->accounting.contains(accounting.process) ? 0 : kNode + 2 * sizeof accounting);
  data_->accounting[accounting.process] = accounting;
}

void ProfileLoader::on_watermark(TimeNs watermark) {
  data_->last_time = std::max(data_->last_time, watermark);
}

Status ProfileLoader::may_go_on(std::uint64_t read) const {
  const std::uint64_t samples =
      data_->samples.capacity() * sizeof(TimedSample) + keys_.size() * 2 * sizeof(CellKey);
  const std::uint64_t places = data_->places.size() * (sizeof(PlaceKey) + sizeof(Cell) + kNode);
  const std::uint64_t marks =
      (data_->marks.capacity() + data_->activity.capacity()) * sizeof(profile::ActivityRecord);
  const std::uint64_t taken = kept_ + data_->executions.bytes() + 2 * cells_.bytes() + samples + places +
                              marks + names_.bytes() + functions_.bytes();
  if (taken <= store::memory_budget(read)) return Ok{};
  return exhausted(
      fmt::format("{} MB of blocks hold what would take more than {} MB of memory: no recorder writes such a "
                  "profile; it is damaged or was made to do harm",
                  (read >> 20) + 1, taken >> 20));
}

Profile ProfileLoader::finish() {
  data_->cells = cells_.take();
  data_->functions = functions_.take();
  for (const auto& [process, samples] : named_late_) {
    // The recorder counted them when they had no name yet.
    profile::Accounting& account = data_->accounting[process];
    const std::uint64_t moved = std::min(samples, account.unattributed);
    account.unattributed -= moved;
    account.attributed += moved;
  }
  std::unordered_map<const CellKey*, const CellKey*> kept;
  for (const CellKey& key : keys_) {
    kept[&key] = &std::ranges::lower_bound(data_->cells, key, {}, &Cells::value_type::first)->first;
  }
  for (TimedSample& sample : data_->samples) sample.key = kept.at(sample.key);
  data_->executions.sort();
  data_->leads = find_leads(data_->executions);
  return Profile(std::move(data_));
}

Result<Profile> Profile::load_from(const LoadOptions& options,
                                   const std::function<Status(ProfileLoader&)>& read) {
  ProfileLoader first(options);
  if (Status done = read(first); !done) return done.error();
  if (!first.names_came_late()) return first.finish();
  ProfileLoader again(options, first.take_names());
  if (Status done = read(again); !done) return done.error();
  return again.finish();
}

Result<Profile> Profile::load(store::Input& input, const LoadOptions& options) {
  return load_from(options, [&](ProfileLoader& loader) {
    return store::read_profile(input, loader, loader.read_report(), loader.said_loss(),
                               asked_after_blocks(loader, options.stop));
  });
}

Result<Profile> Profile::load_file(const std::string& path, const LoadOptions& options) {
  auto input = store::open_file(path);
  if (!input) return input.error();
  auto profile = load(**input, options);
  if (!profile && profile.error().kind == ErrorKind::kUnavailable) return profile;  // no fault of the file
  if (!profile) return in_context(path + ": ", profile.error());
  return profile;
}

Result<Profile> Profile::load_store(const std::string& directory, const store::Catalogue& catalogue,
                                    store::RecordingNumber recording, const LoadOptions& options) {
  const store::StoreSelection selection{recording, options.from, options.to};
  return load_from(options, [&](ProfileLoader& loader) {
    return store::read_store(directory, catalogue, selection, loader, loader.read_report(),
                             loader.said_loss(), asked_after_blocks(loader, options.stop));
  });
}

Profile Profile::only(const std::function<bool(const TimedSample&)>& keep, std::string what) const {
  std::map<CellKey, Cell> cells;
  FunctionSums::Cells functions;
  const bool with_functions = !data_->functions.cells.empty();
  for (const TimedSample& sample : data_->samples) {
    if (!keep(sample)) continue;
    const CellKey& key = *sample.key;
    count(cells[key], sample.weight);
    if (with_functions)
      count(functions[{sample.node, key.source, key.process, key.execution}], sample.weight);
  }
  Profile some = *this;
  some.cells_ = std::make_shared<Cells>(cells.begin(), cells.end());
  some.function_cells_ = std::make_shared<FunctionSums::Cells>(std::move(functions));
  some.narrowed_to_ = std::move(what);
  return some;
}

const PlanModel* Profile::plan(ProcessId process, PlanId id) const {
  return find_or_null(data_->plans, InProcess<PlanId>{process, id});
}

const CodeInfo* Profile::code(ProcessId process, CodeId id) const {
  return find_or_null(data_->codes, InProcess<CodeId>{process, id});
}

const profile::ExecutionRecord* Profile::execution(ProcessId process, ExecutionHandle handle) const {
  return data_->executions.find(process, handle);
}

InProcess<ExecutionHandle> Profile::led_by(ProcessId process, ExecutionHandle execution) const {
  const Lead* lead = find_or_null(data_->leads, std::pair(process, execution));
  return lead == nullptr ? InProcess<ExecutionHandle>{process, execution}
                         : InProcess<ExecutionHandle>{lead->process, lead->execution};
}

CellKey Profile::for_leader(const CellKey& key) const {
  const Lead* lead =
      key.execution == 0 ? nullptr : find_or_null(data_->leads, std::pair(key.process, key.execution));
  if (lead == nullptr || key.region != 0) return key;  // kinds of regions are numbered by each process
  CellKey of_leader = key;
  of_leader.process = lead->process;
  of_leader.execution = lead->execution;
  if (key.engine_component != 0 && engine_component_name(key.process, key.engine_component) !=
                                       engine_component_name(lead->process, key.engine_component))
    return key;
  if (key.plan == 0) return of_leader;
  // Components have the same numbers in both plans: the worker's has fewer of them.
  const PlanModel *own = plan(key.process, key.plan), *whole = plan(lead->process, lead->plan);
  // Sets of components are numbered by each code object.
  const bool names_set = key.code != 0 && (key.link & 1) != 0;
  const bool fits = key.plan == lead->worker_plan && !names_set && own != nullptr && whole != nullptr &&
                    key.level < own->level_count() && key.level < whole->level_count() &&
                    own->component_count(key.level) <= whole->component_count(key.level);
  if (!fits) return key;
  of_leader.plan = lead->plan;
  of_leader.code = 0;
  if (whole->plan().pipelines_size() == 0)
    of_leader.pipeline = 0;  // what the worker calls so, others may not
  return of_leader;
}

const std::string* Profile::attachment(ProcessId process, PlanId id, std::string_view kind) const {
  const PlanModel* model = plan(process, id);
  if (model == nullptr) return nullptr;
  for (const v1::Attachment& attachment : model->plan().attachments()) {
    if (attachment.kind() != kind) continue;
    if (!attachment.content().empty()) return &attachment.content();
    return find_or_null(data_->attachments, InProcess<std::string>{process, attachment.sha256()});
  }
  return nullptr;
}

const profile::MappingRecord* Profile::mapping(ProcessId process, std::uint64_t address) const {
  const auto* all = find_or_null(data_->mappings, process);
  if (all == nullptr) return nullptr;
  const auto found = std::find_if(all->rbegin(), all->rend(), [&](const profile::MappingRecord& mapping) {
    return address >= mapping.begin && address - mapping.begin < mapping.size;
  });
  return found == all->rend() ? nullptr : &*found;
}

std::string Profile::engine_component_name(ProcessId process, std::uint32_t id) const {
  const std::string* name = find_or_null(data_->components, InProcess<std::uint32_t>{process, id});
  return name == nullptr ? fmt::format("component {}", id) : *name;
}

std::string Profile::region_name(ProcessId process, std::uint32_t kind) const {
  const v1::RegionKind* known = find_or_null(data_->region_kinds, InProcess<std::uint32_t>{process, kind});
  return known == nullptr ? fmt::format("region kind {}", kind) : known->name();
}

std::string Profile::wait_event(std::uint32_t number) const {
  const std::vector<std::string>& names = data_->recording.wait_names;
  if (number == 0) return "";
  return number <= names.size() ? names[number - 1] : fmt::format("wait {}", number);
}

std::string Profile::thread_name(ProcessId process, std::int32_t tid) const {
  const std::string* name = find_or_null(data_->threads, InProcess<std::int32_t>{process, tid});
  return name == nullptr ? std::string() : *name;
}

profile::Source Profile::source(std::uint16_t index) const {
  for (const profile::Source& source : data_->recording.sources) {
    if (source.index == index) return source;
  }
  return {index, fmt::format("source {}", index), profile::Unit::kEvents, 0, false};
}

}  // namespace tailor::query
