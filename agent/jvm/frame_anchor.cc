#include "agent/jvm/frame_anchor.h"

#include <cstddef>

#include "agent/jvm/vm_structs.h"

namespace tailor::jvm {

FrameAnchors::FrameAnchors() {
  for (const VmField& each : vm_fields()) {
    if (each.type == "JavaThread" && each.field == "_anchor") anchor_ = each.offset;
    if (each.type != "JavaFrameAnchor") continue;
    if (each.field == "_last_Java_sp") sp_ = each.offset;
    if (each.field == "_last_Java_pc") pc_ = each.offset;
    if (each.field == "_last_Java_fp") fp_ = each.offset;
  }
}

const tailor_frame_anchor* FrameAnchors::of_thread(std::uint64_t java_thread) const {
  using Anchor = tailor_frame_anchor;
  const bool same_form = sp_ >= 0 && pc_ - sp_ == offsetof(Anchor, instruction_pointer) &&
                         fp_ - sp_ == offsetof(Anchor, frame_pointer);
  if (java_thread == 0 || anchor_ < 0 || !same_form) return nullptr;
  return reinterpret_cast<const Anchor*>(java_thread + static_cast<std::uint64_t>(anchor_ + sp_));
}

}  // namespace tailor::jvm
