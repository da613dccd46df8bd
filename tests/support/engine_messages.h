// What a small engine says: a plan of three levels and code objects of it, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tailor/v1/dictionary.pb.h"

namespace tailor::test {

// Operators 1 (scan), 2 (join); tasks 1 (scan), 2 (build), 3 (probe), owned by 1, 2, 2; IR instructions 1 ..
// 6, two a task. Tags hold operator and task.
inline v1::Plan small_plan(std::uint64_t id, std::uint32_t slot = 1, std::uint32_t generation = 1) {
  v1::Plan plan;
  plan.set_id(id);
  plan.set_slot(slot);
  plan.set_generation(generation);
  plan.set_name("plan " + std::to_string(id));
  plan.set_tag_upper_level(0);
  plan.set_tag_lower_level(1);
  plan.set_has_tag_lower_level(true);
  const std::vector<std::pair<std::string, std::vector<std::uint32_t>>> levels = {
      {"operator", {0, 0}}, {"task", {1, 2, 2}}, {"ir", {1, 1, 2, 2, 3, 3}}};
  for (const auto& [name, owners] : levels) {
    v1::Level* level = plan.add_levels();
    level->set_name(name);
    level->set_component_count(static_cast<std::uint32_t>(owners.size()));
    if (plan.levels_size() == 1) continue;
    for (std::uint32_t owner : owners) level->add_links(owner << 1);
  }
  v1::Component* scan = plan.mutable_levels(0)->add_components();
  scan->set_id(1);
  scan->set_name("Scan");
  v1::Component* join = plan.mutable_levels(0)->add_components();
  join->set_id(2);
  join->set_name("Join");
  join->add_inputs(1);
  v1::Pipeline* pipeline = plan.add_pipelines();
  pipeline->set_id(1);
  pipeline->set_task_level(1);
  pipeline->add_tasks(1);
  pipeline->add_tasks(2);
  return plan;
}

struct RowWord {
  std::uint32_t offset;
  std::uint32_t link;  // as on the wire
  v1::RowFlag flag = v1::ROW_EXACT;
};

inline v1::CodeObject small_code(std::uint64_t id, std::uint64_t plan, std::uint64_t base, std::size_t size,
                                 const std::vector<RowWord>& rows) {
  v1::CodeObject code;
  code.set_id(id);
  code.set_plan_id(plan);
  code.set_base(base);
  code.set_code(std::string(size, '\x90'));
  std::uint32_t offset = 0, link = 0;
  for (const RowWord& row : rows) {
    code.mutable_rows()->add_offset_delta(row.offset - offset);
    code.mutable_rows()->add_link_delta(static_cast<std::int32_t>(row.link - link));
    code.mutable_rows()->mutable_flags()->push_back(static_cast<char>(row.flag));
    offset = row.offset;
    link = row.link;
  }
  return code;
}

// 64 bytes: 0-15 frame set-up, then 8 bytes for each of the instructions 1 .. 6.
inline v1::CodeObject small_code(std::uint64_t id, std::uint64_t plan, std::uint64_t base) {
  return small_code(id, plan, base, 64,
                    {{0, 0, v1::ROW_PROLOGUE},
                     {16, 1 << 1},
                     {24, 2 << 1, v1::ROW_INFERRED},
                     {32, 3 << 1},
                     {40, 4 << 1},
                     {48, 5 << 1},
                     {56, 6 << 1}});
}

}  // namespace tailor::test
