// By what rule samples were attributed, and what became of those inside executions.
#pragma once

#include <map>

#include "daemon/query/sums/costs.h"

namespace tailor::query {

// Samples of one source, by rule. Fractions come from shared costs.
using ByRule = std::map<profile::How, double>;

struct Evidence {
  ByRule all;
  // Of those that an address in generated code attributed (the user IP, or the innermost frame in such code):
  // what the row table says of that address. Adds up to the samples of How::kCode, kKernelCode and
  // kCallchain.
  std::map<profile::Quality, double> by_link;
  // Inside an execution by the thread's own log: the window in which operators should have everything.
  struct Window {
    double samples = 0, in_operators = 0, in_components = 0, unattributed = 0;
  } windows;
  // Of every operator: how its samples were found.
  std::map<InProcess<PlanId>, std::map<ComponentId, ByRule>> operators;
};

Evidence gather_evidence(const Profile& profile, const Selection& selection, std::uint16_t source);

}  // namespace tailor::query
