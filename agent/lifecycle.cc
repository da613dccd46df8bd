#include "agent/lifecycle.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "agent/agent.h"
#include "agent/current_thread.h"
#include "agent/notices.h"

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
  notice(Notice::kForked,
         "This process is a forked child, and the agent of its parent does not work in it. Call "
         "tailor_agent_start here too, or give the parent's start TAILOR_AGENT_NO_THREAD and "
         "TAILOR_AGENT_SURVIVES_FORK.");
  // Its heap memory is left alone: the parent's threads may have been in the middle of changing it.
  if (Agent* agent = g_agent.exchange(nullptr)) agent->let_go_after_fork();
  g_state = State::kOff;
}

bool disabled() {
  const char* value = std::getenv("TAILOR_DISABLE");
  return value && *value && std::strcmp(value, "0") != 0;
}

// What the agent does not start with, whatever else is asked. Defaults are not yet filled in.
bool refuse(Notice kind, std::string_view text, std::uint64_t number) {
  notice_number(kind, text, number);
  return false;
}
bool are_valid(const tailor_agent_options& options) {
  if (options.tag_strategy > TAILOR_TAGS_MEMORY_SLOT) {
    return refuse(Notice::kTagStrategy,
                  "tailor_agent_start was refused: there is no tag strategy {} (enum tailor_tag_strategy).",
                  options.tag_strategy);
  }
  const std::uint32_t records = options.log_records;
  if (records != 0 && (records < kMinLogRecords || records > kMaxLogRecords)) {
    return refuse(
        Notice::kLogRecords,
        "tailor_agent_start was refused: log_records is {}, and must be 0 (the default, 16384) or from "
        "64 to 65536.",
        records);
  }
  constexpr std::uint32_t kFlags = TAILOR_AGENT_NO_THREAD | TAILOR_AGENT_SURVIVES_FORK;
  if ((options.flags & ~kFlags) != 0 || options.flags == TAILOR_AGENT_SURVIVES_FORK) {
    return refuse(
        Notice::kFlags,
        "tailor_agent_start was refused: no flags have the sum {}. TAILOR_AGENT_SURVIVES_FORK needs "
        "TAILOR_AGENT_NO_THREAD.",
        options.flags);
  }
  return true;
}

// The options that this caller's (perhaps older) struct has, the rest 0.
tailor_agent_options known_of(const tailor_agent_options* options) {
  tailor_agent_options known{};
  if (options) std::memcpy(&known, options, std::min(options->size, sizeof(known)));
  return known;
}

// With defaults for what is 0.
tailor_agent_options complete(tailor_agent_options complete) {
  if (complete.queue_bytes == 0) complete.queue_bytes = kDefaultQueueBytes;
  complete.queue_bytes = std::min(complete.queue_bytes, kMaxQueueBytes);
  if (complete.log_records == 0) complete.log_records = kDefaultLogRecords;
  complete.log_records = std::bit_ceil(complete.log_records);
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
  if (!g_agent) {
    if (int error = make_agent(options)) return error;
  }
  Agent& agent = *g_agent;
  if (!agent.start_sending(make_identity(options, agent), (options.flags & TAILOR_AGENT_NO_THREAD) != 0))
    return -EAGAIN;
  g_survives_fork = (options.flags & TAILOR_AGENT_SURVIVES_FORK) != 0;
  agent.region_kinds().forget();
  // Names declared before a stop keep their numbers, so a daemon must hear of them again, and before anything
  // that engine threads say of them.
  agent.components().tell_all(
      [&](std::uint32_t id, const char* name) { return post_component(agent, id, name); });
  g_current = &agent;
  notice_not_kept(options.tag_strategy);
  for (std::size_t kind = 0; kind < kNotices; ++kind) post_notice(agent, static_cast<Notice>(kind));
  return 0;
}

}  // namespace

Agent* current() noexcept {
  return g_current.load(std::memory_order_acquire);
}

int start(const tailor_agent_options* options) noexcept {
  if (disabled()) return -ECANCELED;
  // All versions of this ABI had the options before `flags`.
  if (options && options->size < offsetof(tailor_agent_options, flags)) {
    notice_number(Notice::kOptionsSize,
                  "tailor_agent_start was refused: the options have the size {}. Set it to sizeof(struct "
                  "tailor_agent_options).",
                  options->size);
    return -EINVAL;
  }
  const tailor_agent_options known = known_of(options);
  if (!are_valid(known)) return -EINVAL;
  State expected = State::kOff;
  if (!g_state.compare_exchange_strong(expected, State::kChanging)) return -EALREADY;
  int result = -ENOMEM;
  try {
    result = start_changing(complete(known));
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
