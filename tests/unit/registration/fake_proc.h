// A directory that looks like /proc.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tailor::registration::testing {

// The text of /proc/PID/stat.
inline std::string stat_of(const std::string& name, int start) {
  std::string text = "1 (" + name + ") S";
  for (int field = 4; field < 22; ++field) text += " " + std::to_string(field);
  return text + " " + std::to_string(start) + " 0 0\n";
}

// The text of /proc/PID/status; `pids` are those of its namespaces, the outermost first.
inline std::string status_of(const std::string& pids, std::uint32_t effective_uid) {
  const std::string uid = "\t" + std::to_string(effective_uid);
  return "Name:\tx\nUid:" + uid + uid + uid + uid + "\nNSpid:\t" + pids + "\n";
}

class FakeProc {
 public:
  FakeProc() {
    char name[] = "/tmp/tailor-proc-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~FakeProc() { std::filesystem::remove_all(root_); }
  FakeProc(const FakeProc&) = delete;
  FakeProc& operator=(const FakeProc&) = delete;

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
  }
  // The process that has the pid of this test began then, and runs as that user.
  void be(int start, std::uint32_t effective_uid) {
    const std::string pid = std::to_string(::getpid());
    write(pid + "/stat", stat_of("x", start));
    write(pid + "/status", status_of(pid, effective_uid));
  }
  // Nobody has it.
  void forget() { std::filesystem::remove_all(root_ + "/" + std::to_string(::getpid())); }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

}  // namespace tailor::registration::testing
