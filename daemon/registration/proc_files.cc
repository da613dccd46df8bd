#include "daemon/registration/proc_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "proto/base/errors.h"
#include "proto/base/unique_fd.h"

namespace tailor::registration {

namespace {

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The field before the next blank, which it takes away from `text`.
std::string_view next_field(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::string_view field = text.substr(0, text.find_first_of(" \t\n"));
  text.remove_prefix(field.size());
  return field;
}

// What follows `key`, which begins with the end of the line before.
std::optional<std::string_view> line_of(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(at + key.size());
  return line.substr(0, line.find('\n'));
}

}  // namespace

Result<std::string> read_small_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return os_error(fmt::format("{}: {}", path, std::strerror(errno)), errno);
  std::string text(16 * 1024, '\0');
  ssize_t size = ::read(fd.get(), text.data(), text.size());
  if (size < 0) return os_error(fmt::format("{}: {}", path, std::strerror(errno)), errno);
  text.resize(static_cast<std::size_t>(size));
  return text;
}

Result<std::uint64_t> parse_start_time(std::string_view stat) {
  auto end_of_name = stat.rfind(')');
  if (end_of_name == std::string_view::npos) return internal("/proc/PID/stat without a name");
  stat.remove_prefix(end_of_name + 1);
  constexpr int kFieldAfterName = 3;
  constexpr int kStartTime = 22;
  for (int field = kFieldAfterName; field < kStartTime; ++field) next_field(stat);
  auto start = number<std::uint64_t>(next_field(stat));
  if (!start) return internal("/proc/PID/stat without a start time");
  return *start;
}

Result<NamespaceIds> parse_namespace_ids(std::string_view status) {
  auto found = line_of(status, "\nNSpid:");
  if (!found) return internal("/proc/PID/status without NSpid");
  std::string_view line = *found;
  NamespaceIds ids;
  for (std::string_view field = next_field(line); !field.empty(); field = next_field(line)) {
    auto id = number<std::int32_t>(field);
    if (!id || *id <= 0) return internal("/proc/PID/status with a strange NSpid");
    if (ids.outer == 0) ids.outer = *id;
    ids.inner = *id;
  }
  if (ids.outer == 0) return internal("/proc/PID/status with an empty NSpid");
  return ids;
}

Result<std::uint32_t> parse_effective_uid(std::string_view status) {
  auto line = line_of(status, "\nUid:");
  if (!line) return internal("/proc/PID/status without Uid");
  next_field(*line);  // the real one
  auto uid = number<std::uint32_t>(next_field(*line));
  if (!uid) return internal("/proc/PID/status with a strange Uid");
  return *uid;
}

}  // namespace tailor::registration
