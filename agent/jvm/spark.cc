#include "agent/jvm/spark.h"

#include <tailor/agent.h>

#include <algorithm>
#include <array>

#include "agent/jvm/shared_code.h"
#include "agent/jvm/tsc.h"

namespace tailor::jvm {

// At the begin of each process, so that it has the same number in a driver and its executors: reports add up
// only what has (Profile::for_leader).
Spark::Spark()
    : outside_(tailor_component_declare("Spark task, outside of generated code")),
      starting_(tailor_component_declare("Spark task, its start")) {}

std::shared_ptr<Spark::Query> Spark::find(std::uint64_t query) {
  const auto found = queries_.find(query);
  return found == queries_.end() ? nullptr : found->second;
}

std::uint64_t Spark::add_unit(GeneratedUnit unit) {
  const std::lock_guard lock(mutex_);
  const auto known = unit_of_source_.find(unit.source);
  if (known != unit_of_source_.end()) {
    units_[known->second].gone = false;
    return known->second;
  }
  forget_old_units();
  unit.id = ++last_unit_;
  unit_of_source_[unit.source] = unit.id;
  units_[unit.id].generated = std::move(unit);
  return last_unit_;
}

// Those whose code was unloaded, or never was there.
void Spark::forget_old_units() {
  for (auto at = units_.begin(); units_.size() >= kMostUnits && at != units_.end();) {
    if (!at->second.code.empty()) {
      ++at;
      continue;
    }
    unit_of_source_.erase(at->second.generated.source);
    at = units_.erase(at);
  }
}

void Spark::forget_unit(std::uint64_t unit) {
  const std::lock_guard lock(mutex_);
  const auto found = units_.find(unit);
  if (found == units_.end()) return;
  found->second.gone = true;
  forget_if_gone(found);
}

void Spark::forget_if_gone(std::map<std::uint64_t, Unit>::iterator at) {
  if (!at->second.gone || !at->second.code.empty()) return;
  unit_of_source_.erase(at->second.generated.source);
  units_.erase(at);
}

std::size_t Spark::live_plans() const {
  const std::lock_guard lock(mutex_);
  std::set<const Query*> live{assigned_.home.get()};
  for (const auto& [id, query] : queries_) live.insert(query.get());
  for (const auto& [id, unit] : units_) live.insert({unit.home.get(), unit.nobody.get()});
  live.erase(nullptr);
  return live.size();
}

std::uint64_t Spark::begin_query(const std::string& name,
                                 const std::vector<std::pair<std::string, std::string>>& labels) {
  std::vector<tailor_label> said;
  for (const auto& [key, value] : labels) said.push_back({key.c_str(), value.c_str()});
  auto query = std::make_shared<Query>(name);
  for (const auto& [key, value] : labels) {
    if (key == "query") query->plan.attach("sql", value);
  }
  query->plan.send();
  query->execution = tailor_execution_begin(query->plan.id(), said.data(), said.size());
  const std::lock_guard lock(mutex_);
  query->id = ++last_query_;
  queries_[query->id] = query;
  return query->id;
}

std::uint32_t Spark::add_operator(std::uint64_t query, const std::string& name, const std::string& kind,
                                  const std::string& detail) {
  const std::lock_guard lock(mutex_);
  const auto found = find(query);
  return found ? found->plan.add_operator(name, kind, detail) : 0;
}

void Spark::add_input(std::uint64_t query, std::uint32_t of, std::uint32_t input) {
  const std::lock_guard lock(mutex_);
  if (const auto found = find(query)) found->plan.add_input(of, input);
}

void Spark::set_number(std::uint64_t query, std::uint32_t of, const std::string& key, double value) {
  const std::lock_guard lock(mutex_);
  if (const auto found = find(query)) found->plan.set_number(of, key, value);
}

void Spark::send(std::uint64_t query) {
  const std::lock_guard lock(mutex_);
  if (const auto found = find(query)) found->plan.send();
}

std::uint32_t Spark::use_unit(std::uint64_t query, std::uint64_t unit,
                              const std::vector<std::uint32_t>& operators, std::uint32_t first) {
  const std::lock_guard lock(mutex_);
  const auto user = find(query);
  const auto used = units_.find(unit);
  if (!user || used == units_.end()) return 0;
  const std::uint32_t at = user->plan.add_unit(used->second.generated, operators, first);
  if (at == 0) return 0;
  user->plan.send();
  if (std::find(user->units.begin(), user->units.end(), unit) == user->units.end())
    user->units.push_back(unit);
  claim(used->second, user);
  assign();
  return at;
}

std::string Spark::identity(std::uint64_t query) {
  const std::lock_guard lock(mutex_);
  const auto found = find(query);
  if (!found) return {};
  std::array<std::uint8_t, 16> id{};
  tailor_execution_id(found->execution, id.data());
  std::string digits;
  for (std::uint8_t byte : id) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

// The code becomes the user's, unless another query has tasks that may run it.
void Spark::claim(Unit& unit, const std::shared_ptr<Query>& user) {
  const bool contested = std::any_of(queries_.begin(), queries_.end(), [&](const auto& each) {
    return each.second != user && each.second->tasks > 0 && each.second->plan.has_unit(unit.generated.id);
  });
  const std::shared_ptr<Query> home = contested ? nobodys(unit) : user;
  if (unit.home != home) move_home(unit, home);
}

// Of code that no one query can be told to run: also on executors, which know no query's plan.
const std::shared_ptr<Spark::Query>& Spark::nobodys(Unit& unit) {
  if (unit.nobody) return unit.nobody;
  unit.nobody = std::make_shared<Query>("Spark: generated code of several queries");
  std::vector<std::uint32_t> operators;
  for (std::uint32_t i = 1; i <= unit.generated.operators; ++i)
    operators.push_back(unit.nobody->plan.add_operator("operator " + std::to_string(i), "generated", ""));
  unit.nobody->plan.add_unit(unit.generated, operators, 0);
  unit.nobody->plan.send();
  return unit.nobody;
}

void Spark::move_home(Unit& unit, std::shared_ptr<Query> home) {
  const std::uint64_t now = read_tsc();
  const std::shared_ptr<Query> before = std::exchange(unit.home, std::move(home));
  unit.home_since = now;
  std::map<std::uint64_t, CompiledCode> moved;
  for (auto& [id, code] : unit.code) {
    const std::uint64_t next = tailor_code_new();
    CodeBuilder builder = unit.home->plan.code(code, unit.generated);
    if (!builder || !numbers_->renumber(code.base, id, next)) continue;
    tailor_code_unload(id);
    tailor_code_builder_load_since(builder.get(), next, now);
    if (!numbers_->confirm(code.base, next)) continue;
    code.id = next;
    moved.emplace(next, std::move(code));
  }
  unit.code = std::move(moved);
}

void Spark::end_query(std::uint64_t query, const std::string& error) {
  const std::lock_guard lock(mutex_);
  const auto found = find(query);
  if (!found) return;
  tailor_execution_end(found->execution, UINT64_MAX, error.empty() ? nullptr : error.c_str());
  // Its plan stays for as long as code belongs to it.
  queries_.erase(query);
  running_.forget(query);
}

void Spark::set_role(std::uint64_t query, std::int32_t stage, const std::string& role,
                     const std::vector<std::uint32_t>& operators) {
  const std::lock_guard lock(mutex_);
  if (!find(query)) return;
  running_.set(query, stage, role, operators);
  assign();
}

std::uint64_t Spark::enter(std::uint64_t query, std::int32_t stage) {
  std::shared_ptr<Query> found;
  std::uint32_t pipeline = 0;
  {
    const std::lock_guard lock(mutex_);
    running_.begin(query, stage);
    assign();
    found = find(query);
    if (!found) return 0;
    ++found->tasks;
    const bool fresh = !found->plan.has_stage(stage);
    pipeline = found->plan.add_stage(stage);
    if (fresh) found->plan.send();
    for (std::uint64_t id : found->units) {
      const auto unit = units_.find(id);
      if (unit != units_.end()) claim(unit->second, found);
    }
  }
  tailor_mark_execution_begin(found->execution, found->plan.id());
  tailor_mark_pipeline_begin(pipeline);
  tailor_mark_component_begin(outside_);
  tailor_mark_component_begin(starting_);
  return found->execution;
}

void Spark::started() {
  tailor_mark_component_end(starting_);
}

// The execution's end ends what was begun in it.
void Spark::leave(std::uint64_t query, std::int32_t stage, std::uint64_t execution) {
  if (execution != 0) tailor_mark_execution_end(execution);
  const std::lock_guard lock(mutex_);
  running_.end(query, stage);
  const auto found = find(query);
  if (execution != 0 && found && found->tasks > 0) --found->tasks;
}

// Whether it belongs to the home, and not to its callers.
bool Spark::Assignment::has(const CompiledCode& code) const {
  if (!home) return false;
  return roles.contains(code.methods[0].role) ||
         std::any_of(code.methods.begin(), code.methods.end(),
                     [&](const MethodText& method) { return units.contains(method.unit); });
}

bool Spark::Assignment::same_for(const CompiledCode& code, const Assignment& other) const {
  if (!has(code) && !other.has(code)) return true;
  if (home != other.home) return false;
  const auto component = [](const Assignment& in, const std::string& role) {
    const auto found = in.roles.find(role);
    return found == in.roles.end() ? 0 : found->second;
  };
  return std::all_of(code.methods.begin(), code.methods.end(), [&](const MethodText& method) {
    return component(*this, method.role) == component(other, method.role) &&
           units.contains(method.unit) == other.units.contains(method.unit);
  });
}

Spark::Assignment Spark::assignment() const {
  const RunningRoles::Assignment running = running_.now();
  Assignment out;
  const auto found = queries_.find(running.query);
  if (found == queries_.end()) return out;
  out.home = found->second;
  out.around = out.home->plan.around();
  for (const auto& [role, operators] : running.roles)
    out.roles[role] = out.home->plan.add_role(role, operators);
  out.units.insert(out.home->units.begin(), out.home->units.end());
  return out;
}

// When the last task ends all stays as it is: the next one is as a rule of the same stage.
void Spark::assign() {
  Assignment next = assignment();
  const bool same =
      next.home == assigned_.home && next.roles == assigned_.roles && next.units == assigned_.units;
  if (same) return;
  if (next.home) next.home->plan.send();
  const Assignment before = std::exchange(assigned_, std::move(next));
  std::vector<std::uint64_t> changed;
  for (const auto& [id, code] : mixed_code_) {
    if (!assigned_.same_for(code, before)) changed.push_back(id);
  }
  const std::uint64_t now = assigned_since_ = read_tsc();
  for (std::uint64_t id : changed) reload_mixed(id, std::move(mixed_code_.extract(id).mapped()), now);
}

CodeBuilder Spark::mixed_builder(const CompiledCode& code) const {
  if (!assigned_.has(code)) return nobodys_code(code);
  return assigned_.home->plan.mixed_code(code, assigned_.roles, assigned_.around);
}

void Spark::reload_mixed(std::uint64_t id, CompiledCode code, std::uint64_t now) {
  const std::uint64_t next = tailor_code_new();
  CodeBuilder builder = mixed_builder(code);
  if (!builder || !numbers_->renumber(code.base, id, next)) return;
  tailor_code_unload(id);
  tailor_code_builder_load_since(builder.get(), next, now);
  if (!numbers_->confirm(code.base, next)) return;
  code.id = next;
  mixed_code_.emplace(next, std::move(code));
}

void Spark::ship_mixed(CompiledCode& code, const std::function<void(CodeBuilder)>& load) {
  const std::lock_guard lock(mutex_);
  code.since = std::max(code.since, assigned_since_);
  CodeBuilder builder = mixed_builder(code);
  if (builder) mixed_code_.emplace(code.id, code);
  load(std::move(builder));
}

void Spark::ship(CompiledCode& code, const std::function<void(CodeBuilder)>& load) {
  const std::lock_guard lock(mutex_);
  const auto found = units_.find(code.unit);
  if (found == units_.end()) return load(nullptr);
  Unit& unit = found->second;
  if (!unit.home) unit.home = nobodys(unit);
  code.since = std::max(code.since, unit.home_since);
  CodeBuilder builder = unit.home->plan.code(code, unit.generated);
  if (builder) unit.code.emplace(code.id, code);
  load(std::move(builder));
}

void Spark::code_ended(std::uint64_t id, std::uint64_t unit) {
  const std::lock_guard lock(mutex_);
  if (unit == kMixed) {
    mixed_code_.erase(id);
    return;
  }
  const auto found = units_.find(unit);
  if (found == units_.end()) return;
  found->second.code.erase(id);
  forget_if_gone(found);
}

}  // namespace tailor::jvm
