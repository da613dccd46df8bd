// Where in /proc a process is found whose main thread has ended.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace tailor::os {

// The folder that shows a process's memory, root and files: /proc/PID, or that of a thread which lives where
// the main thread has ended and the others go on. /proc/PID where there is none.
std::filesystem::path living_folder(const std::filesystem::path& proc, pid_t pid);

}  // namespace tailor::os
