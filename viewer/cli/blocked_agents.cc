#include "viewer/cli/blocked_agents.h"

#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace tailor::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAgentThread = "tailor-agent";

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool has_agent(const fs::path& process) {
  std::error_code gone;
  for (const auto& thread : fs::directory_iterator(process / "task", gone)) {
    if (first_line(thread.path() / "comm") == kAgentThread) return true;
  }
  return false;
}

// By which the kernel judges.
struct Credentials {
  std::uint32_t uid = 0;
  std::vector<std::uint32_t> groups;
};

bool read_credentials(const fs::path& process, Credentials& out) {
  std::ifstream file(process / "status");
  bool found = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string key;
    std::uint32_t value = 0, effective = 0;
    fields >> key;
    if (key == "Uid:") found = static_cast<bool>(fields >> value >> out.uid);
    if (key == "Gid:" && fields >> value >> effective) out.groups.push_back(effective);
    if (key == "Groups:") {
      while (fields >> value) out.groups.push_back(value);
    }
  }
  return found;
}

bool may_write(const Credentials& who, const struct stat& socket) {
  if (who.uid == 0) return true;
  if (who.uid == socket.st_uid) return (socket.st_mode & S_IWUSR) != 0;
  if (std::ranges::find(who.groups, socket.st_gid) != who.groups.end())
    return (socket.st_mode & S_IWGRP) != 0;
  return (socket.st_mode & S_IWOTH) != 0;
}

std::string group_name(gid_t id) {
  const group* entry = ::getgrgid(id);
  return entry == nullptr ? fmt::format("{}", id) : entry->gr_name;
}

// What lets other users register, whatever program made the socket.
constexpr const char* kRemedy =
    "make it a member of that group, or give tailord another one with --socket-group; a socket of systemd "
    "(tailord.socket) is open to all users: systemctl enable --now tailord.socket, then systemctl restart "
    "tailord";

}  // namespace

std::set<std::int32_t> registered_in(const v1::DaemonStatus& status) {
  std::set<std::int32_t> registered;
  for (const v1::ProcessStatus& each : status.processes()) {
    if (!each.info().engine_name().empty()) registered.insert(each.info().process().pid());
  }
  return registered;
}

std::vector<BlockedAgent> find_blocked_agents(const fs::path& proc, const std::string& socket,
                                              const std::set<std::int32_t>& registered) {
  std::vector<BlockedAgent> out;
  struct stat facts{};
  if (::stat(socket.c_str(), &facts) != 0) return out;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(proc, problem)) {
    const std::string name = entry.path().filename();
    std::int32_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size() || registered.contains(pid)) continue;
    Credentials who;
    if (!has_agent(entry.path()) || !read_credentials(entry.path(), who) || may_write(who, facts)) continue;
    out.push_back({pid, first_line(entry.path() / "comm"),
                   fmt::format("its user {} may not write to {} (mode {:04o}, group {}): {}", who.uid, socket,
                               facts.st_mode & 07777, group_name(facts.st_gid), kRemedy)});
  }
  return out;
}

}  // namespace tailor::cli
