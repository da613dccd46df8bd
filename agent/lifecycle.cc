#include "agent/lifecycle.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "agent/agent.h"
#include "agent/current_thread.h"

namespace tailor::agent {

namespace {

constexpr char kDefaultSocket[] = "/run/tailor/agent.sock";
constexpr std::size_t kDefaultQueueBytes = std::size_t{64} * 1024 * 1024;
constexpr std::size_t kMaxQueueBytes = std::size_t{1} << 32;
constexpr std::uint32_t kDefaultLogRecords = 16384;
constexpr std::uint32_t kMinLogRecords = 64;
constexpr std::uint32_t kMaxLogRecords = 1u << 16;

enum class State : int { kOff, kChanging, kRunning };

// The agent is made once and never freed: threads may be inside of it at any time. A stopped one can be
// started again.
std::atomic<State> g_state{State::kOff};
std::atomic<Agent*> g_agent{nullptr};    // made
std::atomic<Agent*> g_current{nullptr};  // made and running

// Set while the agent that runs has TAILOR_AGENT_SURVIVES_FORK.
std::atomic<bool> g_survives_fork{false};
bool g_held = false;  // between the fork handlers of one fork: the pump is ours

void before_fork() {
  Agent* agent = g_survives_fork ? g_current.load() : nullptr;
  g_held = agent && agent->hold_pump();
}

void after_fork_in_parent() {
  if (std::exchange(g_held, false)) g_agent.load()->release_pump();
}

bool continue_in_child() {
  Agent* agent = g_current;
  if (!std::exchange(g_held, false) || !agent) return false;
  if (!agent->continue_after_fork(t_current.area)) return false;
  agent->release_pump();
  keep_current_thread_after_fork(*agent);
  return true;
}

void after_fork_in_child() {
  if (continue_in_child()) return;
  g_survives_fork = false;
  forget_current_thread();
  g_current = nullptr;
  // Its heap memory is left alone: the parent's threads may have been in the middle of changing it.
  if (Agent* agent = g_agent.exchange(nullptr)) agent->let_go_after_fork();
  g_state = State::kOff;
}

bool disabled() {
  const char* value = std::getenv("TAILOR_DISABLE");
  return value && *value && std::strcmp(value, "0") != 0;
}

// The options that this caller's (perhaps older) struct has, the rest with their defaults.
tailor_agent_options complete(const tailor_agent_options* options) {
  tailor_agent_options complete{};
  if (options) std::memcpy(&complete, options, std::min(options->size, sizeof(complete)));
  if (complete.queue_bytes == 0) complete.queue_bytes = kDefaultQueueBytes;
  complete.queue_bytes = std::min(complete.queue_bytes, kMaxQueueBytes);
  if (complete.log_records == 0) complete.log_records = kDefaultLogRecords;
  complete.log_records = std::bit_ceil(std::clamp(complete.log_records, kMinLogRecords, kMaxLogRecords));
  return complete;
}

Identity make_identity(const tailor_agent_options& options, const Agent& agent) {
  Identity identity;
  const char* environment = std::getenv("TAILOR_SOCKET");
  identity.socket_path = options.socket_path           ? options.socket_path
                         : environment && *environment ? environment
                                                       : kDefaultSocket;
  identity.engine_name = view(options.engine_name, kMaxNameBytes);
  identity.engine_version = view(options.engine_version, kMaxNameBytes);
  identity.tag_strategy = options.tag_strategy;
  identity.tag_key = agent.tag_key();
  identity.tag_slot_offset = tag_slot_offset();
  identity.instance = agent.instance();
  return identity;
}

int make_agent(const tailor_agent_options& options) {
  static const bool handles_fork =
      ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
  if (!handles_fork || !prepare_thread_end()) return -ENOMEM;
  Agent* agent = new (std::nothrow) Agent(options.queue_bytes, options.log_records);
  if (!agent) return -ENOMEM;
  if (int error = agent->prepare()) {
    delete agent;
    return error;
  }
  g_agent = agent;
  return 0;
}

int start_changing(const tailor_agent_options& options) {
  constexpr std::uint32_t kFlags = TAILOR_AGENT_NO_THREAD | TAILOR_AGENT_SURVIVES_FORK;
  if ((options.flags & ~kFlags) != 0 || options.flags == TAILOR_AGENT_SURVIVES_FORK) return -EINVAL;
  if (!g_agent) {
    if (int error = make_agent(options)) return error;
  }
  Agent& agent = *g_agent;
  if (!agent.start_sending(make_identity(options, agent), (options.flags & TAILOR_AGENT_NO_THREAD) != 0))
    return -EAGAIN;
  g_survives_fork = (options.flags & TAILOR_AGENT_SURVIVES_FORK) != 0;
  agent.region_kinds().forget();
  g_current = &agent;
  // Names declared before a stop keep their numbers, so a daemon must hear of them again.
  for (std::uint32_t id = 1; id <= Components::kMax && agent.components().name(id); ++id) {
    post_component(agent, id, agent.components().name(id));
  }
  return 0;
}

}  // namespace

Agent* current() noexcept {
  return g_current.load(std::memory_order_acquire);
}

int start(const tailor_agent_options* options) noexcept {
  if (disabled()) return -ECANCELED;
  State expected = State::kOff;
  if (!g_state.compare_exchange_strong(expected, State::kChanging)) return -EALREADY;
  int result = -ENOMEM;
  try {
    result = start_changing(complete(options));
  } catch (...) {
    // Memory is short.
  }
  g_state = result == 0 ? State::kRunning : State::kOff;
  return result;
}

void stop(std::uint32_t timeout_ms) noexcept {
  State expected = State::kRunning;
  if (!g_state.compare_exchange_strong(expected, State::kChanging)) return;
  g_survives_fork = false;
  g_current = nullptr;
  g_agent.load()->stop_sending(timeout_ms);
  g_state = State::kOff;
}

}  // namespace tailor::agent
