#include "daemon/attribute/attribute.h"

#include "daemon/capture/decode/agent_tag.h"
#include "tailor/tag.h"

namespace tailor::attribute {
namespace {

using process::CodeState;
using process::PlanState;
using process::ProcessState;
using process::ThreadContext;
using profile::Mode;

// What is found out about one sample, rule by rule.
struct Case {
  const Evidence& sample;
  const ProcessState& process;
  const ThreadContext& context;
  profile::Attribution& out;

  bool in_kernel() const { return sample.mode != Mode::kUser; }
};

std::uint64_t user_address(const Evidence& sample) {
  return sample.mode == Mode::kUser ? sample.ip : sample.user_ip;
}

// Rules 1, 3 and 4: an address in registered code that belongs to a plan.
[[gnu::always_inline]] inline bool by_code(Case& c, std::uint64_t address, profile::How how) {
  if (address == 0) return false;
  const CodeState* code = c.process.code_at(address, c.sample.time);
  if (code == nullptr) return false;
  if (c.out.code == 0) c.out.code = code->id;
  if (code->plan == 0) return false;  // the engine's own code: shared, so the tag decides
  take_code(*code, address, how, c.out);
  return true;
}

// Registers name the owner of shared code. Generated code has an owner of its own, and while it runs they
// hold what its caller left: the tag of a neighbour. In a slot a task's tag stays while its own code runs.
bool is_of_another(const Case& c) {
  return !c.process.tags_in_memory() && c.process.unregistered_code_at(user_address(c.sample), c.sample.time);
}

// A tag that names no component of its plan, where tags of the plan name one level: the lower field has an
// engine component that works for the plan's execution. attribute() takes the plan out once that is known.
bool by_component_tag(Case& c, const PlanState& plan, std::uint32_t said) {
  const std::uint32_t component = c.process.component_of_tag(said, c.sample.time);
  if (component == 0 || c.process.component_name(component) == nullptr || is_of_another(c)) return false;
  c.out.reason = profile::Reason::kNone;
  c.out.plan = plan.id;
  c.out.engine_component = component;
  c.out.how = profile::How::kComponentInterval;
  return true;
}

// Rules 2 and 3. A tag is believed only if it was found in a way we know, its check fits, the plan had its
// slot in its generation at the time of the sample, the plan has the components, and the code is not
// generated code that nobody registered. Why not is kept as the reason.
bool by_tag(Case& c, profile::How how) {
  const std::uint64_t tag = c.sample.tag;
  if (!c.sample.has_tag || tag == TAILOR_TAG_NONE || !c.process.registered_at(c.sample.time)) return false;
  const bool known_way = c.sample.tag_from <= static_cast<std::uint8_t>(capture::TagFrom::kUnwound);
  if (!known_way || !tailor_tag_fits(c.process.tag_key_at(c.sample.time), tag)) {
    c.out.reason = profile::Reason::kTagCheckFailed;
    return false;
  }
  c.out.reason = profile::Reason::kTagPlanNotLive;
  const PlanState* plan =
      c.process.plan_of_tag(tailor_tag_plan_slot(tag), tailor_tag_generation(tag), c.sample.time);
  if (plan == nullptr) return false;
  const std::uint32_t upper = tailor_tag_upper(tag);
  const std::uint32_t lower = tailor_tag_lower(tag);
  if (upper == 0 && !plan->has_tag_lower_level) return by_component_tag(c, *plan, lower);
  if (upper > plan->component_counts[plan->tag_upper_level]) return false;
  const bool has_lower = plan->has_tag_lower_level && lower != 0;
  if (has_lower && lower > plan->component_counts[plan->tag_lower_level]) return false;
  if (!has_lower && upper == 0) return false;
  if (is_of_another(c)) return false;
  c.out.reason = profile::Reason::kNone;
  c.out.plan = plan->id;
  c.out.level = has_lower ? plan->tag_lower_level : plan->tag_upper_level;
  c.out.link = (has_lower ? lower : upper) << 1;
  c.out.how = how;
  return true;
}

// What rules 2 and 3 say.
profile::How how_by_tag(const Evidence& sample) {
  if (sample.tag_from == static_cast<std::uint8_t>(capture::TagFrom::kUnwound))
    return profile::How::kTagUnwound;
  return sample.mode == Mode::kUser ? profile::How::kTag : profile::How::kKernelTag;
}

// Rule 4. A return address is that of the instruction after the call, which may already be another's: the
// byte before it lies inside the call.
bool by_callchain(Case& c, std::span<const std::uint64_t> chain) {
  for (std::uint64_t frame : chain) {
    if (frame > 1 && by_code(c, frame - 1, profile::How::kCallchain)) return true;
  }
  return false;
}

// Rule 5.
bool by_component(Case& c) {
  profile::How how = profile::How::kComponentInterval;
  std::uint32_t component = c.context.component;
  if (component == 0 && c.process.starting_at(c.sample.time)) component = process::kStartComponent;
  if (component == 0 && !c.process.registered_at(c.sample.time)) component = c.process.started_by();
  if (component == 0) {
    how = profile::How::kComponentCode;
    component = c.process.component_of_code(user_address(c.sample));
    // An interval would count before the range, and nobody knows of one.
    if (c.context.component_lost && component != process::kAgentComponent) component = 0;
  }
  if (component == 0) return false;
  c.out.engine_component = component;
  c.out.how = how;
  return true;
}

// Rule 6. A tag that was refused has left its reason. What a tag is or is not says nothing in code that
// nobody registered.
profile::Reason reason_for(const Case& c) {
  if (!c.process.registered_at(c.sample.time)) return profile::Reason::kNotRegistered;
  if (c.process.unregistered_code_at(user_address(c.sample), c.sample.time))
    return profile::Reason::kUnregisteredCode;
  if (c.out.reason != profile::Reason::kNone) return c.out.reason;
  if (c.context.component_lost) return profile::Reason::kMarksLost;
  if (c.in_kernel()) return profile::Reason::kUnknownKernel;
  return c.sample.ip == 0 && !c.sample.has_tag ? profile::Reason::kNoRegisters
                                               : profile::Reason::kUnknownUserCode;
}

// All rules but the first. Apart, so that the way of most samples stays short.
[[gnu::noinline]] void by_others(Case& c, std::span<const std::uint64_t> chain) {
  const bool found = by_tag(c, how_by_tag(c.sample)) || by_callchain(c, chain) || by_component(c);
  c.out.reason = found ? profile::Reason::kNone : reason_for(c);
}

}  // namespace

void attribute(const Evidence& sample, std::span<const std::uint64_t> chain, const ProcessState* process,
               profile::Attribution& attribution) {
  if (process == nullptr) {
    attribution.kernel = sample.mode != Mode::kUser;
    attribution.reason = profile::Reason::kNotRegistered;
    return;
  }
  attribute(sample, chain, *process, process->context_at(sample.tid, sample.time), attribution);
}

void attribute(const Evidence& sample, std::span<const std::uint64_t> chain, const ProcessState& process,
               const ThreadContext& context, profile::Attribution& attribution) {
  Case c{sample, process, context, attribution};
  c.out.kernel = c.in_kernel();
  if (!by_code(c, user_address(sample), c.in_kernel() ? profile::How::kKernelCode : profile::How::kCode))
    by_others(c, chain);
  join_execution(process, context, sample.time, attribution);
  // The work of an engine component is none of the plan's.
  if (attribution.engine_component != 0) attribution.plan = 0;
}

}  // namespace tailor::attribute
