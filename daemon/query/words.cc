#include "daemon/query/words.h"

namespace tailor::query {

Word word(attribute::Reason reason) {
  switch (reason) {
    case attribute::Reason::kNone:
      return {"no_reason", "no reason given"};
    case attribute::Reason::kNotRegistered:
      return {"not_registered", "process that was not registered then"};
    case attribute::Reason::kUnknownUserCode:
      return {"unknown_user_code", "code outside of operators and components, without a tag"};
    case attribute::Reason::kUnknownKernel:
      return {"unknown_kernel", "kernel, on nobody's known behalf"};
    case attribute::Reason::kTagCheckFailed:
      return {"tag_check_failed",
              "code outside of operators and components, with the tag's register in other use"};
    case attribute::Reason::kTagPlanNotLive:
      return {"tag_plan_not_live", "tag of a plan that was not loaded then"};
    case attribute::Reason::kNoRegisters:
      return {"no_registers", "sample without registers"};
  }
  return {"unknown", "unknown"};
}

Word word(attribute::How how) {
  switch (how) {
    case attribute::How::kUnattributed:
      return {"unattributed", "unattributed"};
    case attribute::How::kCode:
      return {"code", "address in generated code"};
    case attribute::How::kTag:
      return {"tag", "tag, in shared code"};
    case attribute::How::kKernelCode:
      return {"kernel_code", "kernel, entered from generated code"};
    case attribute::How::kKernelTag:
      return {"kernel_tag", "kernel, by tag"};
    case attribute::How::kCallchain:
      return {"callchain", "call stack"};
    case attribute::How::kComponentInterval:
      return {"component_interval", "engine component, by interval"};
    case attribute::How::kComponentCode:
      return {"component_code", "engine component, by code range"};
    case attribute::How::kTagUnwound:
      return {"tag_unwound", "tag, where a library saved it"};
  }
  return {"unknown", "unknown"};
}

Word word(attribute::Quality quality) {
  switch (quality) {
    case attribute::Quality::kExact:
      return {"exact", "exact"};
    case attribute::Quality::kInferred:
      return {"inferred", "inferred"};
    case attribute::Quality::kShared:
      return {"shared", "shared"};
    case attribute::Quality::kPrologue:
      return {"prologue", "set-up code"};
    case attribute::Quality::kUnmapped:
      return {"unmapped", "unmapped"};
  }
  return {"unknown", "unknown"};
}

Word word(MemoryLevel level) {
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

Word word(capture::Unit unit) {
  switch (unit) {
    case capture::Unit::kNsOnCpu:
      return {"ns_on_cpu", "CPU time"};
    case capture::Unit::kNsOffCpu:
      return {"ns_off_cpu", "time off CPU"};
    case capture::Unit::kEvents:
      return {"events", "events"};
  }
  return {"unknown", "unknown"};
}

}  // namespace tailor::query
