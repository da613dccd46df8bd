// How far another process has come, for tests that wait for it: they look again and again, and do not sleep
// for a fixed time, which is too short on a busy host.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

namespace tailor::test {

// Whether it holds within two minutes.
inline bool eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Whether its first thread waits for something, as in a system call that reads.
inline bool is_asleep(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end_of_name = line.rfind(')');
  return end_of_name != std::string::npos && line.substr(end_of_name + 1, 2) == " S";
}

// The name of the program that it executes, 15 characters of it.
inline std::string program_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace tailor::test
