// The asker of a request, with what it may see and do (docs/security.md).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/profile/sink.h"
#include "daemon/serve/shares.h"
#include "daemon/store/catalogue.h"
#include "proto/base/result.h"

namespace tailor::serve {

struct Access {
  // Processes of which users, and executions with which labels (one of them is enough); nothing: all.
  std::optional<std::set<std::uint32_t>> uids;
  std::vector<std::pair<std::string, std::string>> labels;
  bool metrics_only = false;  // /metrics and health, nothing else
  bool see_all = true;        // else `uids` and `labels` decide
  bool control = false;       // may change what the daemon does
  Asker asker = {};           // whose shares this is answered from

  // Whether IR and machine code of the execution may be read: they hold the constants of queries.
  bool reads_code_of(const profile::ExecutionRecord& execution) const {
    return see_all || (execution.uid && uids && uids->contains(*execution.uid));
  }
  bool sees(const profile::ExecutionRecord& execution) const;

  static Access everything() { return {std::nullopt, {}, false, true, true}; }
};

// What a path needs of its asker (serve/route.h).
enum class Needs : std::uint8_t {
  kNothingAnywhere,  // nothing, at the door for metrics neither
  kNothing,
  kMetrics,  // a token for metrics, or one that sees everything; nothing at the door for metrics
  kVisitor,  // to be somebody we know
  kControl,  // and to be allowed to change what the daemon does
};

// Denied, with the reason, where `access` does not have what is needed.
Status check(Needs needs, const Access& access);

// Whether the sums of a user may be seen: they have no labels.
bool sees_sums_of(const Access& access, const std::optional<std::uint32_t>& uid);

// For filters; empty where everything is visible. `access` must outlive it.
std::function<bool(const store::ExecutionRow&)> visible_to(const Access& access);
// The same of sums.
std::function<bool(const std::optional<std::uint32_t>&)> sums_visible_to(const Access& access);

}  // namespace tailor::serve
