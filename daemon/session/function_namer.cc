#include "daemon/session/function_namer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "daemon/store/block.h"
#include "daemon/store/meta_codec.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::session {

struct FunctionNamer::Results {
  std::mutex mutex;
  std::vector<Read> done;
};

namespace {

// A file is read again for functions that were hit since, but not all the time.
constexpr TimeNs kReadAgain = 1'000'000'000;
constexpr TimeNs kShareOfReading = 20;
// Of one record: its size is judged as a whole.
constexpr std::size_t kMostInRecord = 1024, kMostOfRecord = std::size_t{64} << 10;
// Of a user's names in one turn: more of them wait for the next data segment.
constexpr std::size_t kMostGiven = std::size_t{2} << 20;
constexpr std::size_t kOfFile = 256, kOfFunction = 160, kOfOffset = 48;  // bytes of memory, about

// Without an id nothing says that another file by that path is the one that ran.
query::FindKept only_certain(const query::FindKept& kept) {
  return [kept](const std::string& path, const std::string& build_id) {
    query::KeptFile found = kept ? kept(path, build_id) : query::KeptFile{};
    if (build_id.empty() && found.is == query::KeptFile::Is::kNotKept) found.is = query::KeptFile::Is::kLost;
    return found;
  };
}

// What it takes in a file, about: beside others it takes less.
std::uint64_t stored_bytes(const profile::FileNames& names) {
  v1::FileNames record;
  store::encode(names, record);
  return store::make_block(store::BlockType::kMeta, 0, record.SerializeAsString()).size();
}

std::string owner_text(std::uint32_t user) {
  if (user == kOfKernel) return "of the kernel";
  return user == kNobodyKnown ? "of processes whose user is not known" : fmt::format("of user {}", user);
}

std::size_t memory_held(const profile::FileNames::Function& function) {
  return kOfFunction + function.name.size() + function.origin.size();
}

}  // namespace

FunctionNamer::FunctionNamer(NamerOptions options)
    : options_(std::move(options)),
      hits_(options_.hits, options_.segment),
      budget_(options_.budget),
      results_(std::make_shared<Results>()),
      segment_(options_.segment()) {}

void FunctionNamer::begin(LiveHits::FindFile find_file, LiveHits::FindUser find_user, query::FindKept kept) {
  hits_.begin(std::move(find_file), std::move(find_user));
  kept_ = only_certain(kept);
}

std::vector<profile::FileNames> FunctionNamer::take(TimeNs now, bool last) {
  ++turn_;
  given_.clear();
  follow_segment();
  take_read(now);
  take_hits();
  waiting_ = 0;
  for (auto& [name, file] : files_) {
    if (file.waiting.empty()) continue;
    if (!file.reading && (last || now >= file.next)) start_reading(name, file);
    waiting_ += file.waiting.empty() ? 0 : 1;
  }
  bound_memory();
  return std::exchange(out_, {});
}

// Another data segment has none of the names yet.
void FunctionNamer::follow_segment() {
  const std::uint64_t segment = options_.segment();
  if (segment == segment_) return;
  segment_ = segment;
  for (auto& [name, file] : files_) {
    file.given.clear();
    file.told = false;
    // A file that never answers: what is hit again waits again.
    if (file.reading) file.waiting.clear();
  }
  left_out_.clear();
  budget_.forget_before(options_.oldest());
}

void FunctionNamer::take_hits() {
  for (const auto& [key, offsets] : hits_.take()) {
    const auto& [name, user] = key;
    const auto [known, fresh] = files_.try_emplace(name);
    File& file = known->second;
    if (fresh) file.user = user;
    if (fresh) count(file, kOfFile + name.path.size() + name.build_id.size());
    file.used = turn_;
    std::set<std::uint64_t> begins;
    for (const std::uint64_t offset : offsets) {
      if (const Function* function = find(file, offset)) {
        begins.insert(function->begin);
      } else if (!file.nameless.contains(offset)) {
        file.waiting[user].insert(offset);
      }
    }
    give(name, file, user, begins);
    give_nameless(name, file, user);
  }
}

void FunctionNamer::take_read(TimeNs now) {
  std::vector<Read> done;
  {
    const std::lock_guard lock(results_->mutex);
    done.swap(results_->done);
  }
  for (const Read& read : done) {
    --reading_;
    File& file = files_.at(read.name);  // what is being read is not forgotten
    file.reading = false;
    file.next = now + std::max(kReadAgain, kShareOfReading * read.took);
    learn(read.name, file, read);
  }
}

void FunctionNamer::learn(const NamedFile& name, File& file, const Read& read) {
  std::size_t more = 0;
  if (file.functions.empty()) file.file_id = read.names.file_id;
  // What was read before was another file: nothing says which of both is meant.
  const bool same = read.names.path.empty() || file.file_id == read.names.file_id;
  for (const Function& function : read.names.functions) {
    if (!same) break;
    if (file.functions.try_emplace(function.begin, function).second) more += memory_held(function);
  }
  for (const auto& [user, offsets] : read.offsets) {
    std::set<std::uint64_t> begins;
    for (const std::uint64_t offset : offsets) {
      const Function* const function = same ? find(file, offset) : nullptr;
      if (function != nullptr) {
        begins.insert(function->begin);
      } else if (file.nameless.insert(offset).second) {
        more += kOfOffset;
      }
    }
    give(name, file, user, begins);
    give_nameless(name, file, user);
  }
  count(file, more);
}

// The innermost one, as StoredNames::find().
const FunctionNamer::Function* FunctionNamer::find(const File& file, std::uint64_t offset) {
  auto after = file.functions.upper_bound(offset);
  for (int tries = 0; tries < 8 && after != file.functions.begin(); ++tries) {
    --after;
    if (offset - after->first < after->second.size) return &after->second;
  }
  return nullptr;
}

void FunctionNamer::start_reading(const NamedFile& name, File& file) {
  file.reading = true;
  ++reading_;
  const std::uint32_t user = file.waiting.begin()->first;
  threads_.add(user, [results = results_, kept = kept_, info = hits_.info(), name,
                      offsets = std::exchange(file.waiting, {})]() mutable {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    std::unordered_set<std::uint64_t> all;
    for (const auto& [each, of_user] : offsets) all.insert(of_user.begin(), of_user.end());
    Read read{name, {}, std::move(offsets)};
    read.names = name.path == profile::kKernelPath
                     ? query::names_of_kernel(info, all)
                     : query::names_of_file(info, {name.path, name.build_id}, all, kept);
    read.took = std::chrono::nanoseconds(Clock::now() - began).count();
    const std::lock_guard lock(results->mutex);
    results->done.push_back(std::move(read));
  });
}

void FunctionNamer::give(const NamedFile& name, File& file, std::uint32_t user,
                         const std::set<std::uint64_t>& begins) {
  const profile::FileNames empty{name.path, name.build_id, {}, file.file_id};
  profile::FileNames names = empty;
  std::size_t bytes = 0;
  const auto write_them = [&] {
    const profile::FileNames these = std::exchange(names, empty);
    bytes = 0;
    if (!write(user, these)) return;
    for (const Function& function : these.functions) file.given.insert(function.begin);
  };
  for (const std::uint64_t begin : begins) {
    if (file.given.contains(begin)) continue;
    names.functions.push_back(file.functions.at(begin));
    bytes += memory_held(names.functions.back());
    if (names.functions.size() >= kMostInRecord || bytes >= kMostOfRecord) write_them();
  }
  if (!names.functions.empty()) write_them();
}

// So that a report does not take another file by that path for it.
void FunctionNamer::give_nameless(const NamedFile& name, File& file, std::uint32_t user) {
  const bool is_known = !file.nameless.empty() && file.functions.empty();
  if (!is_known || file.told || !name.build_id.empty() || name.path == profile::kKernelPath) return;
  file.told = write(user, {name.path, name.build_id, {}, file.file_id});
}

bool FunctionNamer::write(std::uint32_t user, const profile::FileNames& names) {
  std::size_t memory = kOfFile;
  for (const Function& function : names.functions) memory += memory_held(function);
  std::size_t& given = given_[user];
  const std::uint64_t bytes = given + memory > kMostGiven ? 0 : stored_bytes(names);
  if (bytes == 0 || !budget_.may_write(user, bytes)) {
    left_out_.try_emplace(user, false);
    return false;
  }
  given += memory;
  budget_.wrote(segment_, user, bytes);
  out_.push_back(names);
  return true;
}

std::string FunctionNamer::take_problem() {
  for (auto& [user, told] : left_out_) {
    if (std::exchange(told, true)) continue;
    return fmt::format(
        "names of functions {} are more than their share of the store, so some are left out: reports look "
        "for these functions in the files",
        owner_text(user));
  }
  return {};
}

void FunctionNamer::count(File& file, std::size_t bytes) {
  file.bytes += bytes;
  bytes_ += bytes;
}

// Nobody's names go for those of somebody who has more.
void FunctionNamer::bound_memory() {
  while (bytes_ > options_.known_bytes) {
    std::map<std::uint32_t, std::size_t> users;
    for (const auto& [name, file] : files_) {
      if (!file.reading) users[file.user] += file.bytes;
    }
    if (users.empty()) return;
    const std::uint32_t most =
        std::ranges::max_element(users, {}, [](const auto& each) { return each.second; })->first;
    auto oldest = files_.end();
    for (auto each = files_.begin(); each != files_.end(); ++each) {
      if (each->second.reading || each->second.user != most) continue;
      if (oldest == files_.end() || each->second.used < oldest->second.used) oldest = each;
    }
    bytes_ -= oldest->second.bytes;
    files_.erase(oldest);
  }
}

}  // namespace tailor::session
