// A JVMTI agent of its own, for the tests of Spark: -agentpath:.../burn_ranges.so=FILE. It writes down which
// instructions of compiled code work for the injected function, by their inline stacks, as the JVM tells it:
//
//   load TIME BASE SIZE [WHERE FIRST LAST]...
//   unload TIME BASE
//
// FIRST to LAST are offsets of instructions whose stack holds Burn. WHERE is "inlined" if a method that Spark
// generated is on that stack as well, else "apart".
//
// Times are CLOCK_MONOTONIC_RAW, in ns. Nothing of Tailor is in this file: it is what Tailor is judged by.
#include <jvmti.h>
#include <jvmticmlr.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>

namespace {

std::FILE* g_file = nullptr;
std::mutex g_mutex;  // guards the file

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string class_of(jvmtiEnv* jvmti, jmethodID method) {
  jclass owner = nullptr;
  char* name = nullptr;
  if (!method || jvmti->GetMethodDeclaringClass(method, &owner) != JVMTI_ERROR_NONE ||
      jvmti->GetClassSignature(owner, &name, nullptr) != JVMTI_ERROR_NONE) {
    return "";
  }
  std::string copy = name;
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(name));
  return copy;
}

// NULL: it does not work for burn().
const char* where(jvmtiEnv* jvmti, const PCStackInfo& info) {
  bool burn = false, generated = false;
  for (jint f = 0; f < info.numstackframes; ++f) {
    const std::string name = class_of(jvmti, info.methods[f]);
    burn |= name == "Ltailor/test/Burn;";
    generated |= name.starts_with("Lorg/apache/spark/sql/catalyst/expressions/GeneratedClass");
  }
  if (!burn) return nullptr;
  return generated ? "inlined" : "apart";
}

void JNICALL loaded(jvmtiEnv* jvmti, jmethodID, jint size, const void* base, jint,
                    const jvmtiAddrLocationMap*, const void* records) {
  std::string ranges;
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  std::uintptr_t next = 0;
  for (const auto* header = static_cast<const jvmtiCompiledMethodLoadRecordHeader*>(records); header;
       header = header->next) {
    if (header->kind != JVMTI_CMLR_INLINE_INFO) continue;
    const auto* record = reinterpret_cast<const jvmtiCompiledMethodLoadInlineRecord*>(header);
    for (jint i = 0; i < record->numpcs; ++i) {
      // A description ends its range.
      const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(record->pcinfo[i].pc) - begin;
      if (end < next || end >= static_cast<std::uintptr_t>(size)) continue;
      if (const char* place = where(jvmti, record->pcinfo[i]))
        ranges += std::string(" ") + place + ' ' + std::to_string(next) + ' ' + std::to_string(end);
      next = end + 1;
    }
  }
  const std::lock_guard lock(g_mutex);
  std::fprintf(g_file, "load %" PRId64 " %" PRIuPTR " %d%s\n", now(), begin, size, ranges.c_str());
}

void JNICALL unloaded(jvmtiEnv*, jmethodID, const void* base) {
  const std::lock_guard lock(g_mutex);
  std::fprintf(g_file, "unload %" PRId64 " %" PRIuPTR "\n", now(), reinterpret_cast<std::uintptr_t>(base));
}

}  // namespace

extern "C" JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void*) {
  jvmtiEnv* jvmti = nullptr;
  g_file = std::fopen(options, "we");
  if (!g_file || vm->GetEnv(reinterpret_cast<void**>(&jvmti), JVMTI_VERSION_11) != JNI_OK) return JNI_ERR;
  jvmtiCapabilities wanted{};
  wanted.can_generate_compiled_method_load_events = 1;
  jvmtiEventCallbacks calls{};
  calls.CompiledMethodLoad = loaded;
  calls.CompiledMethodUnload = unloaded;
  if (jvmti->AddCapabilities(&wanted) != JVMTI_ERROR_NONE ||
      jvmti->SetEventCallbacks(&calls, sizeof calls) != JVMTI_ERROR_NONE) {
    return JNI_ERR;
  }
  jvmti->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_COMPILED_METHOD_LOAD, nullptr);
  jvmti->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_COMPILED_METHOD_UNLOAD, nullptr);
  return JNI_OK;
}

extern "C" JNIEXPORT void JNICALL Agent_OnUnload(JavaVM*) {
  const std::lock_guard lock(g_mutex);
  std::fflush(g_file);
}
