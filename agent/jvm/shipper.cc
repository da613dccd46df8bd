#include "agent/jvm/shipper.h"

#include <pthread.h>
#include <tailor/agent.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <utility>

#include "agent/jvm/call_frames.h"
#include "agent/jvm/shared_code.h"
#include "agent/jvm/spark.h"
#include "agent/jvm/tsc.h"

namespace tailor::jvm {
namespace {

using Clock = std::chrono::steady_clock;
// Samples wait 200 ms for what is said about them.
constexpr auto kBatch = std::chrono::milliseconds(40);

}  // namespace

Shipper::Shipper(std::string name, Spark* spark, std::function<void()> each_second)
    : name_(std::move(name)), spark_(spark), each_second_(std::move(each_second)), cache_(read_tsc()) {
  JavaPlan& plan = plan_for_next();
  plan.send();
  ++plan.users;  // the program's execution
  first_plan_ = plan.id();
  // Signals are for the JVM's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Shipper::~Shipper() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Shipper::loaded(CompiledCode&& code) {
  code.id = tailor_code_new();
  if (code.id == 0 || code.size == 0) return;
  const std::size_t bytes = code.bytes();
  const std::lock_guard lock(mutex_);
  ++counts_.loads;
  const CodeCacheMap::Added added = cache_.add(code.base, code.size, code.id);
  code.since = added.since;
  if (added.replaced && added.replaced->sent) {
    tailor_code_unload(added.replaced->id);
    ended_.push_back(added.replaced->id);
  }
  if (waiting_bytes_ + bytes > kMostWaiting) {
    ++counts_.dropped;
    cache_.remove(code.base, code.since);
    return;
  }
  waiting_bytes_ += bytes;
  waiting_.push_back(std::move(code));
  if (waiting_.size() == 1) wake_.notify_one();
}

void Shipper::unloaded(std::uint64_t base) {
  const std::lock_guard lock(mutex_);
  const std::optional<CodeCacheMap::Live> live = cache_.remove(base, read_tsc());
  if (!live) return;
  ++counts_.unloads;
  // What waits is unloaded when it has been loaded.
  if (!live->sent) return;
  tailor_code_unload(live->id);
  ended_.push_back(live->id);
}

ShipperCounts Shipper::counts() const {
  const std::size_t of_queries = spark_ ? spark_->live_plans() : 0;
  const std::lock_guard lock(mutex_);
  ShipperCounts counts = counts_;
  counts.live = cache_.size();
  counts.plans += of_queries;
  return counts;
}

void Shipper::flush(std::uint32_t timeout_ms) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  {
    std::unique_lock lock(mutex_);
    hurry_ = true;
    wake_.notify_one();
    idle_.wait_until(lock, deadline, [this] { return waiting_.empty() && !busy_; });
    hurry_ = false;
  }
  tailor_agent_counters agent{};
  agent.size = sizeof agent;
  while (Clock::now() < deadline && tailor_agent_connected()) {
    tailor_agent_get_counters(&agent);
    if (agent.messages_sent + agent.messages_dropped >= agent.messages_queued) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

namespace {

// What fails, as for lack of memory, is skipped: an exception on this thread would end the user's JVM.
void contained(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception&) {
  }
}

}  // namespace

void Shipper::run() {
  pthread_setname_np(pthread_self(), "tailor-jvm");
  auto next_second = Clock::now();
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (Clock::now() >= next_second) {
      lock.unlock();
      contained(each_second_);
      next_second = Clock::now() + std::chrono::seconds(1);
      lock.lock();
    }
    wake_.wait_until(lock, next_second, [this] { return stop_ || !waiting_.empty() || !ended_.empty(); });
    if (waiting_.empty() && ended_.empty()) continue;
    // Compilers work in bursts, and every message of a plan holds all of it.
    wake_.wait_for(lock, kBatch, [this] { return stop_ || hurry_; });
    busy_ = true;
    std::vector<CompiledCode> batch = std::exchange(waiting_, {});
    const std::vector<std::uint64_t> ended = std::exchange(ended_, {});
    waiting_bytes_ = 0;
    lock.unlock();
    contained([&] {
      ship(std::move(batch));
      for (std::uint64_t id : ended) end_user(id);
      forget_unused_plans();
    });
    lock.lock();
    counts_.plans = plans_.size();
    busy_ = false;
    idle_.notify_all();
  }
}

void Shipper::generated(const GeneratedCode& code, const NmethodReader& reader) const {
  std::string frames;
  if (code.interpreter) {
    frames = frames_of_interpreter(code.base, code.size);
  } else if (code.name == "vtable stub" || code.name == "itable stub") {
    frames = frames_without_frame(code.base, code.size);
  } else if (auto facts = reader.facts(code.base, code.size)) {
    frames = frames_of_fixed_size(code.base, code.size, *facts);
  }
  if (frames.empty()) return;
  const CodeBuilder builder = shared_code(code.base, code.size, code.name, frames);
  tailor_code_builder_load(builder.get(), tailor_code_new());
}

bool Shipper::renumber(std::uint64_t base, std::uint64_t from, std::uint64_t to) {
  const std::lock_guard lock(mutex_);
  const auto unit = unit_of_.extract(from);
  if (unit.empty() || !cache_.renumber(base, from, to)) return false;
  unit_of_[to] = unit.mapped();
  return true;
}

bool Shipper::confirm(std::uint64_t base, std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  if (cache_.mark_sent(base, id)) return true;
  tailor_code_unload(id);
  unit_of_.erase(id);
  return false;
}

// Of a generated class, of an operator without one, or what such code calls.
void Shipper::ship_shared(CompiledCode& code) {
  std::uint64_t unit = code.methods[0].unit;
  if (unit == 0 && (code.unit != 0 || !code.methods[0].role.empty())) unit = Spark::kMixed;
  if (unit == 0) return load(code, nobodys_code(code));
  code.unit = unit;
  {
    const std::lock_guard lock(mutex_);
    unit_of_[code.id] = unit;
  }
  const auto load_it = [&](CodeBuilder builder) { load(code, std::move(builder)); };
  if (unit == Spark::kMixed) {
    spark_->ship_mixed(code, load_it);
  } else {
    spark_->ship(code, load_it);
  }
}

void Shipper::ship(std::vector<CompiledCode> batch) {
  if (spark_) {
    for (CompiledCode& code : batch) ship_shared(code);
    return;
  }
  std::size_t done = 0;
  while (done < batch.size()) {
    JavaPlan& plan = plan_for_next();
    std::vector<CodeBuilder> builders;
    const std::size_t first = done;
    for (; done < batch.size() && plan.bytes() < kPlanBytes; ++done)
      builders.push_back(plan.add(batch[done]));
    const bool known = plan.send() == 0;
    for (std::size_t i = first; i < done; ++i) {
      if (!known) builders[i - first] = nullptr;
      plan_of_[batch[i].id] = &plan;
      ++plan.users;
      load(batch[i], std::move(builders[i - first]));
    }
  }
}

// The code can have been unloaded meanwhile; what ran in it is still told of.
void Shipper::load(CompiledCode& code, CodeBuilder builder) {
  const int error = builder ? tailor_code_builder_load_since(builder.get(), code.id, code.since) : -1;
  const std::lock_guard lock(mutex_);
  if (error != 0) {
    // What was never told of must not be unloaded: the daemon would refuse that.
    ++counts_.dropped;
    ended_.push_back(code.id);
    return;
  }
  if (cache_.mark_sent(code.base, code.id)) return;
  tailor_code_unload(code.id);
  ended_.push_back(code.id);
}

void Shipper::end_user(std::uint64_t id) {
  std::uint64_t unit = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto node = unit_of_.extract(id);
    if (!node.empty()) unit = node.mapped();
  }
  if (unit != 0) spark_->code_ended(id, unit);
  const auto found = plan_of_.find(id);
  if (found == plan_of_.end()) return;
  --found->second->users;
  plan_of_.erase(found);
}

JavaPlan& Shipper::plan_for_next() {
  if (plans_.empty() || plans_.back()->bytes() >= kPlanBytes) {
    ++plans_made_;
    plans_.push_back(std::make_unique<JavaPlan>(
        plans_made_ == 1 ? name_ : name_ + " (" + std::to_string(plans_made_) + ")"));
  }
  return *plans_.back();
}

void Shipper::forget_unused_plans() {
  if (plans_.size() < 2) return;
  const auto unused = [](const std::unique_ptr<JavaPlan>& plan) { return plan->users == 0; };
  plans_.erase(std::remove_if(plans_.begin(), std::prev(plans_.end()), unused), std::prev(plans_.end()));
}

}  // namespace tailor::jvm
