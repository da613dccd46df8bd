#include "agent/jvm/vm_threads.h"

#include <array>
#include <charconv>
#include <fstream>
#include <system_error>
#include <utility>

namespace tailor::jvm {

std::string_view component_of_thread(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 29> kBegins = {{
      {"C1 CompilerThre", "JVM compiler C1"},
      {"C2 CompilerThre", "JVM compiler C2"},
      {"GC Thread#", "JVM garbage collector"},
      {"G1 Main Marker", "JVM garbage collector"},
      {"G1 Conc#", "JVM garbage collector"},
      {"G1 Refine#", "JVM garbage collector"},
      {"G1 Service", "JVM garbage collector"},
      {"G1 Young RemSet", "JVM garbage collector"},
      {"ParGC Thread#", "JVM garbage collector"},
      {"Shenandoah", "JVM garbage collector"},
      {"ZWorker", "JVM garbage collector"},
      {"ZDriver", "JVM garbage collector"},
      {"ZDirector", "JVM garbage collector"},
      {"ZStat", "JVM garbage collector"},
      {"ZUncommitter", "JVM garbage collector"},
      {"ZUnmapper", "JVM garbage collector"},
      {"XWorker", "JVM garbage collector"},
      {"XDriver", "JVM garbage collector"},
      {"XDirector", "JVM garbage collector"},
      {"XStat", "JVM garbage collector"},
      {"XUncommitter", "JVM garbage collector"},
      {"XUnmapper", "JVM garbage collector"},
      {"RuntimeWorker#", "JVM garbage collector"},  // of ZGC, for safepoints
      {"VM Thread", "JVM safepoints"},
      {"VM Periodic Tas", "JVM safepoints"},
      {"Sweeper thread", "JVM code cache"},
      {"Service Thread", "JVM service"},  // it also tells agents of code that was unloaded
      {"Monitor Deflati", "JVM service"},
      {"tailor-jvm", kAgentComponent},
  }};
  for (const auto& [begin, component] : kBegins) {
    if (name.starts_with(begin)) return component;
  }
  return {};
}

std::string VmThreads::name_of(const std::filesystem::path& task) const {
  std::ifstream file(task / "comm");
  std::string name;
  std::getline(file, name);
  return name;
}

void VmThreads::look_at(std::uint32_t tid, const std::filesystem::path& task) {
  auto [known, fresh] = known_.try_emplace(tid);
  Known& entry = known->second;
  entry.seen = true;
  // The number of a thread that has ended can be another's: those that count are looked at again.
  if (!fresh && entry.thread == nullptr) return;
  const std::string name = name_of(task);
  if (!fresh && name == entry.name) return;
  tailor_other_thread_remove(entry.thread);
  entry.name = name;
  entry.thread = nullptr;
  const std::string component(component_of_thread(name));
  if ((component.empty() && !late_) || is_java_(tid)) return;
  const std::uint32_t number = component.empty() ? 0 : tailor_component_declare(component.c_str());
  entry.thread = tailor_other_thread_add(tid, name.c_str(), run_.execution, run_.plan, number);
}

void VmThreads::look() {
  for (auto& [tid, entry] : known_) entry.seen = false;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    const std::string number = task.path().filename().string();
    std::uint32_t tid = 0;
    std::from_chars(number.data(), number.data() + number.size(), tid);
    if (tid != 0) look_at(tid, task.path());
  }
  for (auto at = known_.begin(); at != known_.end();) {
    if (!at->second.seen) tailor_other_thread_remove(at->second.thread);
    at = at->second.seen ? std::next(at) : known_.erase(at);
  }
  late_ = false;
}

}  // namespace tailor::jvm
