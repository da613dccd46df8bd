#include "daemon/query/load/profile_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "proto/base/errors.h"

namespace tailor::query {
namespace {

// Addresses beyond this number count as one: random jumps must not fill the memory of the profile's reader.
constexpr std::size_t kMaxPlaces = 1u << 18;

// What a node of a map takes beside strings, about.
constexpr std::size_t kNode = 160;
// What a label takes beside its strings, as ExecutionTable counts it.
constexpr std::size_t kLabel = 96;

// Tables of names.
enum : std::uint32_t { kProcesses, kThreads, kComponents, kRegionKinds };
constexpr std::size_t kShortName = 64;

// What LateNames keeps of it, about.
std::size_t late_bytes(const v1::CodeObject& code) {
  constexpr std::size_t kOfCode = 256, kOfRow = 24;
  return kOfCode + kOfRow * static_cast<std::size_t>(code.rows().offset_delta_size());
}

std::vector<CodeInfo::Function> functions_of(const v1::CodeObject& code) {
  std::vector<CodeInfo::Function> out;
  for (const v1::CodeSymbol& symbol : code.symbols()) {
    const std::uint32_t room = UINT32_MAX - symbol.offset();
    out.push_back({symbol.offset(), symbol.offset() + std::min(room, symbol.size()), symbol.name()});
  }
  std::ranges::stable_sort(out, {}, &CodeInfo::Function::begin);
  return out;
}

}  // namespace

void ProfileLoader::on_recording(const profile::RecordingInfo& info) {
  data_->recording = info;
}

bool ProfileLoader::may_keep(const ProfileShares::Item& item, std::size_t bytes) {
  if (measures_) {
    shares_->want(item, bytes + ProfileShares::kItem);
    return false;
  }
  if (shares_) return shares_->may_keep(item, bytes + ProfileShares::kItem);
  kept_ += bytes;
  return true;
}

void ProfileLoader::on_process(const profile::ProcessRecord& process) {
  std::size_t bytes = sizeof process + process.comm.size() + process.engine_name.size() +
                      process.engine_version.size() + process.agent_version.size() + process.cgroup.size() +
                      process.rules.size();
  for (const std::string& notice : process.agent_notices) bytes += sizeof(std::string) + notice.size();
  const bool whole = may_keep({process.process, Said::kNames, kProcesses, 0}, bytes);
  if (measures_) return;
  if (!whole && !data_->processes.contains(process.process))
    kept_ += kNode + sizeof process + process.comm.size() + process.cgroup.size();
  profile::ProcessRecord& kept = data_->processes[process.process] = process;
  if (!whole) {
    // That it was there is known all the same.
    kept.agent_notices.clear();
    for (std::string* name : {&kept.engine_name, &kept.engine_version, &kept.agent_version, &kept.rules}) {
      if (name->size() > kShortName) name->clear();
    }
  }
  if (names_are_whole_) return;
  names_.on_process(process);
  data_->timelines->on_process(process);
}

void ProfileLoader::on_thread(ProcessId process, std::int32_t tid, const std::string& name) {
  if (!may_keep({process, Said::kNames, kThreads, static_cast<std::uint32_t>(tid)}, kNode + name.size()))
    return;
  data_->threads[{process, tid}] = name;
}

void ProfileLoader::on_component(ProcessId process, std::uint32_t id, const std::string& name) {
  if (!may_keep({process, Said::kNames, kComponents, id}, kNode + name.size())) return;
  data_->components[{process, id}] = name;
  if (!names_are_whole_) names_.on_component(process, id);
}

void ProfileLoader::on_mapping(const profile::MappingRecord& mapping) {
  if (names_are_whole_ || measures_) return;
  // Nothing is anywhere: another program comes.
  if (mapping.path.empty() && mapping.begin == 0) names_.on_executed(mapping.process, mapping.time);
  data_->timelines->on_mapping(mapping);
}

void ProfileLoader::on_names(const profile::FileNames& names) {
  if (measures_) return;
  // Blocks that were passed over pay, too: the writer counted them.
  const std::uint64_t before = std::max(read_, data_->read.bytes);
  if (names_room_.take(store::memory_of(names), before)) return data_->names.add(names);
  data_->names_left_out += store::functions_left_out_with(names);
}

void ProfileLoader::on_region_kind(ProcessId process, const v1::RegionKind& kind) {
  if (!may_keep({process, Said::kNames, kRegionKinds, kind.id()}, kNode + kind.SpaceUsedLong())) return;
  data_->region_kinds[{process, kind.id()}] = kind;
}

void ProfileLoader::on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan) {
  block_of_ = process;
  std::size_t bytes = 2 * plan.SpaceUsedLong();  // its model is about as large
  for (const v1::Attachment& attachment : plan.attachments()) {
    // Moved out below.
    if (!attachment.sha256().empty()) bytes -= attachment.content().size();
    bytes += kNode;
  }
  if (!may_keep({process, Said::kPlans, 0, plan.id()}, kNode + bytes)) return;
  if (!names_are_whole_) names_.on_plan(process, loaded, plan);
  v1::Plan kept = plan;
  for (v1::Attachment& attachment : *kept.mutable_attachments()) {
    // Kept in the plan only where it cannot be found again by its hash.
    if (attachment.sha256().empty() || attachment.content().empty()) continue;
    data_->attachments[{process, attachment.sha256()}] = std::move(*attachment.mutable_content());
    attachment.clear_content();
  }
  const PlanId id = kept.id();
  data_->plans.insert_or_assign({process, id}, PlanModel(std::move(kept)));
}

std::size_t ProfileLoader::bytes_of(const v1::CodeObject& code) const {
  std::size_t bytes = kNode + code.name().size() + code.tier().size() + code.rows().SpaceUsedLong();
  for (const v1::Attachment& attachment : code.attachments()) {
    if (!attachment.sha256().empty()) bytes += kNode + attachment.content().size();
  }
  if (options_.code) {
    bytes += kNode + code.SpaceUsedLong() - code.eh_frame().size();
    for (const v1::Attachment& attachment : code.attachments()) bytes -= attachment.SpaceUsedLong();
  }
  if (!options_.functions) return bytes;
  for (const v1::CodeSymbol& symbol : code.symbols())
    bytes += sizeof(CodeInfo::Function) + symbol.name().size();
  return bytes;
}

void ProfileLoader::on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) {
  block_of_ = process;
  const std::size_t late = code.told_by() == v1::TOLD_BY_AGENT ? 0 : late_bytes(code);
  if (!may_keep({process, Said::kCode, 0, code.id()}, bytes_of(code) + late)) return;
  if (shares_ && !names_are_whole_) counted_twice_ += late;
  keep_code(process, loaded, code);
}

void ProfileLoader::keep_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) {
  const std::uint64_t size = code.size() != 0 ? code.size() : code.code().size();
  if (!names_are_whole_) {
    names_.on_code(process, loaded, code);
    // Names that came late are asked for their own code.
    if (code.told_by() == v1::TOLD_BY_AGENT)
      data_->timelines->on_code(process, loaded, code.id(), code.base(), size);
  }
  for (const v1::Attachment& attachment : code.attachments()) {
    if (attachment.sha256().empty() || attachment.content().empty()) continue;
    data_->attachments[{process, attachment.sha256()}] = attachment.content();
  }
  if (options_.code) {
    v1::CodeObject kept = code;
    kept.clear_eh_frame();
    kept.clear_attachments();
    data_->code_objects.insert_or_assign({process, code.id()}, std::move(kept));
  }
  CodeInfo info{code.plan_id(), code.name(), code.tier(), code.base(), size, code.rows().link_sets(), {}};
  if (options_.functions) info.functions = functions_of(code);
  data_->codes.insert_or_assign({process, code.id()}, std::move(info));
}

void ProfileLoader::on_code_unload(ProcessId process, TimeNs time, CodeId code) {
  if (names_are_whole_ || measures_) return;
  names_.on_code_unload(process, time, code);
  data_->timelines->on_code_unload(process, time, code);
}

// Its texts are told twice at least, and many have the same.
bool ProfileLoader::may_keep_texts(const profile::ExecutionRecord& execution) {
  std::size_t bytes = execution.error.size();
  std::uint64_t hash = std::hash<std::string_view>()(execution.error) + execution.plan;
  const auto mix = [&hash](std::string_view text) {
    hash = hash * 0x9E3779B97F4A7C15 + std::hash<std::string_view>()(text);
  };
  for (const auto& [key, value] : execution.labels) {
    bytes += kLabel + key.size() + value.size();
    mix(key);
    mix(value);
  }
  if (bytes == 0) return true;
  const std::uint64_t before = measures_ ? 0 : shares_->kept();
  const bool may = may_keep({execution.process, Said::kTexts, 0, hash}, bytes);
  if (!measures_) counted_twice_ += shares_->kept() - before;
  return may;
}

void ProfileLoader::on_execution(const profile::ExecutionRecord& execution) {
  if (!shares_ || may_keep_texts(execution)) return add_execution(execution);
  if (measures_) return;
  profile::ExecutionRecord without = execution;
  without.labels.clear();
  without.error.clear();
  add_execution(without);
}

void ProfileLoader::add_execution(const profile::ExecutionRecord& execution) {
  if (measures_) return;
  if (names_are_whole_) {
    names_.on_execution(execution);
  } else {
    names_.on_early_execution(execution);
  }
  data_->executions.add(execution);
  data_->last_time = std::max(data_->last_time, execution.begin);
}

void ProfileLoader::on_samples(std::span<const profile::SampleRecord> samples) {
  if (measures_) return;
  if (!names_are_whole_) {
    for (const profile::SampleRecord& sample : samples)
      if (sample.attribution.reason == profile::Reason::kNotRegistered)
        names_.on_unregistered(sample.process, sample.time);
    return select(samples);
  }
  renamed_.assign(samples.begin(), samples.end());
  for (profile::SampleRecord& sample : renamed_) {
    if (names_.apply(sample)) ++named_late_[sample.process];
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

std::uint32_t ProfileLoader::spot_of(const profile::SampleRecord& sample) {
  const CodeId id = sample.attribution.code;
  if (id == 0) return 0;
  const auto code = data_->codes.find({sample.process, id});
  if (code == data_->codes.end()) return code_.spot_of(CodeSpot{sample.process, id, CodeSpot::kSomewhere});
  return code_.spot_of(sample, code->second.base, code->second.size);
}

void ProfileLoader::add_to_hours(std::span<const profile::SampleRecord> samples) {
  constexpr std::uint64_t kHour = 3'600'000'000'000;
  const auto hour_of = [this](const profile::SampleRecord& sample) {
    return static_cast<std::int64_t>(data_->recording.wall_of(sample.time) / kHour);
  };
  // Runs of the same hour.
  for (auto next = samples.begin(); next != samples.end();) {
    const auto first = next;
    const std::int64_t hour = hour_of(*first);
    next = std::find_if(first, samples.end(), [&](const auto& sample) { return hour_of(sample) != hour; });
    hours_[hour].add({first, next});
  }
}

void ProfileLoader::add_slices(std::span<const profile::SampleRecord> samples) {
  numbers_.resize(samples.size());
  cells_.add(samples, numbers_.data());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    profile::Sum one;
    one.add(samples[i]);
    slicer_->add(samples[i].time, numbers_[i], one);
  }
}

// Their cells get the numbers of the finished profile.
void ProfileLoader::finish_slices() {
  std::vector<CellKey> keys;
  for (std::uint32_t i = 0; i < cells_.size(); ++i) keys.push_back(cells_.key(i));
  data_->cells = cells_.take();
  std::vector<std::uint32_t> places;
  for (const CellKey& key : keys) {
    const auto found = std::ranges::lower_bound(data_->cells, key, {}, &Cells::value_type::first);
    places.push_back(static_cast<std::uint32_t>(found - data_->cells.begin()));
  }
  data_->slice_ns = slicer_->slice_ns();
  data_->slices = slicer_->take();
  for (SliceRow& row : data_->slices) row.cell = places[row.cell];
}

void ProfileLoader::add(std::span<const profile::SampleRecord> samples) {
  if (slicer_) {
    add_slices(samples);
  } else {
    cells_.add(samples);
  }
  if (options_.hours) add_to_hours(samples);
  TimeNs last = data_->last_time;
  for (const profile::SampleRecord& sample : samples) {
    last = std::max(last, sample.time);
    const std::uint32_t node = options_.functions ? functions_->add(sample) : 0;
    const std::uint32_t spot = options_.code ? spot_of(sample) : 0;
    if (options_.keep_samples || spot != 0) {
      const CellKey& key = *keys_.insert(key_of(sample)).first;
      code_.add(spot, &key, sample.weight);
      if (options_.keep_samples)
        data_->samples.push_back({sample.time, sample.tid, node, sample.weight, &key, sample.address,
                                  sample.latency, sample.cpu, spot});
    }
    if (sample.attribution.how == profile::How::kUnattributed) {
      profile::Sum one;
      one.add(sample);
      add_place(place_of(sample), one);
    }
  }
  data_->last_time = last;
}

void ProfileLoader::add_place(PlaceKey place, const profile::Sum& sum) {
  if (data_->places.size() >= kMaxPlaces) place.address = 0;
  data_->places[place].add(sum);
}

bool ProfileLoader::are_enough(const store::BlockSums& sums) const {
  if (!options_.sums || options_.keep_samples || options_.functions || options_.code || options_.hours ||
      slicer_)
    return false;
  if (sums.first() < options_.from || sums.last() > options_.to) return false;
  // Late names change whom samples belong to.
  const auto renamed = [this](const auto& cell) { return names_.came_late(cell.first.process); };
  if (names_are_whole_ && std::ranges::any_of(sums.cells, renamed)) return false;
  // With these the limit is either reached before all of them or behind all of them.
  return data_->places.size() >= kMaxPlaces || data_->places.size() + sums.places.size() <= kMaxPlaces;
}

bool ProfileLoader::leaves_out(TimeNs first, TimeNs last) const {
  return options_.sums && (last < options_.from || first > options_.to);
}

bool ProfileLoader::take(const store::BlockSums& sums) {
  if (measures_) return true;  // samples are not asked for
  if (!are_enough(sums)) return false;
  for (const auto& [key, sum] : sums.cells) {
    cells_.add(sample_of(key), sum);
    if (!names_are_whole_ && key.reason == profile::Reason::kNotRegistered)
      names_.on_unregistered(key.process, sums.first());
  }
  for (const auto& [place, sum] : sums.places) add_place(place, sum);
  data_->last_time = std::max(data_->last_time, sums.last());
  return true;
}

bool ProfileLoader::may_keep_mark(ProcessId process) {
  constexpr std::size_t kBytes = 2 * sizeof(profile::ActivityRecord);  // its vector grows by doubling
  if (measures_) {
    shares_->want_more(process, kBytes);
    return false;
  }
  if (!shares_) return true;
  if (!shares_->may_keep_mark(process, kBytes)) return false;
  counted_twice_ += kBytes;
  return true;
}

void ProfileLoader::on_activity(std::span<const profile::ActivityRecord> records) {
  if (!options_.keep_samples && !options_.keep_activity) return;
  for (const profile::ActivityRecord& record : records) {
    const bool is_mark = options_.keep_samples &&
                         (record.kind == TAILOR_LOG_EXECUTION_BEGIN ||
                          record.kind == TAILOR_LOG_EXECUTION_END || record.kind == TAILOR_LOG_ITERATION);
    if (!is_mark && !options_.keep_activity) continue;
    if (!may_keep_mark(record.process)) continue;
    if (options_.keep_activity) data_->activity.push_back(record);
    if (is_mark) data_->marks.push_back(record);
  }
}

void ProfileLoader::on_accounting(const profile::Accounting& accounting) {
  if (measures_) return;
  if (!data_->accounting.contains(accounting.process)) kept_ += kNode + 2 * sizeof accounting;
  data_->accounting[accounting.process] = accounting;
}

void ProfileLoader::on_watermark(TimeNs watermark) {
  data_->last_time = std::max(data_->last_time, watermark);
}

ProfileShares ProfileLoader::take_shares() {
  shares_->divide(read_);
  return *std::exchange(shares_, std::nullopt);
}

Status ProfileLoader::may_go_on(std::uint64_t read) {
  if (measures_ && block_of_) shares_->paid(*block_of_, read - std::min(read, read_));
  block_of_.reset();
  read_ = std::max(read_, read);
  if (measures_) return Ok{};
  const std::uint64_t samples =
      data_->samples.capacity() * sizeof(TimedSample) + keys_.size() * 2 * sizeof(CellKey);
  const std::uint64_t places = data_->places.size() * (sizeof(PlaceKey) + sizeof(profile::Sum) + kNode);
  const std::uint64_t marks =
      (data_->marks.capacity() + data_->activity.capacity()) * sizeof(profile::ActivityRecord);
  std::uint64_t hours = 0;
  for (const auto& [hour, cells] : hours_) hours += 2 * cells.bytes();
  // Names of functions have a budget of their own.
  std::uint64_t taken = hours + kept_ + data_->executions.bytes() + 2 * cells_.bytes() + samples + places +
                        marks + names_.bytes() + (slicer_ ? slicer_->bytes() : 0) + functions_->bytes() +
                        data_->timelines->bytes() + code_.bytes();
  // What has shares has its own budget, and what was learned before was judged then.
  taken -= std::min<std::uint64_t>(taken, counted_twice_ + carried_);
  if (taken <= store::memory_budget(read)) return Ok{};
  needs_shares_ = !shares_;
  return exhausted(
      fmt::format("{} MB of blocks hold what would take more than {} MB of memory, which is more than a "
                  "profile of that size may take: it is damaged, was made to do harm, or says very much in "
                  "few bytes; a part of its time takes less",
                  (read >> 20) + 1, taken >> 20));
}

Profile ProfileLoader::finish() {
  if (shares_) data_->left_out = shares_->left_out();
  if (names_are_whole_) data_->late_left_out = names_.left_out();
  if (slicer_) {
    finish_slices();
  } else {
    data_->cells = cells_.take();
  }
  for (auto& [hour, cells] : hours_) data_->sums_of_hours[hour] = cells.take_sums();
  if (options_.functions) data_->functions = functions_->take();
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
  data_->code_sums = code_.take([&](const CellKey* key) { return kept.at(key); });
  if (data_->names_left_out + data_->loss.names > 0) data_->names.miss_some();
  data_->names.finish();
  data_->executions.sort();
  data_->leads = find_leads(data_->executions);
  return Profile(std::move(data_));
}

}  // namespace tailor::query
