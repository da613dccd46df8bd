#include "daemon/query/reports/memory_spreads.h"

#include <set>
#include <utility>
#include <vector>

#include "daemon/query/sums/drawn_total.h"

namespace tailor::query {
namespace {

// What a row has of the execution at hand, and of all before it.
struct MemorySum {
  double now = 0;
  RowSpread spread;
};

// Each execution has a part in few rows: the others stay as they are.
class MemorySums {
 public:
  explicit MemorySums(const Profile& profile) : profile_(profile) {}

  void add(const Cost& cost) {
    now_ += cost.cell.weight;
    for_each_sum(cost, [&](MemorySum& sum, double part) {
      sum.now += cost.cell.weight * part;
      touched_.insert(&sum);
    });
  }

  void next() {
    for (MemorySum* sum : touched_) {
      const double row = std::exchange(sum->now, 0);
      sum->spread.add({0, row * row, row * now_});
    }
    touched_.clear();
    if (now_ > 0) everything_.add({1, 1, now_, now_ * now_});
    now_ = 0;
  }

  // Rows have weight outside of executions, too.
  void add_weight(const Cost& cost) {
    for_each_sum(cost, [&](MemorySum& sum, double part) { sum.spread.weight += cost.cell.weight * part; });
  }

  MemorySpreads finish(double drawn, const Cell& total) const {
    MemorySpreads out;
    out.everything = everything_;
    out.everything.drawn = drawn;
    std::vector<RowSpread> all = {without_address_.spread};
    for (const auto& [key, sum] : rows_) {
      out.rows[key] = sum.spread;
      all.push_back(sum.spread);
    }
    for (const auto& [key, sum] : kinds_) out.kinds[key] = sum.spread;
    out.average = effective_samples(out.everything, total.weight, independent_samples(total), all);
    return out;
  }

  static double independent_samples(const Cell& total) {
    return total.weight_squares > 0 ? total.weight * total.weight / total.weight_squares : 0;
  }

 private:
  void for_each_sum(const Cost& cost, const std::function<void(MemorySum&, double part)>& use) {
    if (!has_address(cost.key)) return use(without_address_, 1);
    use(kinds_[{cost.key.process, cost.key.region}], 1);
    for_each_memory_row(profile_, cost,
                        [&](const MemoryKey& row, double part, bool) { use(rows_[row], part); });
  }

  const Profile& profile_;
  double now_ = 0;
  WholeSpread everything_;
  MemorySum without_address_;
  std::map<MemoryKey, MemorySum> rows_;
  std::map<MemoryKind, MemorySum> kinds_;
  std::set<MemorySum*> touched_;
};

}  // namespace

bool has_address(const CellKey& key) {
  return key.address_from != profile::AddressFrom::kNone;
}

void for_each_memory_row(const Profile& profile, const Cost& cost,
                         const std::function<void(const MemoryKey&, double, bool)>& use) {
  const CellKey& key = cost.key;
  const auto nobodys = [&](std::string why) {
    return MemoryKey{key.process, 0, kNoComponent, std::move(why), key.region};
  };
  switch (cost.what) {
    case Cost::Class::kPlan: {
      const Owners& owners = cost.lineage->front();
      for (const Share& owner : owners) {
        const bool owned = owner.id != kNoComponent;
        use(owned ? MemoryKey{key.process, key.plan, owner.id, std::string(), key.region}
                  : nobodys(std::string(cost.reason.text)),
            owner.part, owners.size() > 1);
      }
      return;
    }
    case Cost::Class::kComponent:
      return use(nobodys(profile.engine_component_name(key.process, key.engine_component)), 1, false);
    case Cost::Class::kUnattributed:
      use(nobodys(std::string(cost.reason.text)), 1, false);
  }
}

MemorySpreads memory_spreads(const Profile& profile, const Selection& selection, std::uint16_t source,
                             const Cell& total) {
  const DrawnSum drawn = drawn_sum(profile, selection, source);
  if (drawn.drawn == drawn.executions) {
    MemorySpreads all;
    all.average = MemorySums::independent_samples(total);
    return all;
  }
  MemorySums sums(profile);
  for_each_cost_by_execution(
      profile, selection, source, [&](const Cost& cost) { sums.add(cost); }, [&] { sums.next(); });
  for_each_cost(profile, selection, source, [&](const Cost& cost) { sums.add_weight(cost); });
  return sums.finish(static_cast<double>(drawn.drawn) / static_cast<double>(drawn.executions), total);
}

}  // namespace tailor::query
