// Processes of some users that come, ask for more, give back and go, in any order: what all of them and those
// of one user keep stays within the limits, the sums are right, and a refusal names its limit. Four bytes are
// a step.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "daemon/pipeline/shares.h"

namespace {

using tailor::pipeline::LimitReached;
using tailor::pipeline::Shares;
using tailor::pipeline::Use;

constexpr std::size_t kProcesses = 32, kUsers = 4;

void check(bool holds) {
  if (!holds) std::abort();
}

tailor::process::Limits small_limits() {
  tailor::process::Limits limits;
  limits.total_bytes = 1u << 16;
  limits.bytes = 1u << 15;
  limits.user_plans = 100;
  limits.user_code_bytes = 1u << 12;
  limits.user_regions = 200;
  return limits;
}

struct Process {
  std::uint32_t uid = 0;
  Use use;
  Shares::Share share;
};

class World {
 public:
  void step(const std::uint8_t* bytes) {
    std::optional<Process>& process = processes_[bytes[0] % kProcesses];
    const std::size_t amount = bytes[2] | bytes[3] << 8;
    if (!process) {
      join(process, bytes[1] % kUsers);
    } else if (bytes[1] % 4 == 0) {
      process.reset();
    } else if (bytes[1] % 4 == 1) {
      give_back(*process, amount);
    } else {
      ask(*process, bytes[1], amount);
    }
    look();
  }

 private:
  void join(std::optional<Process>& process, std::uint32_t uid) {
    process.emplace();
    process->uid = uid;
    process->share = Shares::Share(shares_, uid);
  }
  static void give_back(Process& process, std::size_t amount) {
    process.use.bytes -= std::min(process.use.bytes, amount);
    process.use.plans -= std::min<std::size_t>(process.use.plans, amount % 8);
    process.use.code_bytes -= std::min(process.use.code_bytes, amount);
    process.use.regions -= std::min<std::size_t>(process.use.regions, amount % 64);
    process.share.set(process.use);
  }
  void ask(Process& process, std::uint8_t what, std::size_t amount) {
    Use more;
    if ((what & 4) != 0) more.bytes = amount;
    if ((what & 8) != 0) more.plans = amount % 16;
    if ((what & 16) != 0) more.code_bytes = amount;
    if ((what & 32) != 0) more.regions = std::min<std::size_t>(amount % 64, process.share.regions_left());
    const std::size_t others = processes_of(process.uid);
    LimitReached why;
    const bool may = process.share.may_take(more, why);
    check(may == why.key.empty() && may == why.text.empty());
    check(may || std::set<std::string>{"user-plans", "user-code", "max-memory"}.contains(why.key));
    if (!may) return;
    process.use.bytes += more.bytes;
    process.use.plans += more.plans;
    process.use.code_bytes += more.code_bytes;
    process.use.regions += more.regions;
    process.share.set(process.use);
    check(more.plans == 0 || process.use.plans <= limits_.user_plans / others);
    check(more.code_bytes == 0 || process.use.code_bytes <= limits_.user_code_bytes / others);
    check(more.regions == 0 || process.use.regions <= limits_.user_regions / others);
    check(more.bytes == 0 || process.use.bytes <= limits_.bytes);
  }
  std::size_t processes_of(std::uint32_t uid) const {
    std::size_t count = 0;
    for (const auto& process : processes_) count += process && process->uid == uid ? 1 : 0;
    return count;
  }
  void look() const {
    std::size_t all = 0, count = 0;
    std::map<std::uint32_t, std::size_t> of_user;
    for (const auto& process : processes_) {
      if (!process) continue;
      ++count;
      all += process->use.bytes;
      of_user[process->uid] += process->use.bytes;
    }
    check(shares_.bytes() == all && shares_.processes() == count);
    check(all <= limits_.total_bytes);
    for (const auto& [uid, bytes] : of_user) check(bytes <= limits_.total_bytes / 8 * 7);
  }

  const tailor::process::Limits limits_ = small_limits();
  Shares shares_{limits_};
  std::array<std::optional<Process>, kProcesses> processes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  World world;
  for (; size >= 4; data += 4, size -= 4) world.step(data);
  return 0;
}
