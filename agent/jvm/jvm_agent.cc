// The native half of the Java agent: what class tailor.jvm.Native calls.
#include <dlfcn.h>
#include <jni.h>
#include <jvmti.h>
#include <link.h>
#include <tailor/agent.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "agent/jvm/modified_utf8.h"
#include "agent/jvm/running.h"

namespace tailor::jvm {

std::atomic<Running*> g_running{nullptr};

std::string text_of(JNIEnv* env, jstring text) {
  const char* bytes = text ? env->GetStringUTFChars(text, nullptr) : nullptr;
  std::string copy = from_modified_utf8(bytes ? bytes : "");
  if (bytes) env->ReleaseStringUTFChars(text, bytes);
  return copy;
}

namespace {

void declare_code(const dl_phdr_info& library, const char* name) {
  const std::uint32_t component = tailor_component_declare(name);
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const auto& part = library.dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const auto* begin = reinterpret_cast<const char*>(library.dlpi_addr + part.p_vaddr);
    tailor_component_code(component, begin, begin + part.p_memsz);
  }
}

bool has_address(const dl_phdr_info& library, std::uintptr_t address) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const auto& part = library.dlpi_phdr[i];
    const std::uintptr_t begin = library.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && address >= begin && address - begin < part.p_memsz) return true;
  }
  return false;
}

// Code of libjvm.so is the JVM's own wherever nothing better is known, and that of this library the agent's.
int declare_library(dl_phdr_info* info, std::size_t, void*) {
  const char* name = info->dlpi_name ? std::strrchr(info->dlpi_name, '/') : nullptr;
  if (name && std::strcmp(name, "/libjvm.so") == 0) declare_code(*info, "JVM runtime");
  if (has_address(*info, reinterpret_cast<std::uintptr_t>(&declare_library)))
    declare_code(*info, kAgentComponent);
  return 0;
}

std::string start_agent(const std::string& version) {
  tailor_agent_options options{};
  options.size = sizeof options;
  options.engine_name = "JVM";
  options.engine_version = version.c_str();
  options.tag_strategy = TAILOR_TAGS_NONE;
  options.log_records = 1024;
  const int error = tailor_agent_start(&options);
  if (error == -EALREADY) return "";
  return error == 0 ? "" : std::string("the agent cannot start: ") + std::strerror(-error);
}

struct Program {
  std::string name, version, command;
  bool late = false, spark = false;
};

std::string start(JNIEnv* env, jvmtiEnv* jvmti, const Program& program) {
  if (g_running.load() != nullptr) return "";
  if (std::string problem = start_agent(program.version); !problem.empty()) return problem;
  auto* running = new Running;
  running->jvmti = jvmti;
  if (program.spark) running->spark = new Spark;
  running->shipper = new Shipper(program.name, running->spark, [running] {
    if (g_running.load() == running) running->threads->look();
  });
  if (running->spark) running->spark->set_numbers(running->shipper);
  // Arguments may hold secrets: of the command line, the main class or the archive.
  const std::string main = program.command.substr(0, program.command.find(' '));
  const tailor_label labels[] = {{"application", "java"}, {"query", main.c_str()}};
  running->run.plan = running->shipper->first_plan();
  running->run.execution = tailor_execution_begin(running->run.plan, labels, 2);
  running->events = new Events(jvmti, *running->shipper, running->run);
  running->threads =
      new VmThreads([running](std::uint32_t tid) { return running->events->is_java_thread(tid); },
                    running->run, program.late);
  running->events->java_thread_began(env);
  dl_iterate_phdr(declare_library, nullptr);
  g_running = running;
  return running->events->begin();
}

}  // namespace
}  // namespace tailor::jvm

extern "C" {

// NULL, or why the program runs without a profile.
JNIEXPORT jstring JNICALL Java_tailor_jvm_Native_start(JNIEnv* env, jclass, jstring name, jstring version,
                                                       jstring command, jboolean late, jboolean spark) {
  using tailor::jvm::text_of;
  JavaVM* vm = nullptr;
  jvmtiEnv* jvmti = nullptr;
  std::string problem;
  if (env->GetJavaVM(&vm) != JNI_OK ||
      vm->GetEnv(reinterpret_cast<void**>(&jvmti), JVMTI_VERSION_11) != JNI_OK) {
    problem = "this JVM has no tool interface (JVMTI)";
  } else {
    try {
      problem = tailor::jvm::start(env, jvmti,
                                   {text_of(env, name), text_of(env, version), text_of(env, command),
                                    late == JNI_TRUE, spark == JNI_TRUE});
    } catch (const std::exception& error) {
      problem = error.what();
    }
  }
  return problem.empty() ? nullptr : env->NewStringUTF(problem.c_str());
}

// The JVM ends: what was said last goes out, for which it waits `timeout_ms` at most.
JNIEXPORT void JNICALL Java_tailor_jvm_Native_stop(JNIEnv*, jclass, jint timeout_ms) {
  tailor::jvm::Running* running = tailor::jvm::g_running.load();
  if (!running || timeout_ms <= 0) return;
  tailor_execution_end(running->run.execution, UINT64_MAX, nullptr);
  running->shipper->flush(static_cast<std::uint32_t>(timeout_ms));
}

// loads, unloads, dropped, live code objects, live dictionaries; messages queued, sent, dropped
JNIEXPORT jlongArray JNICALL Java_tailor_jvm_Native_counts(JNIEnv* env, jclass) {
  tailor::jvm::Running* running = tailor::jvm::g_running.load();
  tailor::jvm::ShipperCounts counts;
  if (running) counts = running->shipper->counts();
  tailor_agent_counters agent{};
  agent.size = sizeof agent;
  tailor_agent_get_counters(&agent);
  const jlong values[] = {
      static_cast<jlong>(counts.loads),        static_cast<jlong>(counts.unloads),
      static_cast<jlong>(counts.dropped),      static_cast<jlong>(counts.live),
      static_cast<jlong>(counts.plans),        static_cast<jlong>(agent.messages_queued),
      static_cast<jlong>(agent.messages_sent), static_cast<jlong>(agent.messages_dropped)};
  constexpr jsize kCount = sizeof values / sizeof values[0];
  jlongArray out = env->NewLongArray(kCount);
  if (out) env->SetLongArrayRegion(out, 0, kCount, values);
  return out;
}

}  // extern "C"
