// The C functions of <tailor/agent.h>, but for the marks: checks of what comes in, then one message each.
#include <tailor/agent.h>
#include <tailor/tag.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "agent/agent.h"
#include "agent/current_thread.h"
#include "agent/lifecycle.h"
#include "agent/marks.h"
#include "agent/notices.h"

using namespace tailor::agent;

namespace {

constexpr int kOff = -ECANCELED;

// A message that says only that something numbered `key` is over.
void post_end(MessageKind kind, std::uint64_t key) {
  Agent* agent = current();
  if (!agent || key == 0) return;
  agent->post({kind, 0, key, 0}, kFixedBound, [&](FixedWire& body) { body.number(1, key); });
}

// The 128-bit identity of an execution: the handle, mixed with a random number of the agent, then the rest of
// the agent's random number.
void execution_identity(const Agent& agent, std::uint64_t execution, std::uint8_t out[16]) {
  const std::uint64_t number = agent.identity_number(execution);
  std::memcpy(out, &number, 8);
  std::memcpy(out + 8, agent.instance().data(), 8);
}

bool has_leader(std::span<const tailor_label> labels) {
  return std::ranges::any_of(labels, [](const tailor_label& label) {
    return label.key && std::string_view(label.key) == "leader_execution";
  });
}

[[gnu::noinline, gnu::cold]] void tell_cut(Agent& agent, std::uint32_t component) {
  const bool first =
      notice_number(Notice::kComponentCut,
                    "tailor_tag was asked for a tag of component {}. A tag can hold numbers up to 16383 "
                    "(TAILOR_TAG_COMPONENT_MAX), so there is none for this component, and samples of shared "
                    "code that works for it are unattributed.",
                    component);
  if (first) post_notice(agent, Notice::kComponentCut);
}

[[gnu::noinline, gnu::cold]] void tell_no_owners(Agent& agent) {
  const bool first =
      notice(Notice::kNoOwners,
             "An execution of a plan ended, and until then this process had made no tag (tailor_tag) "
             "and loaded no code (tailor_code_load). So nothing tells for which operator of the plan "
             "code runs, and samples have the execution, but no operator.");
  if (first) post_notice(agent, Notice::kNoOwners);
}

int load_result(const Agent& agent, bool posted, std::size_t size) {
  if (posted) return 0;
  return size > agent.max_message_bytes() ? -EMSGSIZE : -ENOBUFS;
}

void count(Agent& agent, tailor_agent_counters& out) {
  auto* header = agent.arenas().header();
  const auto& sender = agent.sender().counters();
  out.messages_queued = std::atomic_ref(header->messages_queued).load(std::memory_order_relaxed);
  out.messages_dropped = std::atomic_ref(header->messages_dropped).load(std::memory_order_relaxed);
  out.messages_sent = sender.messages_sent.load(std::memory_order_relaxed);
  out.bytes_sent = sender.bytes_sent.load(std::memory_order_relaxed);
  out.connects = sender.connects.load(std::memory_order_relaxed);
  out.disconnects = sender.disconnects.load(std::memory_order_relaxed);
  out.connect_error = sender.connect_error.load(std::memory_order_relaxed);
  out.log_records = agent.arenas().log_records();
}

// The fields that this caller's (perhaps older) struct has, the rest 0.
tailor_region_kind complete(const tailor_region_kind& kind) {
  tailor_region_kind complete{};
  std::memcpy(&complete, &kind, std::min(kind.size, sizeof(complete)));
  return complete;
}

}  // namespace

uint32_t tailor_agent_abi_version(void) {
  return TAILOR_AGENT_ABI_MAJOR << 16 | TAILOR_AGENT_ABI_MINOR;
}

int tailor_agent_start(const struct tailor_agent_options* options) {
  return start(options);
}

void tailor_agent_stop(uint32_t timeout_ms) {
  stop(timeout_ms);
}

int tailor_agent_connected(void) {
  Agent* agent = current();
  return agent && agent->sender().accepted();
}

int tailor_agent_barrier(uint32_t timeout_ms) {
  Agent* agent = current();
  if (!agent) return 0;
  return agent->barrier(timeout_ms);
}

int tailor_agent_pump(void) {
  Agent* agent = current();
  if (!agent) return kOff;
  return agent->threadless() ? agent->pump() : -EALREADY;
}

void tailor_agent_get_counters(struct tailor_agent_counters* out) {
  if (!out || out->size < sizeof(out->size)) return;
  tailor_agent_counters all{};
  all.size = out->size;
  if (Agent* agent = current()) count(*agent, all);
  std::memcpy(out, &all, std::min(all.size, sizeof(all)));
}

const char* tailor_agent_notice(uint32_t index) {
  for (std::size_t kind = 0; kind < kNotices; ++kind) {
    const char* text = noticed(static_cast<Notice>(kind));
    if (text && index-- == 0) return text;
  }
  return nullptr;
}

void tailor_tag_not_kept(uint32_t strategy, const char* file) {
  remember_not_kept(strategy, file);
  Agent* agent = current();  // it runs already when a library is loaded later
  if (agent && strategy == agent->tag_strategy() && notice_not_kept(strategy))
    post_notice(*agent, Notice::kRegisterUsed);
}

int tailor_thread_register(const char* name) {
  Agent* agent = current();
  return agent ? register_current_thread(*agent, name) : kOff;
}

struct tailor_other_thread* tailor_other_thread_add(uint32_t tid, const char* name, uint64_t execution,
                                                    uint64_t plan_id, uint32_t component) {
  Agent* agent = current();
  if (!agent || tid == 0) return nullptr;
  ThreadArea* area = register_other_thread(*agent, tid, name);
  if (area && execution != 0) mark_execution_begin(*area, execution, plan_id);
  if (area && component != 0) mark_in(*area, TAILOR_LOG_COMPONENT_BEGIN, component, 0, 0);
  return reinterpret_cast<tailor_other_thread*>(area);
}

void tailor_other_thread_remove(struct tailor_other_thread* thread) {
  if (thread) end_other_thread(*reinterpret_cast<ThreadArea*>(thread));
}

uint64_t* tailor_thread_slot(void) {
  if (!t_current.area) tailor_thread_register(nullptr);
  return t_current.area ? &t_current.area->slot->tag : nullptr;
}

void tailor_thread_waits(const uint32_t* word) {
  if (!t_current.area) tailor_thread_register(nullptr);
  if (!t_current.area) return;
  std::atomic_ref(t_current.area->slot->waits_at)
      .store(reinterpret_cast<std::uintptr_t>(word), std::memory_order_relaxed);
}

void tailor_thread_anchor(const struct tailor_frame_anchor* anchor) {
  if (!t_current.area && anchor) tailor_thread_register(nullptr);
  if (!t_current.area) return;
  std::atomic_ref(t_current.area->slot->anchor_at)
      .store(reinterpret_cast<std::uintptr_t>(anchor), std::memory_order_relaxed);
}

const struct tailor_objects* tailor_thread_objects(const struct tailor_objects* objects) {
  if (!t_current.area) tailor_thread_register(nullptr);
  if (!t_current.area) return nullptr;
  const std::atomic_ref place(t_current.area->slot->objects_at);
  const std::uint64_t before = place.load(std::memory_order_relaxed);
  place.store(reinterpret_cast<std::uintptr_t>(objects), std::memory_order_relaxed);
  return reinterpret_cast<const tailor_objects*>(before);
}

void tailor_wait_names(const struct tailor_wait_name* names, size_t count) {
  Agent* agent = current();
  if (!agent || !names) return;
  std::span<const tailor_wait_name> span(names, std::min(count, kMaxWaitNames));
  agent->post({MessageKind::kWaitNames, 0, 0, 0}, kFixedBound + wait_names_bound(span),
              [&](FixedWire& body) { encode_wait_names(body, span); });
}

void tailor_blocked(uint32_t pid, uint64_t since_tsc, const uint32_t* holders, size_t count) {
  Agent* agent = current();
  if (!agent || pid == 0 || !holders || count == 0) return;
  std::span<const std::uint32_t> span(holders, std::min(count, kMaxHolders));
  agent->post({MessageKind::kBlocked, 0, pid, 0}, kFixedBound + blocked_bound(span),
              [&](FixedWire& body) { encode_blocked(body, pid, since_tsc, span); });
}

struct tailor_plan_ids tailor_plan_new(void) {
  Agent* agent = current();
  std::uint64_t id = agent ? agent->plans().take() : 0;
  if (agent && id == 0) agent->count_dropped();
  return {id, PlanSlots::slot(id), PlanSlots::generation(id)};
}

int tailor_plan_load(uint64_t plan_id, const void* plan, size_t size) {
  Agent* agent = current();
  if (!agent) return kOff;
  if (plan_id == 0 || !plan) return -EINVAL;
  bool posted =
      agent->post_serialised({MessageKind::kPlanLoad, 0, plan_id, 0}, {static_cast<const char*>(plan), size},
                             [&](FixedWire& tail, std::uint64_t) {
                               tail.number_even_if_zero(1, plan_id);
                               tail.number_even_if_zero(2, PlanSlots::slot(plan_id));
                               tail.number_even_if_zero(3, PlanSlots::generation(plan_id));
                             });
  return load_result(*agent, posted, size);
}

void tailor_plan_unload(uint64_t plan_id) {
  Agent* agent = current();
  if (!agent || !agent->plans().free(plan_id)) return;
  post_end(MessageKind::kPlanUnload, plan_id);
}

uint64_t tailor_tag(const struct tailor_plan_ids* plan, uint32_t upper, uint32_t lower) {
  Agent* agent = current();
  if (!agent || !plan || plan->id == 0) return TAILOR_TAG_NONE;
  if (upper > TAILOR_TAG_COMPONENT_MAX) {
    tell_cut(*agent, upper);
    return TAILOR_TAG_NONE;
  }
  agent->note_owners();
  return tailor_tag_make(agent->tag_key(), plan->slot, plan->generation, upper, lower);
}

uint64_t tailor_code_new(void) {
  Agent* agent = current();
  return agent ? agent->next_code() : 0;
}

int tailor_code_load(uint64_t code_id, const void* code_object, size_t size) {
  return tailor_code_load_since(code_id, code_object, size, UINT64_MAX);
}

int tailor_code_load_since(uint64_t code_id, const void* code_object, size_t size, uint64_t since) {
  Agent* agent = current();
  if (!agent) return kOff;
  if (code_id == 0 || !code_object) return -EINVAL;
  agent->note_owners();
  bool posted = agent->post_serialised({MessageKind::kCodeLoad, 0, code_id, 0},
                                       {static_cast<const char*>(code_object), size},
                                       [&](FixedWire& tail, std::uint64_t tsc) {
                                         tail.number_even_if_zero(1, code_id);
                                         tail.number_even_if_zero(5, std::min(tsc, since));
                                       });
  return load_result(*agent, posted, size);
}

void tailor_code_unload(uint64_t code_id) {
  post_end(MessageKind::kCodeUnload, code_id);
}

uint64_t tailor_execution_begin(uint64_t plan_id, const struct tailor_label* labels, size_t count) {
  Agent* agent = current();
  if (!agent) return 0;
  std::span<const tailor_label> span(labels, labels ? std::min(count, kMaxLabels) : 0);
  std::uint64_t handle = agent->next_execution();
  if (has_leader(span)) handle = Agent::with_leader(handle);
  if (plan_id != 0 && Agent::has_tags(handle)) agent->note_plan_runs();
  std::uint8_t id[16];
  execution_identity(*agent, handle, id);
  agent->post(
      {MessageKind::kExecutionBegin, 0, handle, 0}, kFixedBound + labels_bound(span), [&](FixedWire& body) {
        encode_execution_begin(
            body, {handle, std::span<const std::uint8_t, 16>(id), plan_id, span, !Agent::has_tags(handle)});
      });
  return handle;
}

void tailor_execution_end(uint64_t execution, uint64_t rows, const char* error) {
  Agent* agent = current();
  if (!agent || execution == 0) return;
  std::string_view text = view(error, kMaxTextBytes);
  agent->post({MessageKind::kExecutionEnd, 0, execution, 0}, kFixedBound + text.size(), [&](FixedWire& body) {
    body.number(1, execution);
    body.number(2, rows);
    body.text(3, text);
  });
  if (agent->lacks_owners()) [[unlikely]]
    tell_no_owners(*agent);
}

void tailor_execution_end_runs(uint64_t execution, const struct tailor_runs* runs) {
  if (!runs || runs->size < sizeof(*runs)) {
    tailor_execution_end(execution, UINT64_MAX, nullptr);
    return;
  }
  Agent* agent = current();
  if (!agent || execution == 0) return;
  agent->post({MessageKind::kExecutionEnd, 0, execution, 0}, kFixedBound + added_runs_bound(*runs),
              [&](FixedWire& body) {
                body.number(1, execution);
                body.number(2, runs->rows);
                encode_added_runs(body, *runs);
              });
  if (agent->lacks_owners()) [[unlikely]]
    tell_no_owners(*agent);
}

uint32_t tailor_execution_tag_strategy(uint64_t execution) {
  Agent* agent = current();
  if (!agent) return TAILOR_TAGS_NONE;
  agent->note_asks_for_tags();
  return execution == 0 || !Agent::has_tags(execution) ? static_cast<std::uint32_t>(TAILOR_TAGS_NONE)
                                                       : agent->tag_strategy();
}

void tailor_execution_id(uint64_t execution, uint8_t out[16]) {
  if (!out) return;
  std::memset(out, 0, 16);
  Agent* agent = current();
  if (agent && execution != 0) execution_identity(*agent, execution, out);
}

uint32_t tailor_component_declare(const char* name) {
  Agent* agent = current();
  if (!agent || !name) return 0;
  std::string_view text = view(name, kMaxNameBytes);
  const std::uint32_t id = agent->components().declare(
      text, [&](std::uint32_t number) { return post_component(*agent, number, text); });
  if (id == 0) agent->count_dropped();
  return id;
}

void tailor_component_code(uint32_t component, const void* begin, const void* end) {
  Agent* agent = current();
  if (!agent || component == 0) return;
  auto first = reinterpret_cast<std::uintptr_t>(begin);
  if (first >= reinterpret_cast<std::uintptr_t>(end)) return;
  agent->post({MessageKind::kComponentCode, 0, first, 0}, kFixedBound, [&](FixedWire& body) {
    body.number(1, component);
    body.number(2, first);
    body.number(3, reinterpret_cast<std::uintptr_t>(end));
  });
}

uint32_t tailor_region_kind_declare(const struct tailor_region_kind* kind) {
  Agent* agent = current();
  if (!agent || !kind || kind->size < sizeof(kind->size)) return 0;
  const tailor_region_kind whole = complete(*kind);
  return agent->region_kinds().declare(whole, [&](std::uint32_t number) {
    return agent->post({MessageKind::kRegionKind, 0, number, whole.plan_id},
                       kFixedBound + view(whole.name, kMaxNameBytes).size(),
                       [&](FixedWire& body) { encode_region_kind(body, number, whole); });
  });
}
