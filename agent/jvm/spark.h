// Spark's queries in this JVM: their dictionaries and executions, and which query the compiled code of a
// generated class works for. Spark compiles a class once for all queries that have the same source; a code
// object belongs to one dictionary. So the code goes from query to query: whichever has a task next takes it.
// While tasks of two queries that use it run at once it belongs to neither, but to a dictionary of its own,
// and its samples are shown apart.
//
// Operators without generated code are known by their classes: such code belongs to the query that has tasks,
// and to the operators that can run it there. While tasks of several queries run it works for its callers.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/jvm/code_numbers.h"
#include "agent/jvm/compiled_code.h"
#include "agent/jvm/query_plan.h"
#include "agent/jvm/running_roles.h"

namespace tailor::jvm {

// Any thread.
class Spark {
 public:
  Spark();

  // Takes the numbers that code objects get when they change their query.
  void set_numbers(CodeNumbers* numbers) { numbers_ = numbers; }

  // A source was compiled. The same source gives the same unit again: Spark compiles it in the driver, and
  // with another class loader in a task.
  std::uint64_t add_unit(GeneratedUnit unit);
  // Its classes are gone. What is left of its code stays until the shipper has heard of its unloading.
  void forget_unit(std::uint64_t unit);

  // A SQL execution begins; `labels` are pairs of key and value.
  std::uint64_t begin_query(const std::string& name,
                            const std::vector<std::pair<std::string, std::string>>& labels);
  // Its plan, while it is made: 0 or nothing for a query that is over.
  std::uint32_t add_operator(std::uint64_t query, const std::string& name, const std::string& kind,
                             const std::string& detail);
  void add_input(std::uint64_t query, std::uint32_t of, std::uint32_t input);
  void set_number(std::uint64_t query, std::uint32_t of, const std::string& key, double value);
  void send(std::uint64_t query);
  // A stage of the query runs this unit, whose operators are these components. `first` and the result are
  // those of QueryPlan::add_unit.
  std::uint32_t use_unit(std::uint64_t query, std::uint64_t unit, const std::vector<std::uint32_t>& operators,
                         std::uint32_t first);
  // Of its execution: 32 hexadecimal digits. Empty for a query that is over.
  std::string identity(std::uint64_t query);
  void end_query(std::uint64_t query, const std::string& error);

  // In tasks of the stage, code of the role works for one of these operators, which have no generated code;
  // for its callers if there is none.
  void set_role(std::uint64_t query, std::int32_t stage, const std::string& role,
                const std::vector<std::uint32_t>& operators);

  // The calling thread runs a task of a stage of the query (0: of none) from now on, until leave(). Returns
  // the execution, 0: the query is over.
  std::uint64_t enter(std::uint64_t query, std::int32_t stage);
  void leave(std::uint64_t query, std::int32_t stage, std::uint64_t execution);
  // The calling thread's task has what it runs, and begins with it. Once in a task of a query.
  void started();

  // The shipper's thread: makes a code object for code of a unit (NULL: none) and has load() load it. The
  // code counts at the earliest since it belongs to whom it belongs now: `code.since` grows.
  void ship(CompiledCode& code, const std::function<void(CodeBuilder)>& load);
  // The same for a method that is of no unit, but has a role, or parts of units in it.
  void ship_mixed(CompiledCode& code, const std::function<void(CodeBuilder)>& load);
  void code_ended(std::uint64_t id, std::uint64_t unit);

  // Dictionaries that the agent keeps.
  std::size_t live_plans() const;

  // Stands for the unit of such a method.
  static constexpr std::uint64_t kMixed = UINT64_MAX;

 private:
  static constexpr std::size_t kMostUnits = 2000;

  struct Query {
    std::uint64_t id = 0, execution = 0;
    std::uint32_t tasks = 0;           // that run
    std::vector<std::uint64_t> units;  // that its stages use
    QueryPlan plan;
    explicit Query(const std::string& name) : plan(name) {}
  };
  struct Unit {
    GeneratedUnit generated;
    std::shared_ptr<Query> home, nobody;
    std::uint64_t home_since = 0;                // when it became that one's
    std::map<std::uint64_t, CompiledCode> code;  // that is loaded, by id
    bool gone = false;                           // its classes
  };
  std::shared_ptr<Query> find(std::uint64_t query);
  void move_home(Unit& unit, std::shared_ptr<Query> home);
  void claim(Unit& unit, const std::shared_ptr<Query>& user);
  const std::shared_ptr<Query>& nobodys(Unit& unit);
  void forget_old_units();
  void forget_if_gone(std::map<std::uint64_t, Unit>::iterator at);
  // What the code of methods that are of no unit belongs to.
  struct Assignment {
    std::shared_ptr<Query> home;                 // NULL: to its callers
    std::map<std::string, std::uint32_t> roles;  // components of its plan
    std::set<std::uint64_t> units;               // that its plan has
    std::uint32_t around = 0;                    // the component of what is neither

    bool has(const CompiledCode& code) const;
    bool same_for(const CompiledCode& code, const Assignment& other) const;
  };
  Assignment assignment() const;
  void assign();
  void reload_mixed(std::uint64_t id, CompiledCode code, std::uint64_t now);
  CodeBuilder mixed_builder(const CompiledCode& code) const;

  // Components of a task's time outside of generated code, and before that, while it makes objects of what it
  // is to run.
  const std::uint32_t outside_, starting_;
  CodeNumbers* numbers_ = nullptr;
  mutable std::mutex mutex_;                                 // guards what follows
  std::map<std::uint64_t, std::shared_ptr<Query>> queries_;  // that run
  std::map<std::uint64_t, Unit> units_;
  std::map<std::string, std::uint64_t> unit_of_source_;
  std::uint64_t last_query_ = 0, last_unit_ = 0;
  RunningRoles running_;
  Assignment assigned_;
  std::uint64_t assigned_since_ = 0;
  std::map<std::uint64_t, CompiledCode> mixed_code_;  // that is loaded, by id
};

}  // namespace tailor::jvm
