#include "daemon/registration/proc_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "proto/base/unique_fd.h"

namespace tailor::registration {

namespace {

template <typename T>
std::optional<T> Number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The word before the next blank, which it takes away from `text`.
std::string_view Word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

Result<std::string> ReadSmallFile(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return Error{fmt::format("{}: {}", path, std::strerror(errno)), errno};
  std::string text(16 * 1024, '\0');
  ssize_t size = ::read(fd.get(), text.data(), text.size());
  if (size < 0) return Error{fmt::format("{}: {}", path, std::strerror(errno)), errno};
  text.resize(static_cast<std::size_t>(size));
  return text;
}

Result<std::uint64_t> ParseStartTime(std::string_view stat) {
  auto end_of_name = stat.rfind(')');
  if (end_of_name == std::string_view::npos) return Error{"/proc/PID/stat without a name"};
  stat.remove_prefix(end_of_name + 1);
  constexpr int kFieldAfterName = 3;
  constexpr int kStartTime = 22;
  for (int field = kFieldAfterName; field < kStartTime; ++field) Word(stat);
  auto start = Number<std::uint64_t>(Word(stat));
  if (!start) return Error{"/proc/PID/stat without a start time"};
  return *start;
}

Result<NamespaceIds> ParseNamespaceIds(std::string_view status) {
  constexpr std::string_view kKey = "\nNSpid:";
  auto at = status.find(kKey);
  if (at == std::string_view::npos) return Error{"/proc/PID/status without NSpid"};
  std::string_view line = status.substr(at + kKey.size());
  line = line.substr(0, line.find('\n'));
  NamespaceIds ids;
  for (std::string_view word = Word(line); !word.empty(); word = Word(line)) {
    auto id = Number<std::int32_t>(word);
    if (!id || *id <= 0) return Error{"/proc/PID/status with a strange NSpid"};
    if (ids.outer == 0) ids.outer = *id;
    ids.inner = *id;
  }
  if (ids.outer == 0) return Error{"/proc/PID/status with an empty NSpid"};
  return ids;
}

}  // namespace tailor::registration
