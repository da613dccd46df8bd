// Which threads are the JVM's own.
#include "agent/jvm/vm_threads.h"

#include <gtest/gtest.h>

namespace tailor::jvm {
namespace {

TEST(VmThreads, AreKnownByTheNamesTheJvmGivesThem) {
  EXPECT_EQ(component_of_thread("C2 CompilerThre"), "JVM compiler C2");
  EXPECT_EQ(component_of_thread("C1 CompilerThre"), "JVM compiler C1");
  EXPECT_EQ(component_of_thread("GC Thread#12"), "JVM garbage collector");
  EXPECT_EQ(component_of_thread("G1 Conc#0"), "JVM garbage collector");
  EXPECT_EQ(component_of_thread("VM Thread"), "JVM safepoints");
  for (const char* name : {"ZStat", "ZDirector", "ZUnmapper", "RuntimeWorker#0", "XDriver"})
    EXPECT_EQ(component_of_thread(name), "JVM garbage collector") << name;
  EXPECT_EQ(component_of_thread("Service Thread"), "JVM service");
  EXPECT_EQ(component_of_thread("tailor-jvm"), kAgentComponent);
}

TEST(VmThreads, OthersAreNot) {
  for (const char* name : {"", "java", "main", "Executor task l", "Finalizer", "a GC Thread#1", "C3"}) {
    EXPECT_EQ(component_of_thread(name), "") << name;
  }
}

}  // namespace
}  // namespace tailor::jvm
