// The two parts of a groupjoin stay apart, from the plan dictionary down to machine code: code that hashes
// and compares keys belongs to the join part, code that aggregates to the group part. The same check must
// fail where the parts of the tasks are exchanged.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/integration/weft_lineage/traced_query.h"

namespace tailor::weft {
namespace {

using Words = std::set<std::string>;

// What each part of the groupjoin is made of: opcodes of IR, names of machine instructions.
struct Parts {
  std::map<std::string, Words> ir, native;

  bool has(const std::string& part, const char* opcode) const {
    const auto it = ir.find(part);
    return it != ir.end() && it->second.contains(opcode);
  }
  bool has_native(const std::string& part, const char* name) const {
    const auto it = native.find(part);
    return it != native.end() && std::any_of(it->second.begin(), it->second.end(), [&](const auto& each) {
             return each.find(name) != std::string::npos;
           });
  }
};

// `part` of a task; empty for tasks of other operators.
std::string part_of(const v1::Plan& plan, ComponentId task) {
  for (const auto& attribute : plan.levels(1).components(static_cast<int>(task) - 1).attributes()) {
    if (attribute.key() == "part") return attribute.text();
  }
  return "";
}

Parts parts_of(const OwnedQuery& query, bool exchanged) {
  const v1::Plan plan = query.query->dictionary().build({});
  auto name_of = [&](ComponentId task) {
    std::string part = part_of(plan, task);
    if (!exchanged || part.empty()) return part;
    return std::string(part == "join" ? "group" : "join");
  };
  Parts parts;
  for (ComponentId id = 1; id <= query.lines.size(); ++id) {
    for (ComponentId task : query.query->dictionary().owners(GeneratedQuery::kIrLevel, id))
      parts.ir[name_of(task)].insert(query.lines[id - 1].opcode);
  }
  for (const OwnedInstruction& each : query.code) {
    for (ComponentId task : each.tasks) parts.native[name_of(task)].insert(each.native.text);
  }
  return parts;
}

// The hash of a key is multiplied and mixed, its match in the chain compared; a group is locked by an
// exchange and counted up.
bool apart(const Parts& parts) {
  return parts.has("join", "mul") && parts.has("join", "xor") && parts.has("join", "icmp") &&
         !parts.has("join", "atomicrmw") && !parts.has("join", "add") && parts.has("group", "atomicrmw") &&
         parts.has("group", "add") && !parts.has("group", "mul") && !parts.has("group", "xor") &&
         parts.has_native("join", "IMUL") && parts.has_native("join", "CMP") &&
         !parts.has_native("join", "XCHG") && parts.has_native("group", "XCHG") &&
         !parts.has_native("group", "IMUL");
}

class GroupJoin : public testing::TestWithParam<const char*> {};

TEST_P(GroupJoin, JoinAndGroupPartStayApart) {
  auto jit = make_test_jit();
  const OwnedQuery query(*find_query(GetParam()), *jit, jit::OptLevel::kO2);
  const Parts parts = parts_of(query, false);
  EXPECT_TRUE(apart(parts));
  for (const auto& [part, words] : parts.ir) {
    if (part.empty()) continue;
    std::printf("%s %s part:", GetParam(), part.c_str());
    for (const std::string& word : words) std::printf(" %s", word.c_str());
    for (const std::string& word : parts.native.at(part)) std::printf(" %s", word.c_str());
    std::printf("\n");
  }
  EXPECT_FALSE(apart(parts_of(query, true))) << "the check would not notice exchanged parts";
  // All tasks of that operator, and no others, say which part they are of.
  const v1::Plan plan = query.query->dictionary().build({});
  for (ComponentId task = 1; task <= query.query->program().task_count; ++task) {
    const ComponentId op = query.query->operator_of(task);
    const bool groupjoin =
        plan.levels(0).components(static_cast<int>(op) - 1).name().starts_with("Groupjoin");
    EXPECT_EQ(groupjoin, !part_of(plan, task).empty()) << task;
  }
}

INSTANTIATE_TEST_SUITE_P(Queries, GroupJoin, testing::Values("tpch-13", "tpch-3"), [](const auto& query) {
  return std::string(query.param).substr(0, 4) + std::string(query.param).substr(5);
});

}  // namespace
}  // namespace tailor::weft
