#include "compiler/weft/codegen/access_code.h"

namespace tailor::weft {

bool arrives_at_one_place(const Operator& op) {
  switch (op.kind()) {
    case OperatorKind::kFilter:
    case OperatorKind::kMap:
    case OperatorKind::kLimit:
      return arrives_at_one_place(*op.inputs[0]);
    case OperatorKind::kHashJoin: {
      const HashJoin& join = as<HashJoin>(op);
      if (join.join == JoinKind::kInner || join.preserved == JoinSide::kProbe)
        return arrives_at_one_place(join.probe());
      return join.join != JoinKind::kOuter;  // else matches while probing, and the other rows afterwards
    }
    case OperatorKind::kScan:
    case OperatorKind::kGroupBy:
    case OperatorKind::kGroupJoin:
    case OperatorKind::kSort:
    case OperatorKind::kOutput:
      return true;
  }
  return false;
}

v1::Count rows_of(const Operator& op) {
  v1::Count rows;
  rows.set_rows_of(op.id);
  return rows;
}

v1::Count rows_at_a_place(const Operator& op) {
  return arrives_at_one_place(op) ? rows_of(op) : v1::Count();
}

v1::Access unknown_access(const std::string& region, ComponentId owner, std::uint32_t item_bytes) {
  v1::Access access;
  access.set_region(region);
  access.set_region_owner(owner);
  access.set_item_bytes(item_bytes);
  return access;
}

v1::Access sequential_access(const std::string& region, ComponentId owner, std::uint32_t item_bytes,
                             const v1::Count& items) {
  v1::Access access = unknown_access(region, owner, item_bytes);
  access.set_pattern(v1::ACCESS_SEQUENTIAL);
  *access.mutable_items() = items;
  return access;
}

v1::Access random_access(const std::string& region, ComponentId owner, std::uint32_t item_bytes,
                         const v1::Count& items, const v1::Count& accesses) {
  v1::Access access = sequential_access(region, owner, item_bytes, items);
  access.set_pattern(v1::ACCESS_RANDOM);
  *access.mutable_accesses() = accesses;
  return access;
}

}  // namespace tailor::weft
