#include "daemon/serve/file_state.h"

#include "daemon/query/load/damage.h"

namespace tailor::serve {
namespace {

Result<query::Json> whole_file_state(Library& library, const Stop& stop) {
  const auto whole = library.load({Target::What::kAll}, Detail::kSums, stop, {});
  if (!whole) return whole.error();
  return query::damage_json(*whole->profile);
}

Result<query::Json> json_of_checked(const Result<Checked>& checked) {
  if (!checked) return checked.error();
  query::Json out = query::damage_json(checked->read, query::damage_text(checked->read, {}));
  if (checked->left_out_bytes > 0) out["unchecked_bytes"] = checked->left_out_bytes;
  if (!checked->unreadable.empty()) out["unreadable"] = checked->unreadable;
  return out;
}

}  // namespace

Result<query::Json> file_state(Library& library, const std::vector<store::ExecutionRow>& rows,
                               std::uint64_t most_bytes, const Stop& stop) {
  if (!library.file().empty()) return whole_file_state(library, stop);
  return json_of_checked(library.check_behind(rows, most_bytes, stop));
}

Result<query::Json> file_state_of_time(Library& library, const store::WallRange& range,
                                       std::uint64_t most_bytes, const Stop& stop) {
  if (!library.file().empty()) return whole_file_state(library, stop);
  return json_of_checked(library.check(range, most_bytes, stop));
}

}  // namespace tailor::serve
