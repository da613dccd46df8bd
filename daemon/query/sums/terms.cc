#include "daemon/query/sums/terms.h"

namespace tailor::query {

Term term(profile::Reason reason) {
  switch (reason) {
    case profile::Reason::kNone:
      return {"no_reason", "no reason given"};
    case profile::Reason::kNotRegistered:
      return {"not_registered", "process that was not registered then"};
    case profile::Reason::kUnknownUserCode:
      return {"unknown_user_code", "code outside of operators and components, without a tag"};
    case profile::Reason::kUnknownKernel:
      return {"unknown_kernel", "kernel, on nobody's known behalf"};
    case profile::Reason::kTagCheckFailed:
      return {"tag_check_failed",
              "code outside of operators and components, with the tag's register in other use"};
    case profile::Reason::kTagPlanNotLive:
      return {"tag_plan_not_live", "tag of a plan that was not loaded then"};
    case profile::Reason::kNoRegisters:
      return {"no_registers", "sample without registers"};
    case profile::Reason::kMarksLost:
      return {"marks_lost", "marks lost"};
    case profile::Reason::kTagsOff:
      return {"tags_off", "execution without tags, to measure what tags cost"};
    case profile::Reason::kUnregisteredCode:
      return {"unregistered_code", "generated code that nobody registered"};
  }
  return {"unknown_reason", "for a reason that this version does not know"};
}

Term term(profile::How how) {
  switch (how) {
    case profile::How::kUnattributed:
      return {"unattributed", "unattributed"};
    case profile::How::kCode:
      return {"code", "address in generated code"};
    case profile::How::kTag:
      return {"tag", "tag, in shared code"};
    case profile::How::kKernelCode:
      return {"kernel_code", "kernel, entered from generated code"};
    case profile::How::kKernelTag:
      return {"kernel_tag", "kernel, by tag"};
    case profile::How::kCallchain:
      return {"callchain", "call stack"};
    case profile::How::kComponentInterval:
      return {"component_interval", "engine component, by interval"};
    case profile::How::kComponentCode:
      return {"component_code", "engine component, by code range"};
    case profile::How::kTagUnwound:
      return {"tag_unwound", "tag, where a library saved it"};
  }
  return {"unknown", "unknown"};
}

Term term(profile::Quality quality) {
  switch (quality) {
    case profile::Quality::kExact:
      return {"exact", "exact"};
    case profile::Quality::kInferred:
      return {"inferred", "inferred"};
    case profile::Quality::kShared:
      return {"shared", "shared"};
    case profile::Quality::kPrologue:
      return {"prologue", "set-up code"};
    case profile::Quality::kUnmapped:
      return {"unmapped", "unmapped"};
    case profile::Quality::kTwoNames:
      return {"two_names", "two names"};
  }
  return {"unknown", "unknown"};
}

Term term(MemoryLevel level) {
  switch (level) {
    case MemoryLevel::kUnknown:
      return {"unknown", "unknown"};
    case MemoryLevel::kL1:
      return {"l1", "L1"};
    case MemoryLevel::kFillBuffer:
      return {"fill_buffer", "fill buffer"};
    case MemoryLevel::kL2:
      return {"l2", "L2"};
    case MemoryLevel::kL3:
      return {"l3", "L3"};
    case MemoryLevel::kRam:
      return {"ram", "RAM"};
    case MemoryLevel::kRemote:
      return {"remote", "remote"};
    case MemoryLevel::kOther:
      return {"other", "other"};
  }
  return {"unknown", "unknown"};
}

Term term(profile::Unit unit) {
  switch (unit) {
    case profile::Unit::kNsOnCpu:
      return {"ns_on_cpu", "CPU time"};
    case profile::Unit::kNsOffCpu:
      return {"ns_off_cpu", "time off CPU"};
    case profile::Unit::kEvents:
      return {"events", "events"};
  }
  return {"unknown", "unknown"};
}

Term term(profile::WalkEnd end) {
  switch (end) {
    case profile::WalkEnd::kKnown:
      return {"known", "it is known whose the sample is"};
    case profile::WalkEnd::kBegin:
      return {"begin", "the begin of a thread"};
    case profile::WalkEnd::kNoRule:
      return {"no_rule", "no rule for the address"};
    case profile::WalkEnd::kGenerated:
      return {"generated", "generated code without a table"};
    case profile::WalkEnd::kNoFile:
      return {"no_file", "no file at the address"};
    case profile::WalkEnd::kShortStack:
      return {"short", "a stack longer than its copy"};
    case profile::WalkEnd::kNonsense:
      return {"nonsense", "a rule that makes no sense there"};
    case profile::WalkEnd::kUnread:
      return {"unread", "a file that was not read in time"};
    case profile::WalkEnd::kWork:
      return {"work", "tables that cost too much to follow"};
    case profile::WalkEnd::kFrames:
      return {"frames", "more callers than a sample may have"};
  }
  return {"unknown", "unknown"};
}

}  // namespace tailor::query
