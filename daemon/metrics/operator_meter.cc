#include "daemon/metrics/operator_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <optional>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/cell.h"
#include "daemon/profile/draw.h"
#include "daemon/profile/leader.h"
#include "daemon/query/sums/costs.h"
#include "daemon/query/sums/terms.h"
#include "daemon/query/time/waits.h"
#include "daemon/redact/sql_text.h"
#include "daemon/serve/fingerprint.h"
#include "daemon/serve/kind_costs.h"
#include "daemon/serve/plan_shape.h"
#include "daemon/serve/short_text.h"

namespace tailor::metrics {
namespace {

constexpr std::chrono::seconds kPeriod{1};
constexpr double kNs = 1e-9;
// Of what is kept of a text, in bytes: engines may say anything.
constexpr std::size_t kLongestLabel = 128;
// Of texts that were not looked at yet. Beyond it long ones are left out: their executions count, without a
// query.
constexpr std::size_t kMostNewText = std::size_t{16} << 20;
constexpr std::size_t kLongText = 1024;

std::string label(const profile::ExecutionRecord& execution, std::string_view key) {
  for (const auto& [name, value] : execution.labels) {
    if (name == key) return serve::short_text(value, kLongestLabel);
  }
  return {};
}

// Things by process and id up to a size of all together, those forgotten first that nobody asked for longest.
template <typename Id, typename Value>
class Shelf {
 public:
  explicit Shelf(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  Value* find(ProcessId process, Id id) {
    const auto found = at_.find({process, id});
    if (found == at_.end()) return nullptr;
    things_.splice(things_.begin(), things_, found->second);
    return &found->second->value;
  }
  void drop(ProcessId process, Id id) {
    if (const auto found = at_.find({process, id}); found != at_.end()) forget(found->second);
  }
  // What was put last is always there.
  void put(ProcessId process, Id id, Value value, std::size_t bytes) {
    drop(process, id);
    things_.push_front({{process, id}, std::move(value), bytes + kNode});
    at_[{process, id}] = things_.begin();
    bytes_ += bytes + kNode;
    while (bytes_ > most_bytes_ && things_.size() > 1) forget(std::prev(things_.end()));
  }

 private:
  static constexpr std::size_t kNode = 160;  // what lists and maps take for each, about
  struct Thing {
    std::pair<ProcessId, Id> key;
    Value value;
    std::size_t bytes;
  };
  void forget(typename std::list<Thing>::iterator thing) {
    bytes_ -= thing->bytes;
    at_.erase(thing->key);
    things_.erase(thing);
  }

  const std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::list<Thing> things_;
  std::map<std::pair<ProcessId, Id>, typename std::list<Thing>::iterator> at_;
};

// The name of a plan, "" of none.
std::string query_of(const query::PlanModel* plan) {
  return plan == nullptr ? std::string()
                         : serve::short_text(redact::name_without_literals(plan->name()), kLongestLabel);
}

std::size_t bytes_of(const query::LinkSets& sets) {
  std::size_t bytes = 0;
  for (const auto& set : sets) bytes += set.SpaceUsedLong();
  return bytes;
}

v1::Plan without_attachments(const v1::Plan& plan) {
  v1::Plan copy;
  copy.set_id(plan.id());
  copy.set_name(plan.name());
  *copy.mutable_levels() = plan.levels();
  *copy.mutable_pipelines() = plan.pipelines();
  return copy;
}

struct KnownPlan {
  std::unique_ptr<query::PlanModel> model;
  std::uint64_t shape = 0;
};

struct Run {
  std::string fingerprint, database, user, query;
  bool ended = false;
  bool is_worker = false;  // of a parallel query: the texts are its leader's
  double cpu_seconds = 0;  // so far, where a share of the executions is sampled

  std::size_t bytes() const {
    return sizeof *this + fingerprint.size() + database.size() + user.size() + query.size();
  }
};

}  // namespace

// What the meter knows and has added up. One thread at a time.
class OperatorMeter::Books {
 public:
  explicit Books(const SeriesTable::Options& options)
      : operators_(5, options),
        components_(1, options),
        unattributed_(1, {}),
        off_cpu_(2, options),
        plan_changes_(2, {.most = options.most, .least_share = 0, .idle = options.idle}) {}

  void learn(News news) {
    for (profile::Source& source : news.sources) units_[source.index] = source.unit;
    if (news.drawn) scale_ = profile::scale_of(*news.drawn);
    if (!news.wait_names.empty()) wait_names_ = std::move(news.wait_names);
    for (auto& [process, id, name] : news.components) {
      name = serve::short_text(name, kLongestLabel);
      const std::size_t bytes = name.size();
      names_.put(process, id, std::move(name), bytes);
    }
    for (auto& [process, plan] : news.plans) learn(process, std::move(plan));
    for (auto& [process, plan] : news.large_plans) learn(process, std::exchange(plan, {}));
    for (auto& [process, id, sets] : news.codes) learn(process, id, std::move(sets));
    for (auto& [process, code] : news.large_codes) {
      learn(process, code->id(), code->rows().link_sets());
      code.reset();
    }
    for (const profile::ExecutionRecord& execution : news.executions) learn(execution);
  }

  void add(const query::Cells& cells) {
    const SeriesTable::Clock::time_point now = SeriesTable::Clock::now();
    const query::Dictionaries known = {
        [this](ProcessId process, PlanId id) -> const query::PlanModel* {
          const auto* found = plans_.find(process, id);
          return found == nullptr ? nullptr : found->model.get();
        },
        [this](ProcessId process, CodeId id) -> const query::LinkSets* { return codes_.find(process, id); }};
    query::for_each_cost(known, cells, [&](const query::Cost& cost) { add(cost, now); });
  }

  MeterReading read() const {
    MeterReading out{
        operators_.read(), components_.read(), unattributed_.read(), off_cpu_.read(), 0, executions_,
        failed_,           execution_seconds_};
    out.on_cpu_seconds = operators_.sum() + components_.sum() + unattributed_.sum();
    out.drawn = drawn_;
    out.untimed = untimed_;
    out.drawn_share = 1 / scale_;
    out.on_cpu_variance = variance_;
    out.plan_changes = plan_changes_.read();
    out.by_kind = by_kind_;
    return out;
  }

 private:
  void learn(ProcessId process, v1::Plan plan) {
    const PlanId id = plan.id();
    const std::size_t bytes = 2 * plan.SpaceUsedLong();  // its model is about as large
    KnownPlan known{std::make_unique<query::PlanModel>(std::move(plan))};
    known.shape = serve::plan_shape(*known.model);
    plans_.put(process, id, std::move(known), bytes);
  }

  // One that would take the room of all others is not kept: of its operators nothing is known.
  void learn(ProcessId process, const std::shared_ptr<const v1::Plan>& plan) {
    std::size_t bytes = 0;
    for (const v1::Level& level : plan->levels()) bytes += 2 * level.SpaceUsedLong();
    if (bytes > kMostOfPlans / 2) return plans_.drop(process, plan->id());
    learn(process, without_attachments(*plan));
  }

  void learn(ProcessId process, CodeId id, const query::LinkSets& sets) {
    const std::size_t bytes = bytes_of(sets);
    if (bytes > kMostOfCodes / 2) return codes_.drop(process, id);
    codes_.put(process, id, sets, bytes);
  }

  void learn(ProcessId process, CodeId id, query::LinkSets&& sets) {
    const std::size_t bytes = bytes_of(sets);
    codes_.put(process, id, std::move(sets), bytes);
  }

  void learn(const profile::ExecutionRecord& execution) {
    Run* known = runs_.find(execution.process, execution.handle);
    const bool ended_before = known != nullptr && known->ended;
    const KnownPlan* plan = plans_.find(execution.process, execution.plan);
    store::ExecutionRow row;
    row.record = execution;
    if (plan != nullptr) row.plan_name = plan->model->name();
    const bool ends = execution.end != kTimeMax;
    const double cpu_seconds = known == nullptr ? 0 : known->cpu_seconds;
    Run run{.fingerprint = serve::fingerprint_of(row),
            .database = label(execution, "database"),
            .user = label(execution, "user"),
            .query = query_of(plan == nullptr ? nullptr : plan->model.get()),
            .ended = ends,
            .cpu_seconds = cpu_seconds};
    if (const auto leader = profile::leader_of(execution)) {
      // Of another user's execution nobody is a part.
      if (const Run* of = leaders_.find({}, {execution.uid, *leader}); of != nullptr) {
        run = *of;
        run.ended = ends;
        run.is_worker = true;
        run.cpu_seconds = cpu_seconds;
      }
    } else if (const Identity own{execution.uid, execution.id}; leaders_.find({}, own) == nullptr) {
      leaders_.put({}, own, run, run.bytes());
    }
    const bool worker = run.is_worker;
    if (known == nullptr && plan != nullptr && !worker) note_shape(run, plan->shape);
    const std::size_t bytes = run.bytes();
    runs_.put(execution.process, execution.handle, std::move(run), bytes);
    if (!ends || ended_before || worker) return;
    const std::uint64_t count = profile::runs_of(execution);
    profile::add_bounded(executions_, count);
    if (execution.drawn) profile::add_bounded(drawn_, count);
    profile::add_bounded(failed_, profile::failed_runs_of(execution));
    execution_seconds_ += static_cast<double>(profile::run_times_of(execution).sum) * kNs;
    if (profile::is_untimed(execution)) profile::add_bounded(untimed_, count);
  }

  // A query that runs by another plan than the time before.
  void note_shape(const Run& run, std::uint64_t shape) {
    const std::uint64_t* before = shapes_.find({}, run.fingerprint);
    if (before != nullptr && *before != shape)
      plan_changes_.add({run.fingerprint, run.query}, 1, SeriesTable::Clock::now());
    if (before == nullptr || *before != shape)
      shapes_.put({}, run.fingerprint, shape, run.fingerprint.size());
  }

  void add(const query::Cost& cost, SeriesTable::Clock::time_point now) {
    const query::CellKey& key = cost.key;
    const auto unit = units_.find(key.source);
    if (unit == units_.end() || unit->second == profile::Unit::kEvents) return;
    const double seconds = cost.cell.weight * kNs * (key.execution == 0 ? 1.0 : scale_);
    if (unit->second == profile::Unit::kNsOffCpu)
      return off_cpu_.add({std::string(query::wait_key(key.wait)), wait_event(key)}, seconds, now);
    add_variance(key, cost.cell.weight * kNs);
    const double measured = cost.cell.weight * kNs;
    switch (cost.what) {
      case query::Cost::Class::kPlan:
        return add_plan_cost(cost, seconds, now);
      case query::Cost::Class::kComponent: {
        add_kind(serve::kComponentKey, measured);
        const std::string* name = names_.find(key.process, key.engine_component);
        return components_.add({name == nullptr ? fmt::format("component {}", key.engine_component) : *name},
                               seconds, now);
      }
      case query::Cost::Class::kUnattributed:
        add_kind(serve::kUnattributedKey, measured);
        return unattributed_.add({std::string(cost.reason.key)}, seconds, now);
    }
  }

  void add_kind(std::string key, double seconds) {
    by_kind_[serve::bounded_key(by_kind_, std::move(key))] += seconds;
  }

  // Horvitz and Thompson's estimator, where each execution is drawn by itself: what the square of its cost
  // grew by.
  void add_variance(const query::CellKey& key, double seconds) {
    if (scale_ <= 1 || key.execution == 0) return;
    Run* run = runs_.find(key.process, key.execution);
    if (run == nullptr) return;
    variance_ += scale_ * (scale_ - 1) * seconds * (2 * run->cpu_seconds + seconds);
    run->cpu_seconds += seconds;
  }

  std::string wait_event(const query::CellKey& key) const {
    const bool named = key.engine_wait != 0 && key.engine_wait <= wait_names_.size();
    return named ? serve::short_text(wait_names_[key.engine_wait - 1], kLongestLabel) : std::string();
  }

  void add_plan_cost(const query::Cost& cost, double seconds, SeriesTable::Clock::time_point now) {
    const Run* run = runs_.find(cost.key.process, cost.key.execution);
    for (const query::Share& owner : cost.lineage->front()) {
      const v1::Component* op = owner.id == kNoComponent ? nullptr : cost.plan->component(0, owner.id);
      add_kind(owner.id == kNoComponent ? serve::kUnattributedKey
                                        : serve::kind_key(op == nullptr ? "" : op->kind()),
               cost.cell.weight * kNs * owner.part);
      if (owner.id == kNoComponent) {
        unattributed_.add({std::string(cost.reason.key)}, seconds * owner.part, now);
      } else {
        operators_.add(labels_of(*cost.plan, owner.id, run), seconds * owner.part, now);
      }
    }
  }

  static LabelValues labels_of(const query::PlanModel& plan, ComponentId op, const Run* run) {
    const v1::Component* described = plan.component(0, op);
    std::string kind = described == nullptr ? "" : described->kind();
    if (kind.empty()) kind = "unknown";
    const bool led = run != nullptr && run->is_worker && !run->query.empty();
    return {run == nullptr ? "" : run->fingerprint, led ? run->query : query_of(&plan),
            serve::short_text(kind, kLongestLabel), run == nullptr ? "" : run->database,
            run == nullptr ? "" : run->user};
  }

  std::map<std::uint16_t, profile::Unit> units_;
  double scale_ = 1;  // how many executions each one that is drawn stands for
  std::vector<std::string> wait_names_;
  // Some 20 MB together.
  Shelf<std::uint32_t, std::string> names_{1u << 20};
  static constexpr std::size_t kMostOfPlans = 12u << 20, kMostOfCodes = 4u << 20;
  Shelf<PlanId, KnownPlan> plans_{kMostOfPlans};
  Shelf<CodeId, query::LinkSets> codes_{kMostOfCodes};
  Shelf<ExecutionHandle, Run> runs_{4u << 20};
  using Identity = std::pair<std::optional<std::uint32_t>, ExecutionId>;  // the user's
  Shelf<Identity, Run> leaders_{2u << 20};                                // of no process
  Shelf<std::string, std::uint64_t> shapes_{1u << 20};                    // of no process: by fingerprint
  SeriesTable operators_, components_, unattributed_, off_cpu_, plan_changes_;
  std::uint64_t executions_ = 0, failed_ = 0, drawn_ = 0, untimed_ = 0;
  double variance_ = 0;
  std::map<std::string, double> by_kind_;
  double execution_seconds_ = 0;
};

OperatorMeter::OperatorMeter(SeriesTable::Options options)
    : books_(std::make_unique<Books>(options)), thread_([this] { loop(); }) {}

OperatorMeter::~OperatorMeter() {
  {
    std::lock_guard lock(news_mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

MeterReading OperatorMeter::read() {
  std::lock_guard lock(books_mutex_);
  settle();
  return books_->read();
}

// Sleeps until there is news, and then for what comes with it.
void OperatorMeter::loop() {
  std::unique_lock lock(news_mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || has_news_; });
    changed_.wait_for(lock, kPeriod, [this] { return ending_ || has_large_; });
    if (ending_) return;
    has_news_ = has_large_ = false;
    lock.unlock();
    {
      std::lock_guard books(books_mutex_);
      settle();
    }
    lock.lock();
  }
}

void OperatorMeter::settle() {
  News news;
  profile::CellSums sums;
  {
    std::lock_guard lock(news_mutex_);
    std::swap(news, news_);
    std::swap(sums, sums_);
  }
  books_->learn(std::move(news));
  books_->add(sums.take());
}

// What a recording says of itself is none: it is learned with what comes next.
void OperatorMeter::note_news() {
  if (!std::exchange(has_news_, true)) changed_.notify_all();
}

void OperatorMeter::note_large() {
  has_large_ = true;
  has_news_ = true;
  changed_.notify_all();
}

void OperatorMeter::on_recording(const profile::RecordingInfo& info) {
  std::lock_guard lock(news_mutex_);
  news_.sources = info.sources;
  news_.drawn = info.drawn_ppm;
  news_.wait_names = info.wait_names;
}

void OperatorMeter::on_component(ProcessId process, std::uint32_t id, const std::string& name) {
  std::lock_guard lock(news_mutex_);
  news_.components.emplace_back(process, id, name);
  note_news();
}

void OperatorMeter::on_plan(ProcessId process, TimeNs /*loaded*/, const v1::Plan& plan) {
  v1::Plan copy = without_attachments(plan);
  std::lock_guard lock(news_mutex_);
  news_.plans.emplace_back(process, std::move(copy));
  note_news();
}

// They are learned at once, and let go.
void OperatorMeter::on_shared_plan(ProcessId process, TimeNs /*loaded*/,
                                   std::shared_ptr<const v1::Plan> plan) {
  std::lock_guard lock(news_mutex_);
  news_.large_plans.emplace_back(process, std::move(plan));
  note_large();
}

void OperatorMeter::on_shared_code(ProcessId process, TimeNs /*loaded*/,
                                   std::shared_ptr<const v1::CodeObject> code) {
  std::lock_guard lock(news_mutex_);
  news_.large_codes.emplace_back(process, std::move(code));
  note_large();
}

void OperatorMeter::on_code(ProcessId process, TimeNs /*loaded*/, const v1::CodeObject& code) {
  std::lock_guard lock(news_mutex_);
  news_.codes.emplace_back(process, code.id(), code.rows().link_sets());
  note_news();
}

void OperatorMeter::on_execution(const profile::ExecutionRecord& execution) {
  std::size_t text = 0;
  for (const auto& [name, value] : execution.labels) text += name.size() + value.size();
  std::lock_guard lock(news_mutex_);
  note_news();
  const bool is_much = news_.text_bytes + text > kMostNewText;
  auto& copy = news_.executions.emplace_back();
  if (!is_much) {
    copy = execution;
    news_.text_bytes += text;
    return;
  }
  profile::ExecutionRecord shorter = execution;
  std::erase_if(shorter.labels, [](const auto& each) { return each.second.size() > kLongText; });
  copy = std::move(shorter);
}

void OperatorMeter::on_samples(std::span<const profile::SampleRecord> samples) {
  std::lock_guard lock(news_mutex_);
  sums_.add(samples);
  note_news();
}

}  // namespace tailor::metrics
