#include <fmt/format.h>

#include <algorithm>

#include "daemon/query/profile.h"
#include "proto/base/errors.h"

namespace tailor::query {
namespace {

// Addresses beyond so many are not told apart: random jumps must not fill the memory of who reads the
// profile.
constexpr std::size_t kMaxPlaces = 1u << 18;

// What a node of a map takes beside strings, about.
constexpr std::size_t kNode = 160;

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

void ProfileLoader::on_process(const profile::ProcessRecord& process) {
  count_kept(sizeof process + process.comm.size() + process.engine_name.size() + process.cgroup.size());
  data_->processes[process.process] = process;
  if (names_are_whole_) return;
  names_.on_process(process);
  data_->timelines->on_process(process);
}

void ProfileLoader::on_thread(ProcessId process, std::int32_t tid, const std::string& name) {
  count_kept(kNode + name.size());
  data_->threads[{process, tid}] = name;
}

void ProfileLoader::on_component(ProcessId process, std::uint32_t id, const std::string& name) {
  count_kept(kNode + name.size());
  data_->components[{process, id}] = name;
  if (!names_are_whole_) names_.on_component(process, id);
}

void ProfileLoader::on_mapping(const profile::MappingRecord& mapping) {
  if (!names_are_whole_) data_->timelines->on_mapping(mapping);
}

void ProfileLoader::on_region_kind(ProcessId process, const v1::RegionKind& kind) {
  count_kept(kNode + kind.SpaceUsedLong());
  data_->region_kinds[{process, kind.id()}] = kind;
}

void ProfileLoader::on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan) {
  if (!names_are_whole_) names_.on_plan(process, loaded, plan);
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
  if (!names_are_whole_) {
    names_.on_code(process, loaded, code);
    const std::uint64_t size = code.size() != 0 ? code.size() : code.code().size();
    // Names that came late are asked for their own code.
    if (code.told_by() == v1::TOLD_BY_AGENT)
      data_->timelines->on_code(process, loaded, code.id(), code.base(), size);
  }
  for (const v1::Attachment& attachment : code.attachments()) {
    if (attachment.sha256().empty() || attachment.content().empty()) continue;
    count_kept(kNode + attachment.content().size());
    data_->attachments[{process, attachment.sha256()}] = attachment.content();
  }
  count_kept(kNode + code.name().size() + code.rows().SpaceUsedLong());
  if (options_.code) {
    v1::CodeObject kept = code;
    kept.clear_eh_frame();
    kept.clear_attachments();
    count_kept(kNode + kept.SpaceUsedLong());
    data_->code_objects.insert_or_assign({process, code.id()}, std::move(kept));
  }
  const std::uint64_t size = code.size() != 0 ? code.size() : code.code().size();
  CodeInfo info{code.plan_id(), code.name(), code.tier(), code.base(), size, code.rows().link_sets(), {}};
  if (options_.functions) {
    info.functions = functions_of(code);
    for (const CodeInfo::Function& function : info.functions)
      count_kept(sizeof function + function.name.size());
  }
  data_->codes.insert_or_assign({process, code.id()}, std::move(info));
}

void ProfileLoader::on_code_unload(ProcessId process, TimeNs time, CodeId code) {
  if (names_are_whole_) return;
  names_.on_code_unload(process, time, code);
  data_->timelines->on_code_unload(process, time, code);
}

void ProfileLoader::on_execution(const profile::ExecutionRecord& execution) {
  if (names_are_whole_) {
    names_.on_execution(execution);
  } else {
    names_.on_early_execution(execution);
  }
  data_->executions.add(execution);
  data_->last_time = std::max(data_->last_time, execution.begin);
}

void ProfileLoader::on_samples(std::span<const profile::SampleRecord> samples) {
  if (!names_are_whole_) return select(samples);
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
  if (!are_enough(sums)) return false;
  for (const auto& [key, sum] : sums.cells) cells_.add(sample_of(key), sum);
  for (const auto& [place, sum] : sums.places) add_place(place, sum);
  data_->last_time = std::max(data_->last_time, sums.last());
  return true;
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
  const std::uint64_t places = data_->places.size() * (sizeof(PlaceKey) + sizeof(profile::Sum) + kNode);
  const std::uint64_t marks =
      (data_->marks.capacity() + data_->activity.capacity()) * sizeof(profile::ActivityRecord);
  std::uint64_t hours = 0;
  for (const auto& [hour, cells] : hours_) hours += 2 * cells.bytes();
  const std::uint64_t taken = hours + kept_ + data_->names.bytes() + data_->executions.bytes() +
                              2 * cells_.bytes() + samples + places + marks + names_.bytes() +
                              (slicer_ ? slicer_->bytes() : 0) + functions_->bytes() +
                              data_->timelines->bytes() + code_.bytes();
  if (taken <= store::memory_budget(read)) return Ok{};
  return exhausted(
      fmt::format("{} MB of blocks hold what would take more than {} MB of memory: no recorder writes such a "
                  "profile; it is damaged or was made to do harm",
                  (read >> 20) + 1, taken >> 20));
}

Profile ProfileLoader::finish() {
  if (slicer_) {
    finish_slices();
  } else {
    data_->cells = cells_.take();
  }
  for (auto& [hour, cells] : hours_) data_->hours[hour] = cells.take();
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
  data_->names.finish();
  data_->executions.sort();
  data_->leads = find_leads(data_->executions);
  return Profile(std::move(data_));
}

}  // namespace tailor::query
