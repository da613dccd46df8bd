#include "daemon/store/summary_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>

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

std::uint64_t newest_ns(const Summary& summary) {
  Hour newest = 0;
  if (!summary.costs.empty()) newest = summary.costs.rbegin()->first.hour;
  if (!summary.runs.empty()) newest = std::max(newest, summary.runs.rbegin()->first.hour);
  if (!summary.losses.empty()) newest = std::max(newest, summary.losses.rbegin()->first);
  return (static_cast<std::uint64_t>(newest) + 1) * kHourNs;
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

Status SummaryWriter::retain(const SummaryRetention& retention, std::uint64_t now_ns) {
  auto all = list_all(directory_);
  if (!all) return all.error();
  if (auto ok = remove(temporary_path(directory_)); !ok) return ok;
  std::vector<SummaryFile> files;
  std::uint64_t bytes = 0;
  for (const SummaryFile& file : *all) {
    if (contained(file, *all)) {
      if (auto ok = remove(summary_path(directory_, file)); !ok) return ok;
      continue;
    }
    files.push_back(file);
    bytes += file.bytes;
  }
  // The newest one stays: segments that it sums up may still be there.
  for (std::size_t i = 0; i + 1 < files.size(); ++i) {
    const bool too_much = retention.keep_bytes != 0 && bytes > retention.keep_bytes;
    bool too_old = false;
    if (!too_much && retention.keep_ns != 0) {
      const auto summary = read_summary(directory_, files[i]);
      too_old = summary.ok() && newest_ns(*summary) + retention.keep_ns < now_ns;
    }
    if (!too_much && !too_old) break;
    if (auto ok = remove(summary_path(directory_, files[i])); !ok) return ok;
    bytes -= files[i].bytes;
  }
  return Ok{};
}

}  // namespace tailor::store
