// Plans and expressions as text: for explain, for attributes in the plan dictionary, for tests.
#pragma once

#include <string>

#include "compiler/weft/plan/operator.h"

namespace tailor::weft {

// SQL-like; units appear by name.
std::string to_string(const Expr& expr);
// Conjuncts joined by "and".
std::string to_string(const std::vector<ExprPtr>& conjuncts);

// "scan", "hash_join" ...: the kind in the plan dictionary.
const char* kind_name(OperatorKind kind);
// "inner", "left outer" ...
const char* join_name(JoinKind kind);
// "Scan lineitem", "Semi join": one operator in a few words.
std::string title(const Operator& op);
// What it does beyond the title: predicates, keys, aggregates. May be empty.
std::string details(const Operator& op);

// A tree, one operator per line: number, title, estimated rows, details; inputs below, the build side first.
std::string to_string(const Plan& plan);

}  // namespace tailor::weft
