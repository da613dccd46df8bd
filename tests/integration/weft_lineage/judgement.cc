#include "tests/integration/weft_lineage/judgement.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>

namespace tailor::weft {
namespace {

using tagging::RowFlag;

// Moves between instructions of one owner that are followed to reach its section.
constexpr int kFlowDepth = 64;
// Bounds the search of paths that were not taken.
constexpr std::size_t kStaticSteps = 5000;

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

using Opcodes = std::initializer_list<const char*>;

// Whether selection can have made `native` of IR instructions, by what only some of them can do.
bool can_descend(const NativeInstruction& native, const std::vector<std::string>& opcodes) {
  auto any = [&](Opcodes of) {
    return std::any_of(opcodes.begin(), opcodes.end(), [&](const std::string& opcode) {
      return std::any_of(of.begin(), of.end(), [&](const char* each) { return opcode == each; });
    });
  };
  if (native.is_call) return any({"call", "sdiv", "udiv", "srem", "urem", "mul"});
  if (native.is_return) return any({"ret"});
  if (native.stores && !any({"store", "call", "atomicrmw", "cmpxchg"})) return false;
  if (native.loads && !any({"load", "call", "atomicrmw", "cmpxchg"})) return false;
  // Divisions test for short operands first.
  if (native.is_conditional)
    return any({"br", "switch", "select", "icmp", "fcmp", "call", "and", "or", "xor", "sdiv", "udiv", "srem",
                "urem"});
  if (contains(native.text, "DIV")) return any({"sdiv", "udiv", "srem", "urem", "fdiv"});
  return std::any_of(opcodes.begin(), opcodes.end(),
                     [](const std::string& opcode) { return !opcode.empty(); });
}

class Judging {
 public:
  Judging(const TracedQuery& traced, Breakage breakage)
      : traced_(traced), ir_(traced.lines), owners_(traced.code.size()) {
    const std::size_t tasks = traced.query->program().task_count;
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      const OwnedInstruction& row =
          traced.code[std::min(i + (breakage == Breakage::kRowsShifted ? 3 : 0), owners_.size() - 1)];
      owners_[i] = {row.flag, row.ids, row.tasks};
      if (breakage != Breakage::kTasksSwapped) continue;
      for (ComponentId& task : owners_[i].tasks) task = static_cast<ComponentId>(task % tasks + 1);
    }
    rows_changed();
  }

  Judgement run() {
    read_runs();
    std::vector<Verdict> verdicts;
    std::set<Case> shown;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      verdicts.push_back(verdict_on(i));
      if (verdicts[i] != Verdict::kUnexplained) shown.insert({steps_[i].at, steps_[i].tag});
    }
    std::map<Case, std::uint64_t> unexplained;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].tag_unseen) continue;
      const Case place{steps_[i].at, steps_[i].tag};
      // Where a run begins or ends, values come from or go to what was not followed.
      if (verdicts[i] == Verdict::kUnexplained && shown.contains(place)) verdicts[i] = Verdict::kNotFollowed;
      ++out_.executed[static_cast<std::size_t>(verdicts[i])];
      if (verdicts[i] == Verdict::kUnexplained) ++unexplained[place];
    }
    for (const auto& [place, count] : unexplained) {
      if (out_.unexplained.size() < 12) describe(place, count);
    }
    for (std::size_t at = 0; at < owners_.size(); ++at) {
      if (!executions_[at].empty()) check_origin(at);
    }
    return std::move(out_);
  }

  WrongRows try_wrong(double fraction, std::uint64_t seed) {
    read_runs();
    std::vector<std::size_t> right;
    for (std::size_t at = 0; at < owners_.size(); ++at) {
      if (recorded(at) && !executions_[at].empty() && agrees(executions_[at])) right.push_back(at);
    }
    std::mt19937_64 random(seed);
    std::shuffle(right.begin(), right.end(), random);
    right.resize(static_cast<std::size_t>(std::lround(fraction * static_cast<double>(right.size()))));
    WrongRows out;
    for (std::size_t at : right) {
      const std::vector<std::size_t> others = strangers(at);
      if (others.empty()) continue;
      const Owner before = owners_[at];
      owners_[at] = owners_[others[random() % others.size()]];
      rows_changed();
      ++out.tried;
      const Verdict verdict = verdict_on_row(at);
      out.unexplained += verdict == Verdict::kUnexplained;
      out.not_followed += verdict == Verdict::kNotFollowed;
      owners_[at] = before;
    }
    rows_changed();
    return out;
  }

 private:
  struct Owner {
    RowFlag flag;
    std::vector<ComponentId> ids, tasks;
  };
  using Case = std::pair<std::size_t, ComponentId>;  // an instruction under a tag
  struct Step {
    std::size_t at;
    ComponentId tag;
    std::vector<std::size_t> from, to;  // steps whose values it reads, that read its values
    bool tag_unseen;                    // it wrote a tag, and was the last that was followed
  };

  bool owns(std::size_t at, ComponentId task) const {
    const auto& tasks = owners_[at].tasks;
    return std::binary_search(tasks.begin(), tasks.end(), task) ||
           std::find(tasks.begin(), tasks.end(), task) != tasks.end();
  }

  // What follows from the rows is found out anew.
  void rows_changed() {
    can_flow_.clear();
    std::vector<bool> in_code(traced_.lines.size() + 1);
    for (std::size_t at = 0; at < owners_.size(); ++at) {
      if (!recorded(at)) continue;
      for (ComponentId id : owners_[at].ids) in_code[id] = true;
    }
    ir_.set_in_code(std::move(in_code));
  }

  // Of the row of an instruction: unexplained where run() would say so of one of its cases.
  Verdict verdict_on_row(std::size_t at) {
    constexpr std::size_t kMost = 100;
    std::map<ComponentId, Verdict> cases;  // by tag
    const auto& ran = executions_[at];
    for (std::size_t n = 0; n < std::min(ran.size(), kMost); ++n) {
      const Verdict verdict = verdict_on(ran[n]);
      const auto [it, first] = cases.try_emplace(steps_[ran[n]].tag, verdict);
      // One execution that is explained shows what the others do.
      if (!first && it->second == Verdict::kUnexplained) it->second = verdict;
    }
    Verdict worst = cases.begin()->second;
    for (const auto& [tag, verdict] : cases) {
      if (verdict == Verdict::kUnexplained ||
          (verdict == Verdict::kNotFollowed && worst != Verdict::kUnexplained))
        worst = verdict;
    }
    return worst;
  }

  void read_runs() {
    executions_.resize(owners_.size());
    for (const TracedRun& run : traced_.trace.runs) read_run(run);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].tag_unseen) continue;
      executions_[steps_[i].at].push_back(i);
    }
  }

  void read_run(const TracedRun& run) {
    std::map<Place, std::size_t> writers;
    const std::size_t first = steps_.size();
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
      const std::size_t at = traced_.index_at(run.steps[i].ip);
      const NativeInstruction& native = traced_.code[at].native;
      // The instruction that writes a tag still runs under the one before.
      const bool last = i + 1 == run.steps.size();
      steps_.push_back({at,
                        task_of(run.steps[i + (native.writes_r15 && !last ? 1 : 0)].registers.r15),
                        {},
                        {},
                        native.writes_r15 && last});
      for (Place place : native.reads) {
        auto it = writers.find(place);
        if (it == writers.end()) continue;
        steps_[first + i].from.push_back(it->second);
        steps_[it->second].to.push_back(first + i);
      }
      for (Place place : native.writes) writers[place] = first + i;
    }
  }

  bool agrees(const std::vector<std::size_t>& executions) const {
    return std::all_of(executions.begin(), executions.end(),
                       [&](std::size_t i) { return owns(steps_[i].at, steps_[i].tag); });
  }

  // Recorded instructions of the same function that share no task with `at`.
  std::vector<std::size_t> strangers(std::size_t at) const {
    std::vector<std::size_t> out;
    for (std::size_t other = 0; other < owners_.size(); ++other) {
      const auto& tasks = owners_[other].tasks;
      if (recorded(other) && traced_.code[other].function == traced_.code[at].function &&
          std::none_of(tasks.begin(), tasks.end(), [&](ComponentId task) { return owns(at, task); }))
        out.push_back(other);
    }
    return out;
  }

  ComponentId task_of(std::uint64_t tag) {
    auto [it, added] = tasks_.try_emplace(tag, kNoComponent);
    if (added) it->second = traced_.task_of_tag(tag);
    return it->second;
  }

  bool recorded(std::size_t at) const {
    return owners_[at].flag == RowFlag::kExact || owners_[at].flag == RowFlag::kShared;
  }

  Verdict verdict_on(std::size_t i) {
    const Step& step = steps_[i];
    if (owners_[step.at].flag == RowFlag::kPrologue) return Verdict::kFrame;
    if (step.tag == kNoComponent) return Verdict::kUntagged;
    if (owns(step.at, step.tag)) return Verdict::kAgree;
    if (is_padding_behind(i)) return verdict_on(i - 1);
    const NativeInstruction& native = traced_.code[step.at].native;
    if (native.moves_stack && !recorded(step.at)) return Verdict::kFrame;
    // Tag writes are ordered with calls, and end with the function.
    if (native.is_call || native.is_return) return Verdict::kUnexplained;
    if (makes_tag(step.at)) return Verdict::kMoved;
    bool on_some_path = false;
    for (ComponentId task : owners_[step.at].tasks) {
      const bool possible = !recorded(step.at) || possible_origin(step.at);
      if (possible && (flows(i, task, &Step::to) || flows(i, task, &Step::from) || ends_chain(step, task)))
        return recorded(step.at) ? Verdict::kMoved : Verdict::kServes;
      on_some_path = on_some_path || (possible && can_flow(step.at, task));
    }
    if (on_some_path) return Verdict::kNotFollowed;
    return is_control(i, std::nullopt, kFlowDepth) ? Verdict::kControl : Verdict::kUnexplained;
  }

  // Padding before a loop, which counts with the instruction before it: no value says whose it is.
  bool is_padding_behind(std::size_t i) const {
    const std::size_t at = steps_[i].at;
    return traced_.code[at].native.is_padding && i > 0 && steps_[i - 1].at + 1 == at &&
           owners_[at].ids == owners_[at - 1].ids;
  }

  // A tag of an owner's, made ahead of the write that needs it.
  bool makes_tag(std::size_t at) const {
    const NativeInstruction& native = traced_.code[at].native;
    if (!native.immediate || native.loads || native.stores) return false;
    const ComponentId task = traced_.task_of_tag(static_cast<std::uint64_t>(*native.immediate));
    return task != kNoComponent && owns(at, task);
  }

  // A jump that is a branch in the IR of the same function, or what decides such jumps. Tag writes do not
  // order jumps, and LLVM makes more of them: guards of unrolled loops, copies of loop ends, counts of
  // rounds, which it books on the branch before the loop. `last` is the last recorded instruction on the way
  // here: what it made must be something that the branch needs.
  bool is_control(std::size_t i, std::optional<std::size_t> last, int depth) {
    const std::size_t at = steps_[i].at;
    const NativeInstruction& native = traced_.code[at].native;
    if (!has_branch(at) || (last && !related(*last, at))) return false;
    if ((recorded(at) || native.is_branch) && !possible_origin(at)) return false;
    if (native.is_branch) return !recorded(at) || is_decided_rightly(i);
    if (depth == 0 || native.stores) return false;
    if (recorded(at)) last = at;
    return std::any_of(steps_[i].to.begin(), steps_[i].to.end(),
                       [&](std::size_t other) { return is_control(other, last, depth - 1); });
  }
  // Whether a jump tests what its owner's branch can need: nothing that is recorded as unrelated IR.
  bool is_decided_rightly(std::size_t i) {
    const std::size_t at = steps_[i].at;
    return std::all_of(steps_[i].from.begin(), steps_[i].from.end(), [&](std::size_t from) {
      return !recorded(steps_[from].at) || related(steps_[from].at, at);
    });
  }
  // Whether the IR has a flow between the two, by what is said of them.
  bool related(std::size_t a, std::size_t b) { return ir_.related(owners_[a].ids, owners_[b].ids); }

  bool has_branch(std::size_t at) const {
    return std::any_of(owners_[at].ids.begin(), owners_[at].ids.end(), [&](ComponentId id) {
      const std::string& opcode = traced_.lines[id - 1].opcode;
      return opcode == "br" || opcode == "switch" || opcode == "icmp" || opcode == "select";
    });
  }
  // Whether values reach an instruction of `task` that runs under its tag, by way of others of that task. A
  // recorded instruction says which IR it is, so from one to the next the IR must have that flow too: else a
  // wrong owner would be explained wherever a value of that owner's is at hand. What is inferred (copies,
  // spills) is passed through.
  bool flows(std::size_t i, ComponentId task, std::vector<std::size_t> Step::* direction) {
    struct Reached {
      std::size_t step, last;  // last: the recorded instruction before it on the way
      auto operator<=>(const Reached&) const = default;
    };
    const bool demanding = recorded(steps_[i].at);
    std::set<Reached> seen{{i, steps_[i].at}};
    std::vector<Reached> now{*seen.begin()};
    for (int depth = 0; depth < kFlowDepth && !now.empty(); ++depth) {
      std::vector<Reached> next;
      for (const Reached& each : now) {
        for (std::size_t other : steps_[each.step].*direction) {
          const std::size_t at = steps_[other].at;
          if (!owns(at, task)) continue;
          if (demanding && recorded(at) && !related(each.last, at)) continue;
          if (steps_[other].tag == task && (!demanding || recorded(at))) return true;
          const Reached place{other, recorded(at) ? at : each.last};
          if (seen.insert(place).second) next.push_back(place);
        }
      }
      now = std::move(next);
    }
    return false;
  }

  // Whether what it writes can reach, on some path, a recorded instruction of `task`: for values that were
  // made in time for a path that was not taken, or not followed to its end.
  bool can_flow(std::size_t at, ComponentId task) {
    auto [it, added] = can_flow_.try_emplace({at, task}, false);
    if (added) it->second = search_flow(at, task);
    return it->second;
  }
  bool search_flow(std::size_t at, ComponentId task) {
    std::set<std::pair<std::size_t, Place>> seen;
    std::vector<std::pair<std::size_t, Place>> open;
    auto go_on = [&](std::size_t from, Place place) {
      for (std::size_t next : successors(from)) {
        if (seen.insert({next, place}).second) open.emplace_back(next, place);
      }
    };
    for (Place place : traced_.code[at].native.writes) go_on(at, place);
    while (!open.empty() && seen.size() < kStaticSteps) {
      const auto [here, place] = open.back();
      open.pop_back();
      const NativeInstruction& native = traced_.code[here].native;
      const bool passes = !recorded(at) || !recorded(here) || related(at, here);
      if (has(native.reads, place) && owns(here, task) && passes) {
        if (recorded(here)) return true;
        for (Place further : native.writes) go_on(here, further);
      }
      if (!has(native.writes, place)) go_on(here, place);
    }
    return false;
  }

  // The last of a chain that moved as a whole, or the spill behind it: made of what `task` has recorded, and
  // of use to others only.
  bool ends_chain(const Step& step, ComponentId task) {
    const NativeInstruction& native = traced_.code[step.at].native;
    if (native.loads || native.stores || native.is_branch) return false;
    auto owned = [&](std::size_t other) { return owns(steps_[other].at, task); };
    return std::none_of(step.to.begin(), step.to.end(), owned) &&
           std::any_of(step.from.begin(), step.from.end(), [&](std::size_t other) {
             return owned(other) && recorded(steps_[other].at) &&
                    (!recorded(step.at) || related(steps_[other].at, step.at));
           });
  }

  static bool has(const std::vector<Place>& places, Place place) {
    return std::find(places.begin(), places.end(), place) != places.end();
  }

  std::vector<std::size_t> successors(std::size_t at) const {
    const NativeInstruction& native = traced_.code[at].native;
    std::vector<std::size_t> next;
    const bool falls_through = !native.is_return && (!native.is_branch || native.is_conditional);
    if (falls_through && at + 1 < traced_.code.size()) next.push_back(at + 1);
    if (native.target >= 0)
      next.push_back(
          traced_.index_at(traced_.query->code().base() + static_cast<std::uint64_t>(native.target)));
    return next;
  }

  bool possible_origin(std::size_t at) const {
    std::vector<std::string> opcodes;
    for (ComponentId id : owners_[at].ids) {
      const IrLine& line = traced_.lines[id - 1];
      if (line.function == traced_.code[at].function) opcodes.push_back(line.opcode);
    }
    return can_descend(traced_.code[at].native, opcodes);
  }

  void check_origin(std::size_t at) {
    if (recorded(at) && !possible_origin(at)) {
      ++out_.impossible_origin;
      if (out_.unexplained.size() < 12) out_.unexplained.push_back("impossible origin: " + text(at));
    }
  }

  std::string text(std::size_t at) const {
    std::string text = traced_.query->settings().name + " +" +
                       std::to_string(traced_.code[at].native.offset) + " " + traced_.code[at].native.text +
                       " flag " + std::to_string(static_cast<int>(owners_[at].flag)) + ", of tasks";
    for (ComponentId task : owners_[at].tasks) text += " " + std::to_string(task);
    text += ", IR";
    for (ComponentId id : owners_[at].ids)
      text += " " + std::to_string(id) + ":" + traced_.lines[id - 1].opcode;
    return text;
  }

  void describe(const Case& place, std::uint64_t count) {
    out_.unexplained.push_back(text(place.first) + ", ran " + std::to_string(count) + " times under task " +
                               std::to_string(place.second));
  }

  const TracedQuery& traced_;
  IrFlow ir_;
  std::vector<Owner> owners_;                         // by index in code
  std::vector<Step> steps_;                           // of all runs
  std::vector<std::vector<std::size_t>> executions_;  // by index in code: steps
  std::map<Case, bool> can_flow_;                     // by index in code and task
  std::map<std::uint64_t, ComponentId> tasks_;
  Judgement out_;
};

}  // namespace

std::uint64_t Judgement::judged() const {
  return of(Verdict::kAgree) + of(Verdict::kMoved) + of(Verdict::kServes) + of(Verdict::kControl) +
         of(Verdict::kNotFollowed) + of(Verdict::kUnexplained);
}

void Judgement::add(const Judgement& other) {
  for (std::size_t i = 0; i < kVerdicts; ++i) executed[i] += other.executed[i];
  impossible_origin += other.impossible_origin;
  unexplained.insert(unexplained.end(), other.unexplained.begin(), other.unexplained.end());
}

Judgement judge(const TracedQuery& traced, Breakage breakage) {
  return Judging(traced, breakage).run();
}

WrongRows try_wrong_rows(const TracedQuery& traced, double fraction, std::uint64_t seed) {
  return Judging(traced, Breakage::kNone).try_wrong(fraction, seed);
}

}  // namespace tailor::weft
