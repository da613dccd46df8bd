#include "daemon/query/symbols/symbol_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/os/regular_file.h"
#include "daemon/store/meta_codec.h"
#include "proto/base/file_id.h"
#include "proto/base/sha256.h"
#include "proto/base/unique_fd.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::query {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "TAILORSYMBOLS1\n\n";
constexpr std::string_view kUnfinished = ".new-";
constexpr std::size_t kHead = kMark.size() + std::tuple_size_v<Sha256Digest>;

std::string digest_text(std::string_view content) {
  const Sha256Digest digest = sha256(content);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// Where the function begins in the file; nothing: in no part that is loaded from it.
std::optional<std::uint64_t> offset_of(const ElfFunctions& file, std::uint64_t address) {
  for (const ElfFunctions::Segment& each : file.segments) {
    if (address >= each.address && address - each.address < each.size)
      return each.offset + (address - each.address);
  }
  return std::nullopt;
}

profile::FileNames names_in(const std::string& file_id, const ElfFunctions& file, std::size_t most) {
  profile::FileNames out{"", file_id, {}};
  for (const ElfFunction& each : file.functions) {
    const auto offset = offset_of(file, each.begin);
    if (!offset || each.end <= each.begin || out.functions.size() >= most) continue;
    out.functions.push_back({*offset, each.end - each.begin, each.begin, each.name, each.source});
  }
  return out;
}

bool write_new(const fs::path& path, std::string_view content) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return false;
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t n = ::write(file.get(), content.data() + done, content.size() - done);
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

// "": it is not there, is another user's, or larger than that.
std::string read_own(const fs::path& path, std::uint64_t most) {
  struct stat facts{};
  const UniqueFd file = os::open_regular(path, facts, O_NOFOLLOW);
  if (!file || facts.st_uid != ::geteuid() || static_cast<std::uint64_t>(facts.st_size) > most) return {};
  std::string out(static_cast<std::size_t>(facts.st_size), '\0');
  for (std::size_t done = 0; done < out.size();) {
    const ssize_t n = ::pread(file.get(), &out[done], out.size() - done, static_cast<off_t>(done));
    if (n <= 0) return {};
    done += static_cast<std::size_t>(n);
  }
  return out;
}

void note_use(const fs::path& path) {
  (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

// Of the deepest folder that is there.
bool is_in_own_folder(fs::path path) {
  struct stat facts{};
  while (::stat(path.c_str(), &facts) != 0) {
    if (!path.has_parent_path() || path == path.parent_path()) return false;
    path = path.parent_path();
  }
  return facts.st_uid == ::geteuid();
}

std::optional<fs::path> user_folder() {
  const auto absolute = [](const char* name) -> const char* {
    const char* const value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? value : nullptr;
  };
  if (const char* const cache = absolute("XDG_CACHE_HOME")) return fs::path(cache) / "tailor" / "symbols";
  if (const char* const home = absolute("HOME")) return fs::path(home) / ".cache" / "tailor" / "symbols";
  return std::nullopt;
}

std::optional<SymbolCache>& cache_in_use() {
  static std::optional<SymbolCache> cache;
  return cache;
}

}  // namespace

SymbolCache::SymbolCache(fs::path folder, Limits limits) : folder_(std::move(folder)), limits_(limits) {}

std::optional<SymbolCache> SymbolCache::of_user() {
  const char* const setting = std::getenv("TAILOR_SYMBOL_CACHE");
  if (setting != nullptr && std::string_view(setting) == "off") return std::nullopt;
  const auto folder = user_folder();
  if (!folder || !is_in_own_folder(*folder)) return std::nullopt;
  return SymbolCache(*folder);
}

bool SymbolCache::is_own() const {
  struct stat facts{};
  return ::lstat(folder_.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid() &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool SymbolCache::make_folder() const {
  std::vector<fs::path> missing;
  for (fs::path each = folder_; !each.empty() && ::access(each.c_str(), F_OK) != 0; each = each.parent_path())
    missing.push_back(each);
  for (auto each = missing.rbegin(); each != missing.rend(); ++each) (void)::mkdir(each->c_str(), 0700);
  return is_own();
}

fs::path SymbolCache::path_of(const std::string& file_id) const {
  constexpr std::size_t kLongest = 128;
  const std::string_view digits =
      std::string_view(file_id).substr(is_content_id(file_id) ? kContentId.size() : 0);
  const bool good = !digits.empty() && digits.size() <= kLongest &&
                    digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!good) return {};
  return folder_ / fmt::format("{}{}", is_content_id(file_id) ? "content-" : "", digits);
}

void SymbolCache::keep(const std::string& file_id, const ElfFunctions& file) const {
  static std::atomic<unsigned> number = 0;
  const fs::path path = path_of(file_id);
  if (path.empty() || file.functions.empty() || !make_folder()) return;
  const profile::FileNames names = names_in(file_id, file, limits_.functions);
  // A stripped copy has the same id, and fewer functions.
  if (const auto kept = find(file_id); kept && kept->functions.size() >= names.functions.size()) return;
  v1::FileNames message;
  store::encode(names, message);
  if (message.ByteSizeLong() > limits_.one_file) return;
  const std::string content = message.SerializeAsString();
  const fs::path unfinished = folder_ / fmt::format("{}{}-{}", kUnfinished, ::getpid(), ++number);
  const bool whole = write_new(unfinished, std::string(kMark) + digest_text(content) + content);
  if (!whole || ::rename(unfinished.c_str(), path.c_str()) != 0) (void)::unlink(unfinished.c_str());
  bound();
}

std::optional<profile::FileNames> SymbolCache::find(const std::string& file_id) const {
  const fs::path path = path_of(file_id);
  if (path.empty() || !is_own()) return std::nullopt;
  const std::string bytes = read_own(path, limits_.one_file + kHead);
  const std::string_view all(bytes);
  if (!all.starts_with(kMark) || all.size() < kHead) return std::nullopt;
  const std::string_view content = all.substr(kHead);
  if (digest_text(content) != all.substr(kMark.size(), kHead - kMark.size())) return std::nullopt;
  v1::FileNames message;
  if (!message.ParseFromArray(content.data(), static_cast<int>(content.size()))) return std::nullopt;
  auto names = store::decode(message);
  if (!names || names->build_id != file_id) return std::nullopt;
  note_use(path);
  return *std::move(names);
}

SymbolCache::Usage SymbolCache::usage() const {
  Usage out;
  std::error_code problem;
  for (const fs::directory_entry& each : fs::directory_iterator(folder_, problem)) {
    const std::uint64_t bytes = each.file_size(problem);
    if (problem) continue;
    ++out.files;
    out.bytes += bytes;
  }
  return out;
}

// Others may do the same meanwhile: what is gone already is gone.
void SymbolCache::bound() const {
  struct Kept {
    fs::path path;
    std::uint64_t bytes = 0;
    fs::file_time_type used;
  };
  std::vector<Kept> all;
  std::uint64_t bytes = 0;
  std::error_code problem;
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const fs::directory_entry& each : fs::directory_iterator(folder_, problem)) {
    std::error_code gone;
    const Kept kept{each.path(), each.file_size(gone), each.last_write_time(gone)};
    if (gone) continue;
    if (kept.path.filename().string().starts_with(kUnfinished)) {
      if (kept.used < long_ago) fs::remove(kept.path, gone);  // its writer was killed
      continue;
    }
    bytes += kept.bytes;
    all.push_back(kept);
  }
  std::ranges::sort(all, {}, &Kept::used);
  for (const Kept& each : all) {
    if (bytes <= limits_.bytes) break;
    std::error_code gone;
    fs::remove(each.path, gone);
    bytes -= each.bytes;
  }
}

const SymbolCache* symbol_cache() {
  const std::optional<SymbolCache>& cache = cache_in_use();
  return cache ? &*cache : nullptr;
}

void use_symbol_cache(std::optional<SymbolCache> cache) {
  cache_in_use() = std::move(cache);
}

}  // namespace tailor::query
