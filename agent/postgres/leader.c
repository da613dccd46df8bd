/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres.h"

#include "leader.h"

#include "access/parallel.h"

#include "settings.h"

bool tailor_leader_of_worker(TailorLeader* out) {
  if (!IsParallelWorker() || !tailor_leader) return false;
  int found = sscanf(tailor_leader, "%32[0-9a-f] %d %d", out->execution, &out->begin, &out->length);
  return found == 3 && strlen(out->execution) == 32 && out->begin >= 0;
}
