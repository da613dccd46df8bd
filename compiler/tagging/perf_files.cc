#include "compiler/tagging/perf_files.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>
#include <vector>

#include "compiler/tagging/row_table_builder.h"

namespace tailor::tagging {
namespace {

constexpr std::size_t kMapped = 4096;
constexpr std::uint32_t kMagic = 0x4A695444, kVersion = 1, kHeaderSize = 40;
constexpr std::uint32_t kLoad = 0, kDebugInfo = 2, kClose = 3, kPrefixSize = 16;

struct Function {
  std::uint64_t offset = 0, size = 0;
  std::string name;
};

// One line, and never empty.
std::string Tame(std::string name) {
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
  return name.empty() ? "generated" : name;
}

std::vector<Function> FunctionsOf(const v1::CodeObject& code) {
  const std::uint64_t size = code.size() != 0 ? code.size() : code.code().size();
  std::vector<Function> functions;
  for (const v1::CodeSymbol& symbol : code.symbols()) {
    if (symbol.size() == 0 || symbol.offset() >= size || symbol.size() > size - symbol.offset()) continue;
    functions.push_back({symbol.offset(), symbol.size(), Tame(symbol.name())});
  }
  if (functions.empty() && size > 0) functions.push_back({0, size, Tame(code.name())});
  return functions;
}

Error Failed(const std::string& path) {
  const int code = errno;
  return Error{fmt::format("cannot write {}: {}", path, std::strerror(code)), code};
}

// A new file: what lay there may be another user's, or a link.
Result<UniqueFd> CreateFile(const std::string& path) {
  ::unlink(path.c_str());
  UniqueFd file(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file) return Failed(path);
  return file;
}

Status WriteAll(int file, const std::string& bytes, const std::string& path) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(file, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Failed(path);
    done += static_cast<std::size_t>(written);
  }
  return Ok{};
}

template <typename T>
void Put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void PutText(std::string& out, const std::string& text) {
  out.append(text.c_str(), std::strlen(text.c_str()) + 1);
}

std::uint64_t Now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

void PutRecord(std::string& out, std::uint32_t id, std::uint64_t time, const std::string& body) {
  Put(out, id);
  Put(out, static_cast<std::uint32_t>(kPrefixSize + body.size()));
  Put(out, time);
  out += body;
}

ComponentId FirstOwner(const v1::RowTable& table, Link link) {
  if (!link.is_set()) return link.index();
  const auto& ids = table.link_sets(static_cast<int>(link.index())).ids();
  return ids.empty() ? kNoComponent : ids[0];
}

// The line of every run of the row table inside the function. Empty where there is none.
std::string Lines(const v1::CodeObject& code, const std::vector<Row>& rows, const Function& function,
                  const std::string& listing) {
  std::string entries;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t end = i + 1 < rows.size() ? rows[i + 1].offset : UINT64_MAX;
    const std::uint64_t begin = std::max<std::uint64_t>(rows[i].offset, function.offset);
    if (rows[i].link.none() || end <= function.offset || begin >= function.offset + function.size) continue;
    Put(entries, code.base() + begin);
    Put(entries, static_cast<std::uint32_t>(FirstOwner(code.rows(), rows[i].link)));
    Put(entries, std::uint32_t{0});
    PutText(entries, listing);
    ++count;
  }
  if (count == 0) return {};
  std::string body;
  Put(body, code.base() + function.offset);
  Put(body, count);
  return body + entries;
}

std::string Loaded(const v1::CodeObject& code, const Function& function, std::uint64_t index) {
  std::string body;
  Put(body, static_cast<std::uint32_t>(::getpid()));
  Put(body, static_cast<std::uint32_t>(::syscall(SYS_gettid)));
  Put(body, code.base() + function.offset);
  Put(body, code.base() + function.offset);
  Put(body, function.size);
  Put(body, index);
  PutText(body, function.name);
  body.append(code.code(), function.offset, function.size);
  return body;
}

}  // namespace

Result<std::unique_ptr<PerfMap>> PerfMap::Create() {
  std::string path = fmt::format("/tmp/perf-{}.map", ::getpid());
  auto file = CreateFile(path);
  if (!file.ok()) return file.error();
  return std::unique_ptr<PerfMap>(new PerfMap(std::move(path), std::move(*file)));
}

Status PerfMap::Add(const v1::CodeObject& code) {
  std::string lines;
  for (const Function& function : FunctionsOf(code))
    lines += fmt::format("{:x} {:x} {}\n", code.base() + function.offset, function.size, function.name);
  std::lock_guard lock(mutex_);
  return WriteAll(file_.get(), lines, path_);
}

JitDump::JitDump(std::string folder, std::string path, UniqueFd file)
    : folder_(std::move(folder)), path_(std::move(path)), file_(std::move(file)) {}

Result<std::unique_ptr<JitDump>> JitDump::Create(const std::string& folder) {
  std::error_code ignored;  // told by the file's own error
  std::filesystem::create_directories(folder, ignored);
  const std::filesystem::path absolute = std::filesystem::absolute(folder, ignored);
  std::string path = (absolute / fmt::format("jit-{}.dump", ::getpid())).string();
  auto file = CreateFile(path);
  if (!file.ok()) return file.error();
  std::unique_ptr<JitDump> dump(new JitDump(absolute.string(), std::move(path), std::move(*file)));
  std::string header;
  for (std::uint32_t field : {kMagic, kVersion, kHeaderSize, std::uint32_t{EM_X86_64}, 0u})
    Put(header, field);
  Put(header, static_cast<std::uint32_t>(::getpid()));
  Put(header, Now());
  Put(header, std::uint64_t{0});
  if (Status written = WriteAll(dump->file_.get(), header, dump->path_); !written.ok())
    return written.error();
  // The mark by which perf finds the file: an executable mapping of it.
  dump->mapped_ = ::mmap(nullptr, kMapped, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump->file_.get(), 0);
  if (dump->mapped_ == MAP_FAILED) {
    dump->mapped_ = nullptr;
    return Error{fmt::format("cannot map {} executable, so perf would not find it: {}", dump->path_,
                             std::strerror(errno))};
  }
  return dump;
}

JitDump::~JitDump() {
  std::string close;
  PutRecord(close, kClose, Now(), "");
  (void)WriteAll(file_.get(), close, path_);
  if (mapped_ != nullptr) ::munmap(mapped_, kMapped);
}

Status JitDump::Add(const v1::Plan& plan, const v1::CodeObject& code) {
  if (code.code().empty()) return Ok{};
  auto rows = DecodeRows(code.rows());
  if (!rows.ok()) return rows.error();
  std::lock_guard lock(mutex_);
  auto listing = Listing(plan);
  if (!listing.ok()) return listing.error();
  const std::uint64_t now = Now();
  std::string records;
  for (const Function& function : FunctionsOf(code)) {
    const std::string lines = listing->empty() ? "" : Lines(code, *rows, function, *listing);
    if (!lines.empty()) PutRecord(records, kDebugInfo, now, lines);
    PutRecord(records, kLoad, now, Loaded(code, function, ++index_));
  }
  return WriteAll(file_.get(), records, path_);
}

// The path of the plan's listing, written the first time; "" if it has none.
Result<std::string> JitDump::Listing(const v1::Plan& plan) {
  for (const v1::Attachment& attachment : plan.attachments()) {
    if (attachment.kind() != "ir" || attachment.content().empty()) continue;
    std::string path = fmt::format("{}/jit-{}-plan-{}.ll", folder_, ::getpid(), plan.id());
    if (!listed_.insert(plan.id()).second) return path;
    auto file = CreateFile(path);
    if (!file.ok()) return file.error();
    if (Status written = WriteAll(file->get(), attachment.content(), path); !written.ok())
      return written.error();
    return path;
  }
  return std::string();
}

}  // namespace tailor::tagging
