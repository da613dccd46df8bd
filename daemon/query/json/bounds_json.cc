#include "daemon/query/json/bounds_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace tailor::query {
namespace {

Json moved_json(const MovedBytes& moved) {
  return {{"read_bytes", moved.read}, {"written_bytes", moved.written}};
}

Json bounds_row_json(const BoundsRow& row) {
  Json out = {{"operator", row.operator_id},
              {"operator_name", row.operator_name},
              {"cost", row.cost ? cost_json(*row.cost) : Json()},
              {"region", row.region},
              {"pattern", std::string(row.pattern)},
              {"pipeline", row.pipeline},
              {"step", row.step},
              {"reads", row.reads},
              {"writes", row.writes}};
  if (!row.unknown.empty()) {
    out["unknown"] = row.unknown;
    return out;
  }
  out["at_least"] = row.at_least;
  out["assumes_even"] = row.assumes_even;
  out["items"] = row.items;
  out["accesses"] = row.accesses;
  out["expected"] = moved_json(row.expected);
  out["least"] = row.least ? moved_json(*row.least) : Json();
  return out;
}

Json number_or_null(const std::optional<double>& number) {
  return number ? Json(*number) : Json();
}

Json rate_json(double rate) {
  return rate > 0 ? Json(rate) : Json();
}

Json bound_json(const OperatorBound& bound) {
  Json measured;
  if (bound.measured)
    measured = {
        {"ns", bound.measured->ns}, {"low_ns", bound.measured->low}, {"high_ns", bound.measured->high}};
  return {{"operator", bound.id},
          {"name", bound.name},
          {"measured", std::move(measured)},
          {"least_bytes", bound.least_bytes},
          {"cycles", number_or_null(bound.cycles)},
          {"assumes_even", bound.assumes_even},
          {"needs_more", bound.needs_more},
          {"memory_ns", number_or_null(bound.memory_ns)},
          {"compute_ns", number_or_null(bound.compute_ns)},
          {"distance", number_or_null(bound.distance())},
          {"bound_by", std::string(bound_role_key(bound.role))}};
}

}  // namespace

Json json_of(const Profile& profile, const BoundsReport& report) {
  Json out;
  out["recording"] = recording_json(profile);
  out["cache_bytes"] = report.cache_bytes;
  out["line_bytes"] = report.line_bytes;
  out["bytes_per_second"] = rate_json(report.rates.bytes);
  out["cycles_per_second"] = rate_json(report.rates.cycles);
  out["plans"] = Json::array();
  for (const BoundsPart& part : report.plans) {
    Json plan = {{"process", process_json(part.process)},
                 {"plan", part.plan},
                 {"name", part.name},
                 {"unknown", part.unknown},
                 {"expected", moved_json(part.expected)},
                 {"least_bytes", part.least},
                 {"silent_operators", part.silent_operators},
                 {"not_measured", part.not_measured},
                 {"whole", bound_json(part.whole)},
                 {"operators", Json::array()},
                 {"rows", Json::array()}};
    for (const BoundsRow& row : part.rows) plan["rows"].push_back(bounds_row_json(row));
    for (const OperatorBound& bound : part.operators) plan["operators"].push_back(bound_json(bound));
    out["plans"].push_back(std::move(plan));
  }
  out["silent"] = report.silent;
  out["left_out"] = report.left_out;
  out["file"] = damage_json(profile);
  return out;
}

}  // namespace tailor::query
