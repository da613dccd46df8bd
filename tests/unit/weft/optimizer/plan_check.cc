#include "tests/unit/weft/optimizer/plan_check.h"

#include <fmt/format.h>

#include <set>

#include "compiler/weft/plan/print.h"
#include "compiler/weft/plan/rewrite.h"

namespace tailor::weft {
namespace {

class Checker {
 public:
  std::string check(const Plan& plan) {
    visit(*plan.root);
    if (error_.empty() && (ids_.size() != plan.operator_count || *ids_.rbegin() != plan.operator_count)) {
      return "operator numbers are not dense";
    }
    return error_;
  }

 private:
  void fail(const Operator& op, const std::string& what) {
    if (error_.empty()) error_ = fmt::format("{} #{}: {}", title(op), op.id, what);
  }

  void need(const Operator& op, const IuSet& has, const Iu* iu, const char* why) {
    if (!has.contains(iu)) fail(op, fmt::format("{} {} is not provided", why, iu->name));
  }

  void need_all(const Operator& op, const IuSet& has, const std::vector<ExprPtr>& exprs) {
    IuSet used;
    collect_ius(exprs, &used);
    for (const Iu* iu : used) need(op, has, iu, "a predicate's");
    for (const ExprPtr& e : exprs) {
      if (e->type.id != TypeId::kBool) fail(op, "a predicate is not bool: " + to_string(*e));
    }
  }

  void check_keys(const Operator& op, const std::vector<HashJoin::Key>& keys) {
    IuSet build = provided(*op.inputs[0]), probe = provided(*op.inputs[1]);
    for (const auto& key : keys) {
      need(op, build, key.build, "the build key");
      need(op, probe, key.probe, "the probe key");
      if (!key.build->type.same_but_null(key.probe->type)) fail(op, "keys of different types");
    }
  }

  void check_aggregates(const Operator& op, const IuSet& has, const std::vector<Aggregate>& aggregates,
                        IuSet* made) {
    for (const auto& a : aggregates) {
      if (a.argument != nullptr) need(op, has, a.argument, "the argument");
      if ((a.argument == nullptr) != (a.function == AggregateFunction::kCountRows))
        fail(op, "an argument too many or few");
      made->insert(a.result);
    }
  }

  static IuSet provided(const Operator& op) { return IuSet(op.outputs.begin(), op.outputs.end()); }

  void visit(const Operator& op) {
    for (const auto& input : op.inputs) visit(*input);
    if (op.id == 0 || !ids_.insert(op.id).second) fail(op, "a number used twice");
    if (op.estimated_rows < 0 || op.estimated_rows != op.estimated_rows) fail(op, "a bad estimate");
    IuSet has, made;
    for (const auto& input : op.inputs) has.merge(provided(*input));
    switch (op.kind()) {
      case OperatorKind::kScan: {
        const auto& scan = as<Scan>(op);
        for (const auto& column : scan.columns) made.insert(column.iu);
        need_all(op, made, scan.conjuncts);
        break;
      }
      case OperatorKind::kFilter:
        need_all(op, has, as<Filter>(op).conjuncts);
        made = has;
        break;
      case OperatorKind::kMap:
        made = has;
        for (const auto& c : as<Map>(op).computations) {
          for (const Iu* iu : ius_of(*c.expr)) need(op, made, iu, "the operand");
          if (!c.iu->type.same_but_null(c.expr->type)) fail(op, "a unit of another type than its expression");
          if (c.expr->type.nullable && !c.iu->type.nullable) fail(op, "a unit that hides nulls");
          made.insert(c.iu);
        }
        break;
      case OperatorKind::kHashJoin: {
        const auto& join = as<HashJoin>(op);
        check_keys(op, join.keys);
        need_all(op, has, join.residual);
        made = has;
        if (join.mark != nullptr) made.insert(join.mark);
        break;
      }
      case OperatorKind::kGroupBy:
        for (const Iu* key : as<GroupBy>(op).keys) need(op, has, key, "the key");
        made.insert(as<GroupBy>(op).keys.begin(), as<GroupBy>(op).keys.end());
        check_aggregates(op, has, as<GroupBy>(op).aggregates, &made);
        break;
      case OperatorKind::kGroupJoin:
        check_keys(op, as<GroupJoin>(op).keys);
        made = provided(*op.inputs[0]);
        check_aggregates(op, provided(*op.inputs[1]), as<GroupJoin>(op).aggregates, &made);
        break;
      case OperatorKind::kSort:
        for (const auto& key : as<Sort>(op).keys) need(op, has, key.iu, "the key");
        made = has;
        break;
      case OperatorKind::kLimit:
      case OperatorKind::kOutput:
        made = has;
        break;
    }
    for (const Iu* iu : op.outputs) need(op, made, iu, "the output");
  }

  std::string error_;
  std::set<std::uint32_t> ids_;
};

}  // namespace

std::string broken_promise(const Plan& plan) {
  return Checker().check(plan);
}

}  // namespace tailor::weft
