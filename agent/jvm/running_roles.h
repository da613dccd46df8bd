// Which operators the code of a role (role_of_class) may work for, by the tasks that run at the time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tailor::jvm {

// Callers take turns.
class RunningRoles {
 public:
  // By role: growing numbers of operators, each once.
  using Operators = std::map<std::string, std::vector<std::uint32_t>>;
  struct Assignment {
    std::uint64_t query = 0;  // whose tasks run; 0: nobody's, or those of several
    Operators roles;          // code of roles that are not here works for its callers
  };

  // A task of a stage of a query begins or ends. Query 0: it works for none.
  void begin(std::uint64_t query, std::int32_t stage) { ++running_[{query, stage}]; }
  void end(std::uint64_t query, std::int32_t stage);
  // In tasks of the stage the role's code works for one of these operators; for its callers if there is
  // none.
  void set(std::uint64_t query, std::int32_t stage, const std::string& role,
           const std::vector<std::uint32_t>& operators);
  // The query is over.
  void forget(std::uint64_t query);

  Assignment now() const;

 private:
  using Stage = std::pair<std::uint64_t, std::int32_t>;
  std::map<Stage, std::uint32_t> running_;  // tasks
  std::map<Stage, Operators> roles_;
};

}  // namespace tailor::jvm
