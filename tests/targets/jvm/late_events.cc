// A JVMTI agent that makes HotSpot tell others late of compiled code: -agentpath:.../late_events.so=MS.
// HotSpot tells its agents one after the other, those that were there first at first: this one waits when it
// hears of the first three pieces of code of class JvmShares, until the program has used so much CPU time
// more. It says to standard error how often.
#include <jvmti.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <thread>

namespace {

constexpr int kMost = 3;
int g_waits = 0;  // HotSpot tells on one thread
std::chrono::milliseconds g_each{0};

std::chrono::nanoseconds used() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// A program that waits for a CPU runs no late code meanwhile; several threads use more than time passes.
void wait() {
  const auto enough = used() + g_each;
  const auto earliest = std::chrono::steady_clock::now() + g_each;
  while (used() < enough || std::chrono::steady_clock::now() < earliest)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

bool of_the_program(jvmtiEnv* jvmti, jmethodID method) {
  jclass owner = nullptr;
  char* name = nullptr;
  if (jvmti->GetMethodDeclaringClass(method, &owner) != JVMTI_ERROR_NONE ||
      jvmti->GetClassSignature(owner, &name, nullptr) != JVMTI_ERROR_NONE) {
    return false;
  }
  const bool found = std::string_view(name) == "LJvmShares;";
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(name));
  return found;
}

void JNICALL loaded(jvmtiEnv* jvmti, jmethodID method, jint, const void*, jint, const jvmtiAddrLocationMap*,
                    const void*) {
  if (g_waits >= kMost || !of_the_program(jvmti, method)) return;
  ++g_waits;
  std::fprintf(stderr, "late_events: told late\n");
  wait();
}

}  // namespace

extern "C" JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void*) {
  jvmtiEnv* jvmti = nullptr;
  g_each = std::chrono::milliseconds(std::strtol(options, nullptr, 10));
  if (vm->GetEnv(reinterpret_cast<void**>(&jvmti), JVMTI_VERSION_11) != JNI_OK) return JNI_ERR;
  jvmtiCapabilities wanted{};
  wanted.can_generate_compiled_method_load_events = 1;
  jvmtiEventCallbacks calls{};
  calls.CompiledMethodLoad = loaded;
  if (jvmti->AddCapabilities(&wanted) != JVMTI_ERROR_NONE ||
      jvmti->SetEventCallbacks(&calls, sizeof calls) != JVMTI_ERROR_NONE) {
    return JNI_ERR;
  }
  jvmti->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_COMPILED_METHOD_LOAD, nullptr);
  return JNI_OK;
}
