#include "daemon/query/sums/memory_points.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tailor::query {
namespace {

// Regions of one process by base address; of one base by the time they were added.
class Regions {
 public:
  explicit Regions(const Profile& profile) {
    std::vector<const profile::ActivityRecord*> records;
    for (const profile::ActivityRecord& record : profile.activity()) {
      if (record.kind == TAILOR_LOG_REGION_ADD || record.kind == TAILOR_LOG_REGION_REMOVE)
        records.push_back(&record);
    }
    std::stable_sort(records.begin(), records.end(),
                     [](const auto* a, const auto* b) { return a->time < b->time; });
    for (const profile::ActivityRecord* record : records) take(*record);
  }

  // Null: in none. The latest that began before the time counts.
  RegionLife* find(ProcessId process, std::uint64_t address, TimeNs time) {
    auto of_process = by_base_.find(process);
    if (of_process == by_base_.end()) return nullptr;
    auto& by_base = of_process->second;
    // A large region may begin far below smaller ones that lie before the address.
    std::size_t looked = 0;
    for (auto at = by_base.upper_bound(address); at != by_base.begin() && looked < kMostLooked; ++looked) {
      --at;
      const std::vector<std::size_t>& lives = at->second;
      auto each = std::upper_bound(lives.begin(), lives.end(), time,
                                   [this](TimeNs t, std::size_t life) { return t < lives_[life].from; });
      for (; each != lives.begin() && looked < kMostLooked; ++looked) {
        RegionLife& life = lives_[*--each];
        if (time < life.to && address - life.base < life.size) return &life;
      }
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t kMostLooked = 128;

  void take(const profile::ActivityRecord& record) {
    auto& same_base = by_base_[record.process][record.a];
    if (record.kind == TAILOR_LOG_REGION_REMOVE) {
      if (!same_base.empty() && lives_[same_base.back()].to == kTimeMax)
        lives_[same_base.back()].to = record.time;
      return;
    }
    same_base.push_back(lives_.size());
    lives_.push_back({record.process, record.id, record.tid, record.a, record.b, record.time, kTimeMax, 0});
  }

  std::vector<RegionLife> lives_;
  std::map<ProcessId, std::map<std::uint64_t, std::vector<std::size_t>>> by_base_;
};

struct Point {
  const TimedSample* sample = nullptr;
  RegionLife* region = nullptr;
  std::int32_t owner = -1;
  std::uint32_t pipeline = 0;
};

std::vector<Point> collect(const Profile& profile, const Selection& selection, std::uint16_t source,
                           const std::function<bool(const TimedSample&)>& keep, Regions& regions,
                           MemoryPoints& out) {
  const OwnerTable owners(profile, selection, source, OwnedBy::kOperator);
  out.owners = owners.owners();
  std::vector<Point> points;
  for (const TimedSample& sample : profile.samples()) {
    if (sample.key->source != source || sample.key->address_from == profile::AddressFrom::kNone) continue;
    const std::vector<OwnerPart>* parts = owners.parts(sample.key);
    if (parts == nullptr || (keep && !keep(sample))) continue;
    Point point{&sample, regions.find(sample.key->process, sample.address, sample.time)};
    const auto most = std::max_element(parts->begin(), parts->end(),
                                       [](const auto& a, const auto& b) { return a.part < b.part; });
    if (most != parts->end()) {
      point.owner = static_cast<std::int32_t>(most->owner);
      point.pipeline = most->pipeline;
    }
    if (point.region != nullptr) ++point.region->samples;
    points.push_back(point);
  }
  return points;
}

struct Steps {
  std::size_t length = 1;
  bool by_region = true;  // the first of each region is kept
};

// So that at most `most` of the points are kept; they are sorted by region.
Steps steps_of(const std::vector<Point>& points, std::size_t most) {
  if (points.size() <= most || most == 0) return {};
  std::size_t regions = 1;
  for (std::size_t i = 1; i < points.size(); ++i) regions += points[i].region != points[i - 1].region;
  if (regions > most / 2) return {(points.size() + most - 1) / most, false};
  return {(points.size() + most - regions - 1) / (most - regions), true};
}

}  // namespace

MemoryPoints memory_points(const Profile& profile, const Selection& selection, std::uint16_t source,
                           std::size_t most, const std::function<bool(const TimedSample&)>& keep) {
  MemoryPoints out;
  Regions regions(profile);
  std::vector<Point> points = collect(profile, selection, source, keep, regions, out);
  out.total = points.size();
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return std::tie(a.region, a.sample->time) < std::tie(b.region, b.sample->time);
  });
  const Steps steps = steps_of(points, most);
  std::map<const RegionLife*, std::int32_t> numbers;
  std::size_t since = 0;
  const RegionLife* before = nullptr;
  for (const Point& point : points) {
    if (most == 0) break;
    const bool same = !steps.by_region || point.region == before;
    if (!out.time.empty() && same && ++since < steps.length) {
      out.weight.back() += static_cast<double>(point.sample->weight);
      continue;
    }
    since = 0;
    before = point.region;
    std::int32_t number = -1;
    if (point.region != nullptr) {
      const auto [at, added] =
          numbers.try_emplace(point.region, static_cast<std::int32_t>(out.regions.size()));
      if (added) out.regions.push_back(*point.region);
      number = at->second;
    }
    out.time.push_back(point.sample->time);
    out.region.push_back(number);
    out.offset.push_back(point.region == nullptr ? point.sample->address
                                                 : point.sample->address - point.region->base);
    out.owner.push_back(point.owner);
    out.pipeline.push_back(point.pipeline);
    out.tid.push_back(point.sample->tid);
    out.execution.push_back(point.sample->key->execution);
    out.weight.push_back(static_cast<double>(point.sample->weight));
    out.latency.push_back(point.sample->latency);
  }
  return out;
}

}  // namespace tailor::query
