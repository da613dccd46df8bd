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
#include "proto/base/errors.h"

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
std::string tame(std::string name) {
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
  return name.empty() ? "generated" : name;
}

std::vector<Function> functions_of(const v1::CodeObject& code) {
  const std::uint64_t size = code.size() != 0 ? code.size() : code.code().size();
  std::vector<Function> functions;
  for (const v1::CodeSymbol& symbol : code.symbols()) {
    if (symbol.size() == 0 || symbol.offset() >= size || symbol.size() > size - symbol.offset()) continue;
    functions.push_back({symbol.offset(), symbol.size(), tame(symbol.name())});
  }
  if (functions.empty() && size > 0) functions.push_back({0, size, tame(code.name())});
  return functions;
}

Error failed(const std::string& path) {
  const int code = errno;
  return os_error(fmt::format("cannot write {}: {}", path, std::strerror(code)), code);
}

// A new file: what lay there may be another user's, or a link.
Result<UniqueFd> create_file(const std::string& path) {
  ::unlink(path.c_str());
  UniqueFd file(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file) return failed(path);
  return file;
}

Status write_all(int file, const std::string& bytes, const std::string& path) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(file, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed(path);
    done += static_cast<std::size_t>(written);
  }
  return Ok{};
}

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put_text(std::string& out, const std::string& text) {
  out.append(text.c_str(), std::strlen(text.c_str()) + 1);
}

std::uint64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

void put_record(std::string& out, std::uint32_t id, std::uint64_t time, const std::string& body) {
  put(out, id);
  put(out, static_cast<std::uint32_t>(kPrefixSize + body.size()));
  put(out, time);
  out += body;
}

ComponentId first_owner(const v1::RowTable& table, Link link) {
  if (!link.is_set()) return link.index();
  const auto& ids = table.link_sets(static_cast<int>(link.index())).ids();
  return ids.empty() ? kNoComponent : ids[0];
}

// The line of every run of the row table inside the function. Empty where there is none.
std::string line_table(const v1::CodeObject& code, const std::vector<Row>& rows, const Function& function,
                       const std::string& listing) {
  std::string entries;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t end = i + 1 < rows.size() ? rows[i + 1].offset : UINT64_MAX;
    const std::uint64_t begin = std::max<std::uint64_t>(rows[i].offset, function.offset);
    if (rows[i].link.none() || end <= function.offset || begin >= function.offset + function.size) continue;
    put(entries, code.base() + begin);
    put(entries, static_cast<std::uint32_t>(first_owner(code.rows(), rows[i].link)));
    put(entries, std::uint32_t{0});
    put_text(entries, listing);
    ++count;
  }
  if (count == 0) return {};
  std::string body;
  put(body, code.base() + function.offset);
  put(body, count);
  return body + entries;
}

std::string loaded(const v1::CodeObject& code, const Function& function, std::uint64_t index) {
  std::string body;
  put(body, static_cast<std::uint32_t>(::getpid()));
  put(body, static_cast<std::uint32_t>(::syscall(SYS_gettid)));
  put(body, code.base() + function.offset);
  put(body, code.base() + function.offset);
  put(body, function.size);
  put(body, index);
  put_text(body, function.name);
  body.append(code.code(), function.offset, function.size);
  return body;
}

}  // namespace

Result<std::unique_ptr<PerfMap>> PerfMap::create() {
  std::string path = fmt::format("/tmp/perf-{}.map", ::getpid());
  auto file = create_file(path);
  if (!file.ok()) return file.error();
  return std::unique_ptr<PerfMap>(new PerfMap(std::move(path), std::move(*file)));
}

Status PerfMap::add(const v1::CodeObject& code) {
  std::string lines;
  for (const Function& function : functions_of(code))
    lines += fmt::format("{:x} {:x} {}\n", code.base() + function.offset, function.size, function.name);
  std::lock_guard lock(mutex_);
  return write_all(file_.get(), lines, path_);
}

JitDump::JitDump(std::string folder, std::string path, UniqueFd file)
    : folder_(std::move(folder)), path_(std::move(path)), file_(std::move(file)) {}

Result<std::unique_ptr<JitDump>> JitDump::create(const std::string& folder) {
  std::error_code ignored;  // told by the file's own error
  std::filesystem::create_directories(folder, ignored);
  const std::filesystem::path absolute = std::filesystem::absolute(folder, ignored);
  std::string path = (absolute / fmt::format("jit-{}.dump", ::getpid())).string();
  auto file = create_file(path);
  if (!file.ok()) return file.error();
  std::unique_ptr<JitDump> dump(new JitDump(absolute.string(), std::move(path), std::move(*file)));
  std::string header;
  for (std::uint32_t field : {kMagic, kVersion, kHeaderSize, std::uint32_t{EM_X86_64}, 0u})
    put(header, field);
  put(header, static_cast<std::uint32_t>(::getpid()));
  put(header, now());
  put(header, std::uint64_t{0});
  if (Status written = write_all(dump->file_.get(), header, dump->path_); !written.ok())
    return written.error();
  // The mark by which perf finds the file: an executable mapping of it.
  dump->mapped_ = ::mmap(nullptr, kMapped, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump->file_.get(), 0);
  if (dump->mapped_ == MAP_FAILED) {
    dump->mapped_ = nullptr;
    return internal(fmt::format("cannot map {} executable, so perf would not find it: {}", dump->path_,
                                std::strerror(errno)));
  }
  return dump;
}

JitDump::~JitDump() {
  std::string close;
  put_record(close, kClose, now(), "");
  (void)write_all(file_.get(), close, path_);
  if (mapped_ != nullptr) ::munmap(mapped_, kMapped);
}

Status JitDump::add(const v1::Plan& plan, const v1::CodeObject& code) {
  if (code.code().empty()) return Ok{};
  auto rows = decode_rows(code.rows());
  if (!rows.ok()) return rows.error();
  std::lock_guard lock(mutex_);
  auto path = listing(plan);
  if (!path.ok()) return path.error();
  const std::uint64_t time = now();
  std::string records;
  for (const Function& function : functions_of(code)) {
    const std::string lines = path->empty() ? "" : line_table(code, *rows, function, *path);
    if (!lines.empty()) put_record(records, kDebugInfo, time, lines);
    put_record(records, kLoad, time, loaded(code, function, ++index_));
  }
  return write_all(file_.get(), records, path_);
}

// The path of the plan's listing, written the first time; "" if it has none.
Result<std::string> JitDump::listing(const v1::Plan& plan) {
  for (const v1::Attachment& attachment : plan.attachments()) {
    if (attachment.kind() != "ir" || attachment.content().empty()) continue;
    std::string path = fmt::format("{}/jit-{}-plan-{}.ll", folder_, ::getpid(), plan.id());
    if (!listed_.insert(plan.id()).second) return path;
    auto file = create_file(path);
    if (!file.ok()) return file.error();
    if (Status written = write_all(file->get(), attachment.content(), path); !written.ok())
      return written.error();
    return path;
  }
  return std::string();
}

}  // namespace tailor::tagging
