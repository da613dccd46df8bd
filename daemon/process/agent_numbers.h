// Numbers that agents give to what they speak of.
#pragma once

#include <algorithm>
#include <cstdint>

#include "proto/base/ids.h"

namespace tailor::process {

// The highest number of an engine component or a kind of regions that an agent may give. Those above are the
// daemon's own (process/process_state.h, profile/records.h).
inline constexpr std::uint32_t kHighestSaid = 0xFFFF'FFEF;

// Each agent counts its plans, code objects, executions, engine components and kinds of regions from 1. A
// process may have several agents, one after the other: it executes another program, or restarts its agent. A
// profile knows all of it by process and number, so what a later agent says gets numbers behind those of the
// agents before.
class AgentNumbers {
 public:
  // Of the agent that speaks. What has no number (0) has none here. Each is the same whenever it is asked
  // for.
  CodeId code(CodeId said) const { return said == 0 ? 0 : said + code_; }
  PlanId plan(PlanId said) const { return said == 0 ? 0 : said + plan_; }
  ExecutionHandle execution(ExecutionHandle said) const { return said == 0 ? 0 : said + execution_; }
  // 0 also where no number is left.
  std::uint32_t component(std::uint32_t said) const { return behind(said, component_); }
  std::uint32_t region_kind(std::uint32_t said) const { return behind(said, region_kind_); }
  // They are other ones than the agent's own.
  bool change() const { return (code_ | plan_ | execution_ | component_ | region_kind_) != 0; }

 private:
  friend class NumbersInUse;
  static std::uint32_t behind(std::uint32_t said, std::uint64_t before) {
    const std::uint64_t number = said + before;
    return said == 0 || number > kHighestSaid ? 0 : static_cast<std::uint32_t>(number);
  }

  // To be added.
  std::uint64_t code_ = 0, plan_ = 0, execution_ = 0, component_ = 0, region_kind_ = 0;
};

// The highest numbers so far of all agents of a process.
class NumbersInUse {
 public:
  void note_code(CodeId number) { note(number, all_.code_); }
  void note_plan(PlanId number) { note(number, all_.plan_); }
  void note_execution(ExecutionHandle number) { note(number & kCounted, all_.execution_); }
  void note_component(std::uint32_t number) { note_small(number, all_.component_); }
  void note_region_kind(std::uint32_t number) { note_small(number, all_.region_kind_); }
  // For an agent that begins to speak.
  AgentNumbers behind() const { return all_; }

 private:
  // Agents mark handles by their upper bits. And one that says very high numbers leaves room for the next.
  static constexpr std::uint64_t kCounted = (std::uint64_t{1} << 60) - 1;
  static void note(std::uint64_t number, std::uint64_t& highest) {
    if (number <= kCounted) highest = std::max(highest, number);
  }
  // These have 32 bits.
  static void note_small(std::uint32_t number, std::uint64_t& highest) {
    constexpr std::uint32_t kSmallCounted = 0x7FFF'FFFF;
    if (number <= kSmallCounted) highest = std::max<std::uint64_t>(highest, number);
  }

  AgentNumbers all_;
};

}  // namespace tailor::process
