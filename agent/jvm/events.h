// JVMTI's events of code, turned into values.
#pragma once

#include <jvmti.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_set>

#include "agent/jvm/frame_anchor.h"
#include "agent/jvm/nmethod.h"
#include "agent/jvm/shipper.h"
#include "agent/jvm/vm_threads.h"

namespace tailor::jvm {

// One of a process, made when the agent begins and never freed: the JVM's threads may be inside.
class Events {
 public:
  // Threads work for `run` from their first instruction.
  Events(jvmtiEnv* jvmti, Shipper& shipper, ProgramRun run) : jvmti_(jvmti), shipper_(shipper), run_(run) {}

  // Says where the calling thread keeps the frame in which it leaves Java. Further calls are cheap.
  void tell_anchor(JNIEnv* env) const;

  // Asks the JVM for its events, and for what it compiled before. "" or what it refused.
  std::string begin();

  // Any thread.
  void compiled(jmethodID method, jint size, const void* base, jint map_count,
                const jvmtiAddrLocationMap* map, const void* records);
  void uncompiled(const void* base) { shipper_.unloaded(reinterpret_cast<std::uintptr_t>(base)); }
  void generated(const char* name, const void* base, jint size) const;
  void java_thread_began(JNIEnv* env);
  void java_thread_ended();
  bool is_java_thread(std::uint32_t tid) const;

 private:
  jvmtiEnv* jvmti_;
  Shipper& shipper_;
  ProgramRun run_;
  NmethodReader nmethods_{vm_fields()};
  FrameAnchors anchors_;
  // While the JVM is asked for what it compiled before it was asked for details. Its answer comes on the
  // thread that asks.
  static thread_local bool t_catching_up;
  static thread_local bool t_anchor_told;
  mutable std::mutex mutex_;  // guards what follows
  std::unordered_set<std::uint32_t> java_threads_;
};

}  // namespace tailor::jvm
