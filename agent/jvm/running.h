// What runs in this JVM, for the functions that Java calls.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <atomic>
#include <string>

#include "agent/jvm/events.h"
#include "agent/jvm/shipper.h"
#include "agent/jvm/spark.h"
#include "agent/jvm/vm_threads.h"

namespace tailor::jvm {

// Made once and never freed: the JVM's threads may be inside until the process ends.
struct Running {
  Spark* spark = nullptr;  // NULL: no program of Spark
  jvmtiEnv* jvmti = nullptr;
  Shipper* shipper = nullptr;
  Events* events = nullptr;
  VmThreads* threads = nullptr;
  ProgramRun run;
};
// NULL before the agent has begun.
extern std::atomic<Running*> g_running;

// "" for null.
std::string text_of(JNIEnv* env, jstring text);

}  // namespace tailor::jvm
