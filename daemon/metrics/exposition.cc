#include "daemon/metrics/exposition.h"

#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <sstream>

#include "proto/base/utf8.h"

namespace tailor::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

using Labels = std::vector<ClientMetric::Label>;

class Families {
 public:
  void add(const char* name, const char* help, MetricType type, const Labels& labels, double value) {
    if (all_.empty() || all_.back().name != name) all_.push_back({name, help, type, {}});
    ClientMetric metric;
    metric.label = labels;
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    all_.back().metric.push_back(std::move(metric));
  }
  void counter(const char* name, const char* help, double value, const Labels& labels = {}) {
    add(name, help, MetricType::Counter, labels, value);
  }
  void gauge(const char* name, const char* help, double value, const Labels& labels = {}) {
    add(name, help, MetricType::Gauge, labels, value);
  }
  void table(const char* name, const char* help, const std::vector<const char*>& names,
             const std::vector<std::pair<LabelValues, double>>& rows) {
    // Labels that were long may be the same once they are cut.
    std::map<LabelValues, double> shown;
    for (const auto& [values, value] : rows) {
      LabelValues texts;
      for (const std::string& text : values) texts.push_back(printable(text));
      shown[std::move(texts)] += value;
    }
    for (const auto& [values, value] : shown) {
      Labels labels;
      for (std::size_t i = 0; i < names.size(); ++i) labels.push_back({names[i], values[i]});
      counter(name, help, value, labels);
    }
  }

  // Label values are UTF-8; engines may say anything.
  static std::string printable(const std::string& value) {
    constexpr std::size_t kLongest = 128;
    if (!is_utf8(value)) return "(not UTF-8)";
    std::string out = value.substr(0, kLongest);
    while (!is_utf8(out)) out.pop_back();
    return out;
  }

  std::string text() const {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, all_);
    return out.str();
  }

 private:
  std::vector<MetricFamily> all_;
};

double resident_bytes() {
  unsigned long pages = 0, resident = 0;
  if (std::FILE* statm = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(statm, "%lu %lu", &pages, &resident) != 2) resident = 0;
    std::fclose(statm);
  }
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void add_health(const v1::DaemonStatus& status, Families& out) {
  const v1::ProcessAccounting& total = status.total();
  const char* samples = "tailor_samples_total";
  const char* help = "Samples that arrived, by what became of them.";
  out.counter(samples, help, static_cast<double>(total.attributed()), {{"state", "attributed"}});
  out.counter(samples, help, static_cast<double>(total.unattributed()), {{"state", "unattributed"}});
  out.counter(samples, help, static_cast<double>(total.filtered()), {{"state", "filtered"}});
  out.counter(samples, help, static_cast<double>(total.late()), {{"state", "late"}});
  out.counter(samples, help, static_cast<double>(total.counted_by_other()), {{"state", "counted_by_other"}});
  out.counter(samples, help, static_cast<double>(total.not_drawn()), {{"state", "not_drawn"}});
  out.counter(
      "tailor_not_drawn_seconds_total",
      "CPU time of executions that are not drawn (--sample-executions). It is in no other metric; those of "
      "operators are scaled for it.",
      static_cast<double>(total.not_drawn_ns()) * 1e-9);
  const char* lost = "tailor_samples_lost_total";
  const char* why = "Samples that were lost before they arrived, or could not be written.";
  out.counter(lost, why, static_cast<double>(total.lost_ring()), {{"where", "ring"}});
  out.counter(lost, why, static_cast<double>(total.lost_hardware()), {{"where", "hardware"}});
  out.counter(lost, why, static_cast<double>(status.store_loss().samples()), {{"where", "store"}});
  out.counter("tailor_throttled_total", "How often the kernel stopped an event that came too often.",
              static_cast<double>(total.throttled()));
  out.counter("tailor_messages_rejected_total", "Messages of agents that made no sense.",
              static_cast<double>(total.messages_rejected()));
  out.counter("tailor_agent_messages_dropped_total",
              "Messages that agents dropped, as they say: their queues were full, for example.",
              static_cast<double>(total.agent_dropped()));
  // No counter: agents that connect again send them.
  out.gauge("tailor_agent_messages_unsent",
            "Messages that agents had not sent when their connection ended, and have not sent since.",
            static_cast<double>(total.agent_unsent()));
  out.counter("tailor_agents_refused_total", "Agents whose connection was refused.",
              static_cast<double>(status.agents_refused()));
  out.counter("tailor_problems_total", "Problems that were logged.", static_cast<double>(status.problems()));
  std::size_t sampled = 0;
  for (const v1::ProcessStatus& process : status.processes()) sampled += process.sampled() ? 1 : 0;
  const char* processes = "tailor_processes";
  out.gauge(processes, "Processes that registered.", static_cast<double>(sampled), {{"sampled", "yes"}});
  out.gauge(processes, "Processes that registered.",
            static_cast<double>(static_cast<std::size_t>(status.processes_size()) - sampled),
            {{"sampled", "no"}});
  std::map<std::pair<std::string, std::string>, std::size_t> engines;
  for (const v1::ProcessStatus& process : status.processes())
    ++engines[{Families::printable(process.info().engine_name()),
               Families::printable(process.info().engine_version())}];
  for (const auto& [engine, count] : engines) {
    out.gauge("tailor_engine_info", "Processes that registered, by engine and version.",
              static_cast<double>(count), {{"engine", engine.first}, {"version", engine.second}});
  }
  out.counter("tailor_store_unsummed_samples_total",
              "Samples that retention deleted without sums, because none could be written.",
              static_cast<double>(status.unsummed().samples()));
  out.gauge("tailor_store_broken", "1: the store could not be written lately.",
            status.store_problem().empty() ? 0 : 1);
  out.counter("tailor_own_cpu_seconds_total", "CPU time of the daemon.",
              static_cast<double>(status.own_cpu_ns()) * 1e-9);
  out.gauge(
      "tailor_own_longest_step_seconds",
      "The longest step of the thread that serves all agents, in the last minute. Time in the run queue "
      "does not count.",
      static_cast<double>(status.longest_step_ns()) * 1e-9);
  out.counter("tailor_own_long_steps_total", "Steps of that thread that took more than 20 ms.",
              static_cast<double>(status.long_steps()));
  out.gauge("tailor_own_held_up_seconds",
            "For how long that thread has not answered. Above zero, its counts are from before.",
            static_cast<double>(status.held_up_ns()) * 1e-9);
  out.gauge("tailor_own_resident_bytes", "Memory of the daemon.", resident_bytes());
  out.gauge("tailor_uptime_seconds", "Since the daemon started.",
            static_cast<double>(status.uptime_ns()) * 1e-9);
  out.gauge("tailor_build_info", "Always 1; the version is a label.", 1,
            {{"version", status.daemon_version()}});
}

}  // namespace

std::string exposition(const MeterReading& meter, const v1::DaemonStatus& status) {
  Families out;
  out.table("tailor_operator_cpu_seconds_total", "CPU time of operators.",
            {"fingerprint", "query", "operator_kind", "database", "user"}, meter.operators);
  out.table("tailor_component_cpu_seconds_total", "CPU time of engine components.", {"component"},
            meter.components);
  out.table("tailor_unattributed_cpu_seconds_total", "CPU time that nothing explains, by reason.", {"reason"},
            meter.unattributed);
  out.counter("tailor_cpu_seconds_total",
              "CPU time in samples: operators, components and unattributed together.", meter.on_cpu_seconds);
  out.table("tailor_off_cpu_seconds_total", "Time off the CPU, by what was waited for.", {"wait", "event"},
            meter.off_cpu);
  out.table("tailor_plan_changes_total",
            "Executions whose plan is another one than that of the execution of the query before.",
            {"fingerprint", "query"}, meter.plan_changes);
  out.counter("tailor_executions_total", "Executions that ended.",
              static_cast<double>(meter.executions - meter.failed), {{"result", "ok"}});
  out.counter("tailor_executions_total", "Executions that ended.", static_cast<double>(meter.failed),
              {{"result", "error"}});
  out.counter("tailor_execution_seconds_total", "Elapsed time of executions that ended.",
              meter.execution_seconds);
  out.counter("tailor_executions_untimed_total",
              "Executions that ended and are in no elapsed time: they add up runs, not known how many.",
              static_cast<double>(meter.untimed));
  out.counter("tailor_executions_drawn_total", "Executions that ended and were sampled.",
              static_cast<double>(meter.drawn));
  out.gauge("tailor_executions_drawn_ratio",
            "The share of the executions that is sampled: CPU time within executions is divided by it.",
            meter.drawn_share);
  out.counter(
      "tailor_cpu_seconds_variance_total",
      "Variance of tailor_cpu_seconds_total, in square seconds, that comes from sampling a share of the "
      "executions.",
      meter.on_cpu_variance);
  add_health(status, out);
  return out.text();
}

}  // namespace tailor::metrics
