// The objects that several reports have in their JSON (docs/report-json.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "daemon/query/load/profile.h"
#include "daemon/query/reports/plan_report.h"

namespace tailor::query {

// Keys in the order in which they are added.
using Json = nlohmann::ordered_json;

Json process_json(ProcessId process);
void add_cost(Json& out, const Share95& cost);
Json cost_json(const Share95& cost);
Json source_json(const profile::Source& source);
// What of the file or store could not be read.
Json damage_json(const Profile& profile);
// The same of what was read and is no profile, with what damage_text() says of it.
Json damage_json(const store::ReadReport& read, const std::string& text);
Json recording_json(const Profile& profile);

// Indented, with a newline at the end; bytes that are not UTF-8 become U+FFFD.
std::string dump(const Json& json);

}  // namespace tailor::query
