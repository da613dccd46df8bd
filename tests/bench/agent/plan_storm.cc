// An engine that compiles all the time: plans are loaded and unloaded again at a steady rate, each with an
// execution and its marks. Every call of the agent is timed in CPU time of this thread. So are all calls of
// a statement of a plan that is known ("statement"), and a copy of as many bytes as a plan has ("memcpy").
//
//   plan_storm PLANS_A_SECOND SECONDS PLAN_BYTES
//
// Prints, as JSON, for each kind of call how many there were and what they cost (us), and what the agent
// counted.
#include <fmt/format.h>
#include <tailor/agent.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tailor/v1/dictionary.pb.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kOperators = 100;
constexpr int kMorsels = 20;
constexpr std::uint32_t kPatienceMs = 30'000;
constexpr std::size_t kCopyBytes = std::size_t{8} << 20;

std::int64_t cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

class CallTimes {
 public:
  template <typename Call>
  auto time(const char* kind, Call call) {
    struct Timed {
      std::vector<std::int64_t>& to;
      std::int64_t before = cpu_ns();
      ~Timed() { to.push_back(cpu_ns() - before); }
    } timed{times_[kind]};
    return call();
  }

  std::string json() {
    std::string text;
    for (auto& [kind, times] : times_) {
      std::ranges::sort(times);
      const auto at = [&times](double share) {
        return static_cast<double>(
                   times[static_cast<std::size_t>(static_cast<double>(times.size() - 1) * share)]) /
               1000;
      };
      text +=
          fmt::format("{}\"{}\": {{\"calls\": {}, \"p50\": {}, \"p99\": {}, \"p99.9\": {}, \"most\": {}}}",
                      text.empty() ? "" : ", ", kind, times.size(), at(0.5), at(0.99), at(0.999), at(1));
    }
    return text;
  }

 private:
  std::map<std::string, std::vector<std::int64_t>> times_;
};

// Copies go to one place behind the other, as messages in a queue do.
class Copies {
 public:
  void copy(const std::string& bytes) {
    if (bytes.size() > to_.size()) to_.resize(bytes.size());
    if (at_ + bytes.size() > to_.size()) at_ = 0;
    std::memcpy(to_.data() + at_, bytes.data(), bytes.size());
    asm volatile("" : : "r"(to_.data()) : "memory");  // it is not left out
    at_ += bytes.size();
  }

 private:
  std::vector<char> to_ = std::vector<char>(kCopyBytes);
  std::size_t at_ = 0;
};

// Operators that read each other, each with a text, so that the plan has about this many bytes.
tailor::v1::Plan plan_of(std::size_t bytes) {
  tailor::v1::Plan plan;
  plan.set_name("storm");
  tailor::v1::Level& level = *plan.add_levels();
  level.set_name("operator");
  level.set_component_count(kOperators);
  for (std::uint32_t id = 1; id <= kOperators; ++id) {
    tailor::v1::Component& component = *level.add_components();
    component.set_id(id);
    component.set_name("Filter");
    if (id > 1) component.add_inputs(id - 1);
    tailor::v1::Attribute& attribute = *component.add_attributes();
    attribute.set_key("predicate");
    attribute.set_text(std::string(bytes / kOperators, 'p'));
  }
  return plan;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const double plans_a_second = std::atof(argv[1]), seconds = std::atof(argv[2]);
  tailor_agent_options options{};
  options.size = sizeof options;
  options.engine_name = "storm";
  if (tailor_agent_start(&options) != 0 || tailor_agent_barrier(kPatienceMs) != 1) return 3;
  tailor_thread_register("storm");
  tailor::v1::Plan plan = plan_of(static_cast<std::size_t>(std::atol(argv[3])));
  CallTimes calls;
  Copies copies;
  std::uint64_t refused = 0, plans = 0;
  const auto began = Clock::now();
  const auto time_of = [&](std::uint64_t number) {
    return began + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(static_cast<double>(number) / plans_a_second));
  };
  for (; time_of(plans) - began < std::chrono::duration<double>(seconds); ++plans) {
    std::this_thread::sleep_until(time_of(plans));
    const tailor_plan_ids ids = calls.time("plan_new", [] { return tailor_plan_new(); });
    plan.set_id(ids.id);
    plan.set_slot(ids.slot);
    plan.set_generation(ids.generation);
    const std::string bytes = plan.SerializeAsString();
    refused +=
        calls.time("plan_load", [&] { return tailor_plan_load(ids.id, bytes.data(), bytes.size()); }) != 0;
    const tailor_label label{"query", "select 1"};
    const std::uint64_t run =
        calls.time("execution_begin", [&] { return tailor_execution_begin(ids.id, &label, 1); });
    calls.time("mark", [&] { tailor_mark_execution_begin(run, ids.id); });
    for (int morsel = 0; morsel < kMorsels; ++morsel)
      calls.time("mark", [] { tailor_mark_morsel_begin(1, 0, 1000); });
    calls.time("mark", [&] { tailor_mark_execution_end(run); });
    calls.time("execution_end", [&] { tailor_execution_end(run, 1, nullptr); });
    calls.time("statement", [&] {
      const std::uint64_t again = tailor_execution_begin(ids.id, &label, 1);
      tailor_mark_execution_begin(again, ids.id);
      tailor_mark_execution_end(again);
      tailor_execution_end(again, 1, nullptr);
    });
    calls.time("memcpy", [&] { copies.copy(bytes); });
    calls.time("plan_unload", [&] { tailor_plan_unload(ids.id); });
  }
  const double took = std::chrono::duration<double>(Clock::now() - began).count();
  const bool heard = tailor_agent_barrier(kPatienceMs) == 1;
  tailor_agent_counters counters{};
  counters.size = sizeof counters;
  tailor_agent_get_counters(&counters);
  fmt::print(
      "{{\"plans\": {}, \"seconds\": {}, \"refused\": {}, \"dropped\": {}, \"sent\": {}, \"heard\": {}, "
      "\"calls\": {{{}}}}}\n",
      plans, took, refused, counters.messages_dropped, counters.messages_sent, heard, calls.json());
  std::fflush(stdout);
  (void)std::getchar();  // until somebody has looked at what the daemon knows of it
  return 0;
}
