#include "daemon/tailord/run_queue.h"

#include <charconv>
#include <string>
#include <system_error>

#include "daemon/os/host_files.h"

namespace tailor::tailord {

// "0.20 0.18 0.12 3/512 11206": the fourth field is threads that can run, and all threads.
std::optional<std::uint64_t> runnable_threads(std::string_view loadavg) {
  for (int field = 0; field < 3; ++field) {
    const std::size_t blank = loadavg.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    loadavg.remove_prefix(blank + 1);
  }
  const std::string_view number = loadavg.substr(0, loadavg.find('/'));
  if (number.size() == loadavg.size()) return std::nullopt;
  std::uint64_t threads = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), threads);
  if (problem != std::errc() || end != number.data() + number.size()) return std::nullopt;
  return threads;
}

std::optional<double> RunQueue::average(TimeNs now) {
  if (looks_.empty() || now - looks_.back().at >= kEvery) {
    const auto text = os::read_text(file_);
    const auto threads = text.ok() ? runnable_threads(*text) : std::nullopt;
    if (!threads) {
      looks_.clear();
      return std::nullopt;
    }
    looks_.push_back({now, static_cast<double>(*threads == 0 ? 0 : *threads - 1)});
  }
  while (now - looks_.front().at > kOver) looks_.pop_front();
  if (looks_.back().at - looks_.front().at < kAtLeast) return std::nullopt;
  double sum = 0;
  for (const Look& look : looks_) sum += look.threads;
  return sum / static_cast<double>(looks_.size());
}

}  // namespace tailor::tailord
