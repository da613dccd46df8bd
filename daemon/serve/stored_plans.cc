#include "daemon/serve/stored_plans.h"

#include <map>

#include "daemon/profile/ignoring_sink.h"
#include "daemon/serve/plan_shape.h"
#include "daemon/store/store_reader.h"

namespace tailor::serve {
namespace {

// Looks at the plans of one recording that are asked for, and at nothing else.
class ShapeSink : public profile::IgnoringSink {
 public:
  ShapeSink(store::RecordingNumber recording, const std::set<PlanKey>& wanted, PlanShapes& out)
      : recording_(recording), wanted_(wanted), out_(out) {}

  void on_plan(ProcessId process, TimeNs, const v1::Plan& plan) override {
    const PlanKey key{recording_, process, plan.id()};
    if (wanted_.contains(key)) out_.insert_or_assign(key, plan_shape(query::PlanModel(plan)));
  }

 private:
  const store::RecordingNumber recording_;
  const std::set<PlanKey>& wanted_;
  PlanShapes& out_;
};

}  // namespace

Result<PlanShapes> shapes_in_store(const std::string& directory, const store::Catalogue& catalogue,
                                   const std::set<PlanKey>& plans, const Stop& stop,
                                   const query::OnDamage& on_damage) {
  std::map<store::RecordingNumber, std::set<std::uint64_t>> segments;
  for (const PlanKey& key : plans) {
    if (stop.stopped()) return stop.error();
    auto found = catalogue.segments_of(key.recording, {key.process, store::EntryKind::kPlan, key.plan});
    if (!found) return found.error();
    segments[key.recording].insert(found->begin(), found->end());
  }
  PlanShapes shapes;
  for (const auto& [recording, numbers] : segments) {
    ShapeSink sink(recording, plans, shapes);
    store::ReadReport report;
    store::SaidLoss loss;
    Status read = store::read_dictionaries(
        directory, numbers, sink, report, loss,
        [&](std::uint64_t) -> Status { return stop.stopped() ? Status(stop.error()) : Status(Ok{}); });
    if (!read) return read.error();
    const std::string damage = query::damage_text(report, loss);
    if (on_damage && !damage.empty()) on_damage(damage);
  }
  return shapes;
}

}  // namespace tailor::serve
