// sample_rows PROFILE: the samples of a profile with their raw evidence, and whose they are by all that is
// known at its end, one a line, tab-separated: TIME USER_ADDRESS WEIGHT RULE QUERY OPERATOR. QUERY is the
// text of the execution's label "query", OPERATOR the name of the one operator that owns the sample,
// "several" or "".
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <string>

#include "daemon/query/load/late_names.h"
#include "daemon/query/load/plan_model.h"
#include "daemon/store/profile_reader.h"

namespace {

using tailor::profile::ExecutionRecord;
using tailor::profile::SampleRecord;
using tailor::query::PlanModel;

class Printer : public tailor::profile::ProfileSink {
 public:
  // The first pass keeps what is said of plans, code and executions; only then are samples printed.
  bool print = false;

  void on_plan(tailor::ProcessId process, tailor::TimeNs loaded, const tailor::v1::Plan& plan) override {
    if (!print) names_.on_plan(process, loaded, plan);
    plans_.insert_or_assign({process, plan.id()}, PlanModel(plan));
  }
  void on_code(tailor::ProcessId process, tailor::TimeNs loaded,
               const tailor::v1::CodeObject& code) override {
    if (!print) names_.on_code(process, loaded, code);
    sets_[{process, code.id()}] = code.rows().link_sets();
  }
  void on_code_unload(tailor::ProcessId process, tailor::TimeNs time, tailor::CodeId code) override {
    if (!print) names_.on_code_unload(process, time, code);
  }
  void on_execution(const ExecutionRecord& execution) override {
    if (print) names_.on_execution(execution);
    for (const auto& [key, value] : execution.labels) {
      if (key == "query") queries_[{execution.process, execution.handle}] = value;
    }
  }
  void on_samples(std::span<const SampleRecord> samples) override {
    if (!print) return;
    for (SampleRecord each : samples) {
      names_.apply(each);
      const std::uint64_t address = each.mode == tailor::profile::Mode::kUser ? each.ip : each.user_ip;
      fmt::print("{}\t{}\t{}\t{}\t{}\t{}\n", each.time, address, each.weight,
                 static_cast<int>(each.attribution.how), queries_[{each.process, each.attribution.execution}],
                 operator_of(each));
    }
  }
  void on_recording(const tailor::profile::RecordingInfo&) override {}
  void on_process(const tailor::profile::ProcessRecord& process) override {
    if (!print) names_.on_process(process);
  }
  void on_thread(tailor::ProcessId, std::int32_t, const std::string&) override {}
  void on_component(tailor::ProcessId process, std::uint32_t id, const std::string&) override {
    if (!print) names_.on_component(process, id);
  }
  void on_region_kind(tailor::ProcessId, const tailor::v1::RegionKind&) override {}
  void on_activity(std::span<const tailor::profile::ActivityRecord>) override {}
  void on_accounting(const tailor::profile::Accounting&) override {}
  void on_watermark(tailor::TimeNs) override {}

 private:
  std::string operator_of(const SampleRecord& sample) {
    const auto plan = plans_.find({sample.process, sample.attribution.plan});
    if (plan == plans_.end()) return "";
    const auto owners = plan->second.lineage(sample.attribution.level, sample.attribution.link,
                                             sets_[{sample.process, sample.attribution.code}])[0];
    if (owners.size() != 1) return "several";
    return owners[0].id == 0 ? "" : plan->second.component_name(0, owners[0].id);
  }

  tailor::query::LateNames names_;
  std::map<std::pair<tailor::ProcessId, tailor::PlanId>, PlanModel> plans_;
  std::map<std::pair<tailor::ProcessId, tailor::CodeId>, tailor::query::LinkSets> sets_;
  std::map<std::pair<tailor::ProcessId, tailor::ExecutionHandle>, std::string> queries_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  Printer printer;
  for (bool print : {false, true}) {
    printer.print = print;
    auto input = tailor::store::open_file(arguments[1]);
    tailor::store::ReadReport report;
    tailor::store::SaidLoss loss;
    if (!input || !tailor::store::read_profile(**input, printer, report, loss)) return 1;
  }
  return 0;
}
