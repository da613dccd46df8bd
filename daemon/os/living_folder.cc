#include "daemon/os/living_folder.h"

#include <fstream>
#include <string>
#include <system_error>

namespace tailor::os {
namespace {

bool has_memory(const std::filesystem::path& folder) {
  std::ifstream maps(folder / "maps");
  return maps.get() != std::ifstream::traits_type::eof();
}

}  // namespace

std::filesystem::path living_folder(const std::filesystem::path& proc, pid_t pid) {
  constexpr int kMost = 4096;  // threads that have ended and were not waited for are few
  std::filesystem::path folder = proc / std::to_string(pid);
  if (has_memory(folder)) return folder;
  std::error_code error;
  std::filesystem::directory_iterator thread(folder / "task", error);
  for (int i = 0; !error && i < kMost && thread != std::filesystem::directory_iterator(); ++i) {
    if (has_memory(thread->path())) return thread->path();
    thread.increment(error);
  }
  return folder;
}

}  // namespace tailor::os
