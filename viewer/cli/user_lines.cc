#include "viewer/cli/user_lines.h"

#include <fmt/format.h>

#include "daemon/query/time/wall_time.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::string user_name(const v1::UserStatus& user) {
  if (user.users() > 1) return fmt::format("{} others", user.users());
  return user.has_uid() ? fmt::format("{}", user.uid()) : "not known";
}

// "  1000        2 processes, 3.1 MB memory, ...": what is none is left out.
std::string user_line(const v1::UserStatus& user) {
  std::string out = fmt::format("  {:<10}{} processes", user_name(user), grouped(user.processes()));
  const auto tell = [&](std::uint64_t count, const std::string& text, const char* what) {
    if (count > 0) out += ", " + text + " " + what;
  };
  tell(user.memory_bytes(), megabytes(user.memory_bytes()), "of memory");
  tell(user.descriptors(), grouped(user.descriptors()), "descriptors");
  tell(user.dictionaries(), grouped(user.dictionaries()), "plans and code objects");
  tell(user.messages_rejected(), grouped(user.messages_rejected()), "messages rejected");
  tell(user.catalogue_executions(), grouped(user.catalogue_executions()), "executions");
  tell(user.catalogue_names(), grouped(user.catalogue_names()), "names");
  tell(user.catalogue_bytes(), megabytes(user.catalogue_bytes()), "of the catalogue");
  tell(user.store_bytes(), megabytes(user.store_bytes()), "of the segments");
  return out + "\n";
}

std::string removed_line(const v1::UserStatus& user) {
  return fmt::format(
      "            {} executions and {} names were removed since {}: the catalogue is at its limit\n",
      grouped(user.removed_executions()), grouped(user.removed_names()),
      query::local_time(user.removed_since_ns(), query::wall_clock_ns()));
}

std::string cut_line(const v1::UserStatus& user) {
  return fmt::format(
      "            {} with {} samples were removed from segments since {}: more than a share of the disk\n",
      megabytes(user.cut_bytes()), grouped(user.cut_samples()),
      query::local_time(user.cut_since_ns(), query::wall_clock_ns()));
}

}  // namespace

std::string render_users(const v1::DaemonStatus& s, const Terminal& terminal) {
  std::string out;
  const auto show = [&](const v1::UserStatus& user) {
    out += user_line(user);
    if (user.removed_since_ns() > 0) out += terminal.warn(removed_line(user));
    if (user.cut_since_ns() > 0) out += terminal.warn(cut_line(user));
  };
  for (const v1::UserStatus& user : s.users()) show(user);
  if (s.has_other_users()) show(s.other_users());
  return out.empty() ? out : "Users:\n" + out;
}

std::string render_http(const v1::DaemonStatus& s, const Terminal& terminal) {
  std::string out;
  const auto show = [&](const v1::HttpAsker& asker) {
    const std::string who = asker.who().empty() ? fmt::format("{} others", asker.askers())
                                                : escape_line(asker.who(), terminal.ascii);
    std::string line = fmt::format("  {:<20}{} connections", who, grouped(asker.connections()));
    const auto tell = [&](std::uint64_t count, const char* what) {
      if (count > 0) line += ", " + grouped(count) + " " + what;
    };
    tell(asker.running(), "requests at work");
    tell(asker.waiting(), "requests waiting");
    tell(asker.streams(), "live streams");
    tell(asker.refused(), "refused");
    out += line + "\n";
  };
  for (const v1::HttpAsker& asker : s.http()) show(asker);
  if (s.has_other_http()) show(s.other_http());
  return out.empty() ? out : "HTTP:\n" + out;
}

}  // namespace tailor::cli
