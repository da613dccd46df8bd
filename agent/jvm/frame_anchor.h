// Where HotSpot keeps the frame in which a thread left compiled or interpreted code (JavaFrameAnchor).
#pragma once

#include <tailor/agent.h>

#include <cstdint>

namespace tailor::jvm {

class FrameAnchors {
 public:
  // Looks libjvm.so's descriptions up.
  FrameAnchors();

  // That of the thread whose JavaThread lies at `java_thread`. NULL where this JVM does not tell where it is,
  // or keeps it in another form than tailor_frame_anchor.
  const tailor_frame_anchor* of_thread(std::uint64_t java_thread) const;

 private:
  std::int64_t anchor_ = -1;                  // of JavaThread
  std::int64_t sp_ = -1, pc_ = -1, fp_ = -1;  // of JavaFrameAnchor
};

}  // namespace tailor::jvm
