#include "daemon/store/summary_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "daemon/store/file_io.h"
#include "daemon/store/summary_codec.h"
#include "proto/base/errors.h"

namespace tailor::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".summary";

// Until it is whole.
std::string temporary_path(const std::string& directory) {
  return directory + "/summary.new";
}

bool parse_number(std::string_view text, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out > 0;
}

// "000000000002-000000000009.summary"
std::optional<SummaryFile> parse_summary_name(std::string_view name) {
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  const std::size_t dash = name.find('-');
  SummaryFile file;
  if (dash == std::string_view::npos || !parse_number(name.substr(0, dash), file.first) ||
      !parse_number(name.substr(dash + 1), file.last) || file.first > file.last)
    return std::nullopt;
  return file;
}

// All that lie there, those that others contain too.
Result<std::vector<SummaryFile>> list_all(const std::string& directory) {
  std::vector<SummaryFile> files;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    auto file = parse_summary_name(at->path().filename().native());
    if (!file) continue;
    std::error_code gone;  // meanwhile
    file->bytes = at->file_size(gone);
    if (!gone) files.push_back(*file);
  }
  if (error) return os_error(fmt::format("cannot list {}: {}", directory, error.message()), error.value());
  // The larger one of those that begin alike comes first.
  std::sort(files.begin(), files.end(), [](const SummaryFile& a, const SummaryFile& b) {
    return a.first != b.first ? a.first < b.first : a.last > b.last;
  });
  return files;
}

bool contained(const SummaryFile& file, const std::vector<SummaryFile>& files) {
  return std::any_of(files.begin(), files.end(), [&](const SummaryFile& other) {
    const bool same = other.first == file.first && other.last == file.last;
    return !same && other.first <= file.first && other.last >= file.last;
  });
}

Hour end_of_rows(const Summary& summary) {
  Hour newest = 0;
  if (!summary.costs.empty()) newest = summary.costs.rbegin()->first.hour;
  if (!summary.runs.empty()) newest = std::max(newest, summary.runs.rbegin()->first.hour);
  if (!summary.losses.empty()) newest = std::max(newest, summary.losses.rbegin()->first);
  return newest + summary.hours_of_row(newest);
}

// INT64_MAX: it has days alone.
Hour first_hour_of(const Summary& summary) {
  Hour first = INT64_MAX;
  for (const auto& [key, sum] : summary.costs) {
    if (key.hour >= summary.days_until) {
      first = key.hour;
      break;
    }
  }
  for (const auto& [key, sum] : summary.runs) {
    if (key.hour >= summary.days_until) {
      first = std::min(first, key.hour);
      break;
    }
  }
  const auto loss = summary.losses.lower_bound(summary.days_until);
  return loss == summary.losses.end() ? first : std::min(first, loss->first);
}

std::size_t most_queries_of(const Summary& summary) {
  std::map<Hour, std::set<std::string_view>> queries;
  for (const auto& [key, sum] : summary.costs) queries[key.hour].insert(key.fingerprint);
  for (const auto& [key, sum] : summary.runs) queries[key.hour].insert(key.fingerprint);
  std::size_t most = 0;
  for (auto& [hour, names] : queries) {
    names.erase("");
    names.erase(kOther);
    most = std::max(most, names.size());
  }
  return most;
}

std::uint64_t bytes_of_all(const std::vector<SummaryFile>& files) {
  std::uint64_t bytes = 0;
  for (const SummaryFile& file : files) bytes += file.bytes;
  return bytes;
}

}  // namespace

std::string summary_path(const std::string& directory, const SummaryFile& file) {
  return fmt::format("{}/{:012}-{:012}{}", directory, file.first, file.last, kSuffix);
}

Result<std::vector<SummaryFile>> list_summaries(const std::string& directory) {
  auto all = list_all(directory);
  if (!all) return all.error();
  std::vector<SummaryFile> files;
  for (const SummaryFile& file : *all) {
    if (contained(file, *all)) continue;
    // No writer makes files that overlap: what both hold would count twice.
    if (!files.empty() && file.first <= files.back().last) {
      return internal(fmt::format("{} and {} overlap: remove the one that does not belong there",
                                  summary_path(directory, files.back()), summary_path(directory, file)));
    }
    files.push_back(file);
  }
  return files;
}

std::uint64_t summed_up_to(const std::vector<SummaryFile>& files) {
  return files.empty() ? 0 : files.back().last;
}

Result<Summary> read_summary(const std::string& directory, const SummaryFile& file) {
  const std::string path = summary_path(directory, file);
  auto input = open_file(path);
  if (!input) return input.error();
  auto summary = decode_summary(**input);
  if (!summary) return in_context(path + ": ", summary.error());
  if (summary->first != file.first || summary->last != file.last)
    return internal(fmt::format("{} holds segments {} to {}, not those of its name", path, summary->first,
                                summary->last));
  return summary;
}

Status SummaryWriter::remove(const std::string& path) {
  const Status removed = files_.remove(path);
  if (removed || removed.error().code == ENOENT) return Ok{};
  return in_context(fmt::format("cannot remove {}: ", path), removed.error());
}

Status SummaryWriter::write(const Summary& summary, std::uint64_t& bytes) {
  auto encoded = encode(summary);
  if (!encoded) return encoded.error();
  bytes = encoded->size();
  const std::string path = summary_path(directory_, {summary.first, summary.last, 0});
  const std::string temporary = temporary_path(directory_);
  const auto attempt = [&]() -> Status {
    auto output = create_file(temporary, Existing::kReplace, files_);
    if (!output) return output.error();
    if (auto ok = (*output)->append(*encoded); !ok) return ok;
    if (auto ok = (*output)->sync(); !ok) return ok;
    const Status renamed = files_.rename(temporary, path);
    if (!renamed)
      return in_context(fmt::format("cannot rename {} to {}: ", temporary, path), renamed.error());
    return Ok{};
  };
  if (auto ok = attempt(); !ok) {
    (void)files_.remove(temporary);
    return ok;
  }
  // From here on it counts. Nothing that it sums up may go before this is durable.
  return sync_directory(directory_, files_);
}

Status SummaryWriter::put(const Summary& more, const SummaryRetention& retention) {
  auto files = list_summaries(directory_);
  if (!files) return files.error();
  std::uint64_t bytes = 0;
  if (files->empty()) return write(more, bytes);
  const SummaryFile newest = files->back();
  if (newest.last >= more.first) return internal(fmt::format("segment {} is summed up already", more.first));
  if (newest.bytes >= retention.merge_bytes) return write(more, bytes);
  auto merged = read_summary(directory_, newest);
  // One that is damaged stays as it is; what comes must not suffer from it.
  if (!merged) return write(more, bytes);
  add(*merged, more);
  if (auto ok = write(bounded(*merged), bytes); !ok) return ok;
  return remove(summary_path(directory_, newest));
}

Status SummaryWriter::rewrite(SummaryFile& file, const Summary& summary) {
  std::uint64_t bytes = 0;
  if (auto ok = write(summary, bytes); !ok) return ok;
  file = {summary.first, summary.last, bytes};
  note(file, summary);
  return Ok{};
}

void SummaryWriter::note(const SummaryFile& file, const Summary& summary) {
  known_[file.first] = {file.last, file.bytes, end_of_rows(summary), first_hour_of(summary),
                        most_queries_of(summary)};
}

const SummaryWriter::Known* SummaryWriter::known(const SummaryFile& file) {
  const auto at = known_.find(file.first);
  if (at != known_.end() && at->second.last == file.last && at->second.bytes == file.bytes)
    return &at->second;
  const auto summary = read_summary(directory_, file);
  if (!summary) return nullptr;
  note(file, *summary);
  return &known_.at(file.first);
}

Result<std::vector<SummaryFile>> SummaryWriter::clear_away() {
  auto all = list_all(directory_);
  if (!all) return all;
  if (auto ok = remove(temporary_path(directory_)); !ok) return ok.error();
  std::vector<SummaryFile> files;
  for (const SummaryFile& file : *all) {
    if (!contained(file, *all)) {
      files.push_back(file);
    } else if (auto ok = remove(summary_path(directory_, file)); !ok) {
      return ok.error();
    }
  }
  std::erase_if(known_, [&](const auto& each) {
    return std::ranges::find(files, each.first, &SummaryFile::first) == files.end();
  });
  return files;
}

// The newest one stays: segments that it sums up may still be there.
Status SummaryWriter::remove_old(std::vector<SummaryFile>& files, const SummaryRetention& retention,
                                 std::uint64_t now_ns) {
  while (files.size() > 1 && retention.keep_ns != 0) {
    const Known* about = known(files.front());
    const bool too_old = about != nullptr && now_ns > retention.keep_ns &&
                         static_cast<std::uint64_t>(about->end) * kHourNs < now_ns - retention.keep_ns;
    if (!too_old) break;
    if (auto ok = remove(summary_path(directory_, files.front())); !ok) return ok;
    files.erase(files.begin());
  }
  return Ok{};
}

Status SummaryWriter::make_days(std::vector<SummaryFile>& files, Hour until, const Stop& stop) {
  for (SummaryFile& file : files) {
    if (stop.stopped()) return Ok{};
    const Known* about = known(file);
    if (about == nullptr || about->first_hour >= until) continue;
    auto summary = read_summary(directory_, file);
    if (!summary) continue;
    // It speaks of its own rows alone: newer ones may still be hours.
    roll_up(*summary, std::min(until, day_of(about->end - 1) + kDayHours));
    if (auto ok = rewrite(file, bounded(*summary)); !ok) return ok;
  }
  return Ok{};
}

// Files of days are small.
Status SummaryWriter::merge_days(std::vector<SummaryFile>& files, std::uint64_t most_bytes,
                                 const Stop& stop) {
  const auto has_days_alone = [this](const SummaryFile& file) {
    const Known* about = known(file);
    return about != nullptr && about->first_hour == INT64_MAX;
  };
  for (std::size_t i = 0; i + 2 < files.size() && !stop.stopped();) {
    const bool fits = files[i].bytes + files[i + 1].bytes < most_bytes;
    if (!fits || !has_days_alone(files[i]) || !has_days_alone(files[i + 1])) {
      ++i;
      continue;
    }
    const auto merged = merge(files[i], files[i + 1]);
    if (!merged) return merged.error();
    if (!*merged) {
      ++i;
      continue;
    }
    files.erase(files.begin() + static_cast<std::ptrdiff_t>(i + 1));
  }
  return Ok{};
}

// False: one of them was damaged since it became known, and both stay.
Result<bool> SummaryWriter::merge(SummaryFile& file, const SummaryFile& next) {
  auto merged = read_summary(directory_, file);
  const auto more = read_summary(directory_, next);
  if (!merged || !more) return false;
  add(*merged, *more);
  const std::string before[] = {summary_path(directory_, file), summary_path(directory_, next)};
  if (auto ok = rewrite(file, bounded(*merged)); !ok) return ok.error();
  known_.erase(next.first);
  for (const std::string& path : before) {
    if (auto ok = remove(path); !ok) return ok.error();
  }
  return true;
}

Status SummaryWriter::shrink(SummaryFile& file, std::size_t queries) {
  const Known* about = known(file);
  if (about == nullptr || about->most_queries <= queries) return Ok{};
  const auto summary = read_summary(directory_, file);
  if (!summary) return Ok{};
  return rewrite(file, bounded(*summary, {.queries = queries}));
}

Status SummaryWriter::fit(std::vector<SummaryFile>& files, std::uint64_t most_bytes, const Stop& stop) {
  if (most_bytes == 0 || bytes_of_all(files) <= most_bytes) return Ok{};
  // With some room, so that it is not done anew each time.
  const std::uint64_t wanted = most_bytes - most_bytes / 8;
  for (std::size_t queries = SummaryLimits().queries; queries > 0;) {
    queries /= 2;
    for (SummaryFile& file : files) {
      if (bytes_of_all(files) <= wanted || stop.stopped()) return Ok{};
      if (auto ok = shrink(file, queries); !ok) return ok;
    }
  }
  while (files.size() > 1 && bytes_of_all(files) > most_bytes) {
    if (auto ok = remove(summary_path(directory_, files.front())); !ok) return ok;
    files.erase(files.begin());
  }
  return Ok{};
}

Status SummaryWriter::retain(const SummaryRetention& retention, std::uint64_t now_ns, const Stop& stop) {
  auto files = clear_away();
  if (!files) return files.error();
  if (auto ok = remove_old(*files, retention, now_ns); !ok) return ok;
  if (retention.hours_ns != 0 && now_ns > retention.hours_ns) {
    const auto hour = static_cast<Hour>((now_ns - retention.hours_ns) / kHourNs);
    if (auto ok = make_days(*files, day_of(hour), stop); !ok) return ok;
    if (auto ok = merge_days(*files, retention.merge_bytes, stop); !ok) return ok;
  }
  return fit(*files, retention.keep_bytes, stop);
}

}  // namespace tailor::store
