#include "daemon/session/foreign_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "daemon/foreign/foreign_plan.h"
#include "daemon/foreign/perf_map.h"
#include "daemon/registration/peer_process.h"
#include "proto/base/unique_fd.h"

namespace tailor::session {
namespace {

constexpr std::uint64_t kMaxMapBytes = std::uint64_t{256} << 20;
// Far from the numbers that the server of the agents' socket gives.
constexpr registration::ConnectionId kFirstConnection = registration::ConnectionId{1} << 63;

std::int32_t pid_inside(const std::filesystem::path& process, std::int32_t pid) {
  std::ifstream file(process / "status");
  std::stringstream text;
  text << file.rdbuf();
  auto ids = registration::ParseNamespaceIds(text.str());
  return ids.ok() ? ids->inner : pid;
}

}  // namespace

ForeignProcess::ForeignProcess(os::Os& os, ProcessId process) : process_(process) {
  const std::filesystem::path directory = os.proc() / std::to_string(process.pid);
  struct stat info{};
  if (::stat(directory.c_str(), &info) == 0) uid_ = info.st_uid;
  path_ = (directory / "root/tmp" / fmt::format("perf-{}.map", pid_inside(directory, process.pid))).string();
}

std::size_t ForeignProcess::tell(Input& input, std::uint64_t tsc) {
  const std::string text = read_if_changed();
  if (text.empty()) return functions_;
  const foreign::JitSymbols map = foreign::parse_perf_map(text);
  if (map.symbols.empty()) return functions_;
  foreign::ForeignPlan said =
      foreign::make_foreign_plan(map.symbols, "perf map", [](std::uint64_t) { return std::uint64_t{0}; });
  functions_ = map.symbols.size();
  ++generation_;

  registration::PeerConnected hello;
  hello.connection = kFirstConnection + generation_;
  hello.process = process_;
  hello.received_tsc = tsc;
  hello.hello.set_engine_name("perf map");
  hello.hello.set_session(fmt::format("perf map {}", generation_));
  input.on_connected(hello);
  registration::PeerMessage message;
  message.connection = hello.connection;
  message.process = process_;
  message.received_tsc = tsc;
  said.plan.set_id(generation_);
  *message.message.mutable_plan_load() = std::move(said.plan);
  input.on_message(message);
  std::uint64_t number = 0;
  for (v1::CodeObject& code : said.code) {
    code.set_id(generation_ << 32 | ++number);
    code.set_plan_id(generation_);
    *message.message.mutable_code_load() = std::move(code);
    input.on_message(message);
  }
  input.on_settled({process_, tsc});
  // Nobody is there to wait for.
  input.on_gone({hello.connection, process_, registration::GoneReason::kHangup, ""});
  return functions_;
}

// The whole map, or "" if it has not changed or is not to be believed.
std::string ForeignProcess::read_if_changed() {
  UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != uid_) return {};
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size == size_ || size > kMaxMapBytes) return {};
  std::string text(size, '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t n = ::read(file.get(), text.data() + got, text.size() - got);
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  text.resize(got);
  size_ = size;
  return text;
}

}  // namespace tailor::session
