#include "daemon/tailord/log.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace tailor::tailord {
namespace {

// Of syslog(3).
char priority_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::critical:
      return '2';
    case spdlog::level::err:
      return '3';
    case spdlog::level::warn:
      return '4';
    case spdlog::level::info:
      return '6';
    default:
      return '7';
  }
}

class Priority : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    out.push_back('<');
    out.push_back(priority_of(message.level));
    out.push_back('>');
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
    return std::make_unique<Priority>();
  }
};

}  // namespace

bool logs_to_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat info{};
  return stream != nullptr && ::fstat(STDERR_FILENO, &info) == 0 &&
         fmt::format("{}:{}", info.st_dev, info.st_ino) == stream;
}

void start_logging(const std::string& level, bool journal) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("tailord"));
  spdlog::set_level(spdlog::level::from_str(level));
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<Priority>('P').set_pattern(journal ? "%P%v" : "%Y-%m-%dT%H:%M:%S.%e%z tailord %l: %v");
  spdlog::set_formatter(std::move(formatter));
}

std::string as_errors(std::string_view text, bool journal) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!line.empty()) out += fmt::format("{}{}\n", journal ? "<3>" : "", line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

}  // namespace tailor::tailord
