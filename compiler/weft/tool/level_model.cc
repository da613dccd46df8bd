#include "compiler/weft/tool/level_model.h"

#include <algorithm>

#include "proto/base/errors.h"

namespace tailor::weft {
namespace {

using tagging::Link;

// The owners of every component of a level, by its id.
Result<std::vector<std::vector<ComponentId>>> owners(const v1::Level& level, std::uint32_t uppers) {
  std::vector<std::vector<ComponentId>> owners(level.component_count() + 1);
  for (int i = 0; i < level.links_size() && i + 1 < static_cast<int>(owners.size()); ++i) {
    const Link link = Link::from_wire(level.links(i));
    std::vector<ComponentId>& ids = owners[static_cast<std::size_t>(i) + 1];
    if (link.none()) continue;
    if (!link.is_set()) {
      ids.push_back(link.index());
    } else if (static_cast<int>(link.index()) < level.link_sets_size()) {
      const auto& set = level.link_sets(static_cast<int>(link.index())).ids();
      ids.assign(set.begin(), set.end());
    }
    if (ids.empty() || *std::max_element(ids.begin(), ids.end()) > uppers)
      return internal("a link of the plan leads nowhere");
  }
  return owners;
}

std::vector<std::string> listing(const v1::Plan& plan) {
  std::vector<std::string> lines(1);
  for (const v1::Attachment& attachment : plan.attachments()) {
    if (attachment.kind() != "ir") continue;
    std::size_t at = 0;
    while (at < attachment.content().size()) {
      const std::size_t end = std::min(attachment.content().find('\n', at), attachment.content().size());
      lines.push_back(attachment.content().substr(at, end - at));
      at = end + 1;
    }
  }
  return lines;
}

std::vector<ComponentId> owners_of(const v1::RowTable& rows, Link link) {
  if (link.none()) return {};
  if (!link.is_set()) return {link.index()};
  const auto& ids = rows.link_sets(static_cast<int>(link.index())).ids();
  return {ids.begin(), ids.end()};
}

}  // namespace

Result<LevelModel> LevelModel::make(const v1::Plan& plan, const v1::CodeObject& code) {
  if (plan.levels_size() != 3) return internal("the plan has no levels operator, task and ir");
  LevelModel model;
  auto tasks = owners(plan.levels(2), plan.levels(1).component_count());
  auto operators = owners(plan.levels(1), plan.levels(0).component_count());
  auto rows = tagging::decode_rows(code.rows());
  if (!tasks.ok()) return tasks.error();
  if (!operators.ok()) return operators.error();
  if (!rows.ok()) return rows.error();
  model.tasks_of_ir = std::move(*tasks);
  model.operators_of_task = std::move(*operators);
  model.ir = listing(plan);
  std::size_t row = 0;
  for (jit::NativeInstruction& native : jit::disassemble(code.code(), code.base())) {
    while (row < rows->size() && (*rows)[row].offset <= native.offset) ++row;
    LinkedInstruction& linked = model.code.emplace_back();
    linked.native = std::move(native);
    if (row == 0) continue;
    linked.flag = (*rows)[row - 1].flag;
    linked.ir = owners_of(code.rows(), (*rows)[row - 1].link);
    for (ComponentId id : linked.ir)
      if (id >= model.ir.size()) return internal("a row of the code leads to no line of the IR");
  }
  return model;
}

const v1::Component* described(const v1::Plan& plan, LevelIndex level, ComponentId id) {
  for (const v1::Component& component : plan.levels(static_cast<int>(level)).components())
    if (component.id() == id) return &component;
  return nullptr;
}

const char* name_of(tagging::RowFlag flag) {
  static constexpr const char* kNames[] = {"exact", "inferred", "shared", "prologue", "unmapped"};
  return kNames[static_cast<int>(flag)];
}

}  // namespace tailor::weft
