#include "daemon/query/sums/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "daemon/query/symbols/symbols.h"
#include "proto/base/utf8.h"

namespace tailor::query {
namespace {

std::string where_of(const Profile& profile, const PlaceKey& key, Symbols& symbols) {
  if (key.address == 0) return "unknown address";
  const auto [mapped, several] = profile.timelines().only_at(key.process, key.address);
  const bool of_file = mapped.kind == MappedCode::Kind::kFile || mapped.kind == MappedCode::Kind::kMemory;
  if (several) return fmt::format("{:#x}, where one file was after the other", key.address);
  if (!of_file) return fmt::format("{:#x}", key.address);
  const CodeFile& file = profile.timelines().files()[mapped.file];
  if (file.path.starts_with('[')) return replace_non_utf8(file.path);
  const profile::RecordingInfo& info = profile.recording();
  // What it had mapped when it was first sampled was there then.
  const auto process = profile.processes().find(key.process);
  const TimeNs first = process == profile.processes().end() ? info.start : process->second.first_seen;
  const TimeNs since_start = std::max({file.mapped, first, info.start}) - info.start;
  const RecordedFile recorded{static_cast<std::int64_t>(info.wall_clock_ns) + since_start, file.build_id,
                              info.machine};
  return replace_non_utf8(symbols.name(file.path, key.address - mapped.bias, recorded));
}

}  // namespace

std::vector<Place> unattributed_places(const Profile& profile, const Selection& selection,
                                       std::uint16_t source, std::size_t most) {
  Symbols symbols(profile.names());
  std::map<std::tuple<profile::Reason, bool, std::string>, Amount> sums;
  for (const auto& [key, sum] : profile.places()) {
    const auto [process, execution] = profile.led_by(key.process, key.execution);
    if (key.source != source || !selected(selection, process, execution)) continue;
    CellKey as_cell;
    as_cell.kernel = key.kernel;
    sums[{key.reason, key.kernel, where_of(profile, key, symbols)}].add(cell_of(sum), as_cell, 1, false);
  }
  std::vector<Place> places;
  for (auto& [key, amount] : sums)
    places.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), amount});
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.amount.weight > b.amount.weight; });
  if (places.size() > most) places.resize(most);
  return places;
}

}  // namespace tailor::query
