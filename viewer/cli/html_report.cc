#include "viewer/cli/html_report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "proto/base/errors.h"
#include "proto/base/unique_fd.h"

namespace tailor::cli {
namespace {

constexpr std::string_view kOpening = R"(<script type="application/json" id="tailor-bundle">)";
constexpr std::string_view kEmpty = "null";

Error failed(const std::string& path) {
  return os_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)), errno);
}

Status write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return Ok{};
}

// A device or a pipe: nothing may take its place.
bool is_special(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

}  // namespace

Result<std::string> html_report(std::string_view page, std::string_view bundle) {
  if (page.empty()) {
    return unavailable(
        "this tailor was built without the web page; ./dev build makes it where npm's packages can be had");
  }
  const std::string place = fmt::format("{}{}</script>", kOpening, kEmpty);
  const std::size_t at = page.find(place);
  if (at == std::string_view::npos || page.find(place, at + 1) != std::string_view::npos) {
    return unavailable("the web page in this tailor does not have the place of its data exactly once");
  }
  const std::size_t data = at + kOpening.size();
  std::string out;
  out.reserve(page.size() + bundle.size() + 5 * static_cast<std::size_t>(std::ranges::count(bundle, '<')));
  out += page.substr(0, data);
  for (char c : bundle) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  out += page.substr(data + kEmpty.size());
  return out;
}

Status write_whole_file(const std::string& path, std::string_view content) {
  if (is_special(path)) {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return file ? write_all(file.get(), content, path) : Status(failed(path));
  }
  const std::string unfinished = fmt::format("{}.{}.new", path, ::getpid());
  const UniqueFd file(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return failed(path);
  Status done = write_all(file.get(), content, path);
  if (done && ::rename(unfinished.c_str(), path.c_str()) != 0) done = failed(path);
  if (!done) ::unlink(unfinished.c_str());
  return done;
}

}  // namespace tailor::cli
