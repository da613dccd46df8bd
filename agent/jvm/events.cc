#include "agent/jvm/events.h"

#include <jvmticmlr.h>
#include <sys/syscall.h>
#include <tailor/agent.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "agent/jvm/frame_pops.h"
#include "agent/jvm/java_text.h"

namespace tailor::jvm {
namespace {

// C++ code of the JVM calls back: an exception must not pass. What is short of memory is left out.
template <typename F>
void guarded(F f) noexcept {
  try {
    f();
  } catch (...) {
  }
}

Events* g_events = nullptr;

std::uint32_t current_tid() {
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

const jvmtiCompiledMethodLoadInlineRecord* inline_record(const void* records) {
  const auto* header = static_cast<const jvmtiCompiledMethodLoadRecordHeader*>(records);
  for (; header; header = header->next) {
    if (header->kind == JVMTI_CMLR_INLINE_INFO && header->majorinfoversion == JVMTI_CMLR_MAJOR_VERSION_1)
      return reinterpret_cast<const jvmtiCompiledMethodLoadInlineRecord*>(header);
  }
  return nullptr;
}

void take_inlining(const jvmtiCompiledMethodLoadInlineRecord& record, JavaText& text, CompiledCode& code) {
  for (jint i = 0; i < record.numpcs; ++i) {
    const PCStackInfo& info = record.pcinfo[i];
    const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(info.pc) - code.base;
    if (offset >= code.size || info.numstackframes <= 0) continue;
    PcState state{static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(code.frames.size()), 0};
    for (jint f = 0; f < info.numstackframes; ++f) {
      if (!info.methods[f]) continue;
      const std::uint32_t number = text.number(info.methods[f]);
      code.frames.push_back({number, text.line(number, info.bcis[f])});
      ++state.frames;
    }
    code.states.push_back(state);
  }
  std::stable_sort(code.states.begin(), code.states.end(),
                   [](const PcState& a, const PcState& b) { return a.end < b.end; });
}

// Without inlining: each entry of the map begins a range.
void take_map(const jvmtiAddrLocationMap* map, jint count, const JavaText& text, CompiledCode& code) {
  for (jint i = 0; map && i < count; ++i) {
    const std::uint64_t next =
        i + 1 < count ? reinterpret_cast<std::uintptr_t>(map[i + 1].start_address) - code.base : code.size;
    if (next == 0 || next > code.size) continue;
    code.frames.push_back({0, text.line(0, static_cast<jint>(map[i].location))});
    code.states.push_back(
        {static_cast<std::uint32_t>(next - 1), static_cast<std::uint32_t>(code.frames.size() - 1), 1});
  }
}

}  // namespace

thread_local bool Events::t_catching_up = false;
thread_local bool Events::t_anchor_told = false;

void Events::compiled(jmethodID method, jint size, const void* base, jint map_count,
                      const jvmtiAddrLocationMap* map, const void* records) {
  if (size <= 0 || !base) return;
  CompiledCode code;
  code.base = reinterpret_cast<std::uintptr_t>(base);
  code.size = static_cast<std::uint32_t>(size);
  code.detailed = !t_catching_up;
  if (auto facts = nmethods_.facts(code.base, code.size)) code.facts = *facts;
  const std::span bytes(static_cast<const std::uint8_t*>(base), code.size);
  code.frame_push = frame_push_of(bytes, code.facts);
  code.pops = frame_pops_of(bytes, code.facts);
  JavaText text(jvmti_);
  text.number(method);
  if (const auto* record = inline_record(records)) {
    take_inlining(*record, text, code);
  } else {
    take_map(map, map_count, text, code);
  }
  code.methods = text.take();
  for (const MethodText& each : code.methods) {
    if (code.unit == 0) code.unit = each.unit;
  }
  shipper_.loaded(std::move(code));
}

void Events::generated(const char* name, const void* base, jint size) const {
  if (!name || !base || size <= 0) return;
  const bool interpreter = std::strcmp(name, "Interpreter") == 0;
  shipper_.generated(
      {reinterpret_cast<std::uintptr_t>(base), static_cast<std::uint32_t>(size), interpreter, name},
      nmethods_);
  tailor_component_code(tailor_component_declare(interpreter ? "JVM interpreter" : "JVM stubs"), base,
                        static_cast<const char*>(base) + size);
}

// HotSpot keeps the address of a thread's JavaThread in a field of its java.lang.Thread.
void Events::tell_anchor(JNIEnv* env) const {
  if (t_anchor_told) return;
  t_anchor_told = true;
  jclass type = env->FindClass("java/lang/Thread");
  jfieldID field = type ? env->GetFieldID(type, "eetop", "J") : nullptr;
  if (env->ExceptionCheck()) env->ExceptionClear();
  jthread thread = nullptr;
  if (field == nullptr || jvmti_->GetCurrentThread(&thread) != JVMTI_ERROR_NONE || thread == nullptr) return;
  tailor_thread_anchor(anchors_.of_thread(static_cast<std::uint64_t>(env->GetLongField(thread, field))));
}

void Events::java_thread_began(JNIEnv* env) {
  tailor_mark_execution_begin(run_.execution, run_.plan);
  tell_anchor(env);
  // Which method it is in is not said for code that only works for others.
  if (shipper_.shares_code()) tailor_mark_component_begin(tailor_component_declare("Java, outside of tasks"));
  const std::lock_guard lock(mutex_);
  java_threads_.insert(current_tid());
}

void Events::java_thread_ended() {
  tailor_thread_anchor(nullptr);
  t_anchor_told = false;
  const std::lock_guard lock(mutex_);
  java_threads_.erase(current_tid());
}

bool Events::is_java_thread(std::uint32_t tid) const {
  const std::lock_guard lock(mutex_);
  return java_threads_.contains(tid);
}

std::string Events::begin() {
  g_events = this;
  jvmtiCapabilities wanted{};
  wanted.can_generate_compiled_method_load_events = 1;
  wanted.can_get_line_numbers = 1;
  wanted.can_get_source_file_name = 1;
  wanted.can_tag_objects = 1;
  if (jvmti_->AddCapabilities(&wanted) != JVMTI_ERROR_NONE) return "the JVM refuses events of compiled code";
  jvmtiEventCallbacks calls{};
  calls.CompiledMethodLoad = [](jvmtiEnv*, jmethodID method, jint size, const void* base, jint count,
                                const jvmtiAddrLocationMap* map, const void* records) {
    guarded([&] { g_events->compiled(method, size, base, count, map, records); });
  };
  calls.CompiledMethodUnload = [](jvmtiEnv*, jmethodID, const void* base) {
    guarded([&] { g_events->uncompiled(base); });
  };
  calls.DynamicCodeGenerated = [](jvmtiEnv*, const char* name, const void* base, jint size) {
    guarded([&] { g_events->generated(name, base, size); });
  };
  calls.ThreadStart = [](jvmtiEnv*, JNIEnv* env, jthread) {
    guarded([&] { g_events->java_thread_began(env); });
  };
  calls.ThreadEnd = [](jvmtiEnv*, JNIEnv*, jthread) { guarded([] { g_events->java_thread_ended(); }); };
  if (jvmti_->SetEventCallbacks(&calls, sizeof calls) != JVMTI_ERROR_NONE) return "the JVM refuses callbacks";
  for (jvmtiEvent event :
       {JVMTI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_COMPILED_METHOD_UNLOAD,
        JVMTI_EVENT_DYNAMIC_CODE_GENERATED, JVMTI_EVENT_THREAD_START, JVMTI_EVENT_THREAD_END}) {
    if (jvmti_->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr) != JVMTI_ERROR_NONE)
      return "the JVM refuses event " + std::to_string(event);
  }
  t_catching_up = true;
  jvmti_->GenerateEvents(JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
  const jvmtiError known = jvmti_->GenerateEvents(JVMTI_EVENT_COMPILED_METHOD_LOAD);
  t_catching_up = false;
  return known == JVMTI_ERROR_NONE ? "" : "the JVM does not tell what it has compiled before";
}

}  // namespace tailor::jvm
