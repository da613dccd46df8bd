#include "daemon/registration/validate_plan.h"

#include <fmt/format.h>

#include "daemon/registration/limits.h"
#include "daemon/registration/validate_accesses.h"
#include "daemon/registration/validate_link.h"

namespace tailor::registration {

namespace {

Status validate_components(const v1::Level& level) {
  for (const v1::Component& component : level.components()) {
    if (component.id() == 0 || component.id() > level.component_count()) {
      return invalid(fmt::format("describes component {} of {}", component.id(), level.component_count()));
    }
    if (component.name().size() > kMaxTextBytes || component.kind().size() > kMaxNameBytes) {
      return invalid(fmt::format("component {} has a name that is too long", component.id()));
    }
    for (std::uint32_t input : component.inputs()) {
      if (input == 0 || input > level.component_count()) {
        return invalid(fmt::format("component {} consumes component {} of {}", component.id(), input,
                                   level.component_count()));
      }
    }
  }
  return Ok{};
}

// `upper_count`: components of the level above, 0 for the top level.
Status validate_level(const v1::Level& level, std::uint32_t upper_count, bool top) {
  if (level.component_count() > kMaxComponents) return invalid("has too many components");
  if (level.name().size() > kMaxNameBytes) return invalid("has a name that is too long");
  if (top && (level.links_size() > 0 || level.link_sets_size() > 0))
    return invalid("is the top and has links");
  if (level.links_size() != 0 && static_cast<std::uint32_t>(level.links_size()) != level.component_count()) {
    return invalid(
        fmt::format("has {} links for {} components", level.links_size(), level.component_count()));
  }
  Status sets = validate_link_sets(level.link_sets(), upper_count);
  if (!sets) return sets;
  for (std::uint32_t link : level.links()) {
    if (!link_in_range(link, upper_count, level.link_sets_size())) {
      return invalid(fmt::format("has a link {:#x} that leads to none of {} components and {} sets", link,
                                 upper_count, level.link_sets_size()));
    }
  }
  return validate_components(level);
}

Status validate_pipeline(const v1::Plan& plan, const v1::Pipeline& pipeline) {
  if (pipeline.id() == 0) return invalid("has no number");
  if (pipeline.name().size() > kMaxTextBytes) return invalid("has a name that is too long");
  if (pipeline.task_level() >= static_cast<std::uint32_t>(plan.levels_size())) {
    return invalid(fmt::format("has tasks on level {} of {}", pipeline.task_level(), plan.levels_size()));
  }
  std::uint32_t count = plan.levels(static_cast<int>(pipeline.task_level())).component_count();
  for (std::uint32_t task : pipeline.tasks()) {
    if (task == 0 || task > count) return invalid(fmt::format("has task {} of {}", task, count));
  }
  return Ok{};
}

Status validate_attachments(const v1::Plan& plan) {
  for (const v1::Attachment& attachment : plan.attachments()) {
    if (attachment.kind().size() > kMaxNameBytes || attachment.sha256().size() != 32) {
      return invalid(fmt::format("plan {}: attachment with too long a kind or without a SHA-256", plan.id()));
    }
  }
  return Ok{};
}

}  // namespace

Status validate_plan(const v1::Plan& plan) {
  if (plan.id() == 0) return invalid("plan without an id");
  auto wrong = [&](const std::string& what) { return invalid(fmt::format("plan {}: {}", plan.id(), what)); };
  if (plan.slot() > 0xFFFF || plan.generation() > 0xF)
    return wrong("slot or generation that no tag can hold");
  if (plan.name().size() > kMaxTextBytes) return wrong("its name is too long");
  if (plan.levels_size() == 0 || plan.levels_size() > kMaxLevels) {
    return wrong(fmt::format("has {} levels, allowed are 1 to {}", plan.levels_size(), kMaxLevels));
  }
  auto levels = static_cast<std::uint32_t>(plan.levels_size());
  if (plan.tag_upper_level() >= levels || plan.tag_lower_level() >= levels)
    return wrong("tags of unknown levels");
  std::uint32_t upper_count = 0;
  for (int i = 0; i < plan.levels_size(); ++i) {
    Status level = validate_level(plan.levels(i), upper_count, i == 0);
    if (!level) return wrong(fmt::format("level {} {}", i, level.error().message));
    upper_count = plan.levels(i).component_count();
  }
  if (static_cast<std::uint32_t>(plan.pipelines_size()) > kMaxPipelines) return wrong("too many pipelines");
  for (const v1::Pipeline& pipeline : plan.pipelines()) {
    Status valid = validate_pipeline(plan, pipeline);
    if (!valid) return wrong(fmt::format("pipeline {} {}", pipeline.id(), valid.error().message));
  }
  if (Status accesses = validate_accesses(plan); !accesses) return wrong(accesses.error().message);
  return validate_attachments(plan);
}

}  // namespace tailor::registration
