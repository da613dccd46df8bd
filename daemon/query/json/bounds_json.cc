#include "daemon/query/json/bounds_json.h"

#include <nlohmann/json.hpp>
#include <string>

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
  out["items"] = row.items;
  out["accesses"] = row.accesses;
  out["expected"] = moved_json(row.expected);
  out["least"] = row.least ? moved_json(*row.least) : Json();
  return out;
}

}  // namespace

Json json_of(const Profile& profile, const BoundsReport& report) {
  Json out;
  out["recording"] = recording_json(profile);
  out["cache_bytes"] = report.cache_bytes;
  out["line_bytes"] = report.line_bytes;
  out["plans"] = Json::array();
  for (const BoundsPart& part : report.plans) {
    Json plan = {{"process", process_json(part.process)},
                 {"plan", part.plan},
                 {"name", part.name},
                 {"unknown", part.unknown},
                 {"expected", moved_json(part.expected)},
                 {"least_bytes", part.least},
                 {"silent_operators", part.silent_operators},
                 {"rows", Json::array()}};
    for (const BoundsRow& row : part.rows) plan["rows"].push_back(bounds_row_json(row));
    out["plans"].push_back(std::move(plan));
  }
  out["silent"] = report.silent;
  out["left_out"] = report.left_out;
  out["file"] = damage_json(profile);
  return out;
}

}  // namespace tailor::query
