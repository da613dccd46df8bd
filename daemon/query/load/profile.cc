#include "daemon/query/load/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tailor::query {
namespace {

template <typename Map, typename Key>
auto* find_or_null(const Map& map, const Key& key) {
  const auto it = map.find(key);
  return it == map.end() ? nullptr : &it->second;
}

void count(Cell& cell, std::uint64_t sample_weight) {
  const auto weight = static_cast<double>(sample_weight);
  ++cell.samples;
  cell.weight += weight;
  cell.weight_squares += weight * weight;
}

std::string counts_of(const LeftOut& left) {
  const std::pair<std::uint64_t, const char*> parts[] = {{left.plans, "plans"},
                                                         {left.code, "code objects"},
                                                         {left.names, "names"},
                                                         {left.texts, "labels and errors of executions"},
                                                         {left.marks, "marks of its threads"}};
  std::string out;
  for (const auto& [number, what] : parts) {
    if (number > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", number, what);
  }
  return out;
}

}  // namespace

const std::string& CodeInfo::function_at(std::uint64_t address) const {
  constexpr int kNested = 8;  // functions seldom lie within each other
  static const std::string kNone;
  if (functions.empty()) return name;
  if (address < base) return kNone;
  auto at = std::ranges::upper_bound(functions, address - base, {}, &Function::begin);
  for (int tries = 0; tries < kNested && at != functions.begin(); ++tries) {
    if (address - base < (--at)->end) return at->name;
  }
  return kNone;
}

Profile Profile::only(const std::function<bool(const TimedSample&)>& keep, std::string what) const {
  std::map<CellKey, Cell> cells;
  FunctionSums::Cells functions;
  CodeSummer code;
  const bool with_functions = !data_->functions.cells.empty();
  for (const TimedSample& sample : data_->samples) {
    if (!keep(sample)) continue;
    const CellKey& key = *sample.key;
    count(cells[key], sample.weight);
    if (with_functions)
      count(functions[{sample.node, key.source, key.process, key.execution}], sample.weight);
    if (sample.spot != 0) code.add(code.spot_of(data_->code_sums.spots[sample.spot]), &key, sample.weight);
  }
  Profile some = *this;
  some.cells_ = std::make_shared<Cells>(cells.begin(), cells.end());
  some.function_cells_ = std::make_shared<FunctionSums::Cells>(std::move(functions));
  some.code_sums_ = std::make_shared<CodeSums>(code.take([](const CellKey* key) { return key; }));
  some.narrowed_to_ = std::move(what);
  return some;
}

Profile Profile::with_cells(Cells cells) const {
  Profile other = *this;
  other.cells_ = std::make_shared<const Cells>(std::move(cells));
  return other;
}

std::vector<std::int64_t> Profile::hours() const {
  std::vector<std::int64_t> hours;
  for (const auto& [hour, sums] : data_->sums_of_hours) hours.push_back(hour);
  return hours;
}

Profile Profile::hour(std::int64_t hour) const {
  Cells cells;
  if (const auto* sums = find_or_null(data_->sums_of_hours, hour)) {
    for (const auto& [key, sum] : *sums) cells.emplace_back(key, profile::cell_of(sum));
  }
  Profile some = with_cells(std::move(cells));
  some.narrowed_to_ = "one hour";
  return some;
}

const profile::Sum* Profile::sum_of_hour(std::int64_t hour, const CellKey& key) const {
  const auto* sums = find_or_null(data_->sums_of_hours, hour);
  if (sums == nullptr) return nullptr;
  const auto at = std::ranges::lower_bound(*sums, key, {}, &std::pair<CellKey, profile::Sum>::first);
  return at == sums->end() || at->first != key ? nullptr : &at->second;
}

const PlanModel* Profile::plan(ProcessId process, PlanId id) const {
  return find_or_null(data_->plans, InProcess<PlanId>{process, id});
}

const CodeInfo* Profile::code(ProcessId process, CodeId id) const {
  return find_or_null(data_->codes, InProcess<CodeId>{process, id});
}

bool Profile::has_code(ProcessId process) const {
  const auto first = data_->codes.lower_bound({process, 0});
  return first != data_->codes.end() && first->first.first == process;
}

const v1::CodeObject* Profile::code_object(ProcessId process, CodeId id) const {
  return find_or_null(data_->code_objects, InProcess<CodeId>{process, id});
}

const profile::ExecutionRecord* Profile::execution(ProcessId process, ExecutionHandle handle) const {
  return data_->executions.find(process, handle);
}

InProcess<ExecutionHandle> Profile::led_by(ProcessId process, ExecutionHandle execution) const {
  const Lead* lead = find_or_null(data_->leads, std::pair(process, execution));
  return lead == nullptr ? InProcess<ExecutionHandle>{process, execution}
                         : InProcess<ExecutionHandle>{lead->process, lead->execution};
}

CellKey Profile::for_leader(const CellKey& key) const {
  const Lead* lead =
      key.execution == 0 ? nullptr : find_or_null(data_->leads, std::pair(key.process, key.execution));
  if (lead == nullptr || key.region != 0) return key;  // kinds of regions are numbered by each process
  CellKey of_leader = key;
  of_leader.process = lead->process;
  of_leader.execution = lead->execution;
  if (key.engine_component != 0 && engine_component_name(key.process, key.engine_component) !=
                                       engine_component_name(lead->process, key.engine_component))
    return key;
  if (key.plan == 0) return of_leader;
  // Components have the same numbers in both plans: the worker's has fewer of them.
  const PlanModel *own = plan(key.process, key.plan), *whole = plan(lead->process, lead->plan);
  // Sets of components are numbered by each code object.
  const bool names_set = key.code != 0 && (key.link & 1) != 0;
  const bool fits = key.plan == lead->worker_plan && !names_set && own != nullptr && whole != nullptr &&
                    key.level < own->level_count() && key.level < whole->level_count() &&
                    own->component_count(key.level) <= whole->component_count(key.level);
  if (!fits) return key;
  of_leader.plan = lead->plan;
  of_leader.code = 0;
  if (whole->plan().pipelines_size() == 0)
    of_leader.pipeline = 0;  // what the worker calls so, others may not
  return of_leader;
}

const std::string* Profile::attachment(ProcessId process, PlanId id, std::string_view kind) const {
  const PlanModel* model = plan(process, id);
  if (model == nullptr) return nullptr;
  for (const v1::Attachment& attachment : model->plan().attachments()) {
    if (attachment.kind() != kind) continue;
    if (!attachment.content().empty()) return &attachment.content();
    return find_or_null(data_->attachments, InProcess<std::string>{process, attachment.sha256()});
  }
  return nullptr;
}

std::string Profile::engine_component_name(ProcessId process, std::uint32_t id) const {
  const std::string* name = find_or_null(data_->components, InProcess<std::uint32_t>{process, id});
  return name == nullptr ? fmt::format("component {}", id) : *name;
}

std::string Profile::region_name(ProcessId process, std::uint32_t kind) const {
  const v1::RegionKind* known = find_or_null(data_->region_kinds, InProcess<std::uint32_t>{process, kind});
  return known == nullptr ? fmt::format("region kind {}", kind) : known->name();
}

std::string Profile::wait_event(std::uint32_t number) const {
  const std::vector<std::string>& names = data_->recording.wait_names;
  if (number == 0) return "";
  return number <= names.size() ? names[number - 1] : fmt::format("wait {}", number);
}

std::string Profile::thread_name(ProcessId process, std::int32_t tid) const {
  const std::string* name = find_or_null(data_->threads, InProcess<std::int32_t>{process, tid});
  return name == nullptr ? std::string() : *name;
}

profile::Source Profile::source(std::uint16_t index) const {
  for (const profile::Source& source : data_->recording.sources) {
    if (source.index == index) return source;
  }
  return {index, fmt::format("source {}", index), profile::Unit::kEvents, 0, false};
}

std::string Profile::left_out_text() const {
  constexpr std::size_t kMost = 3;
  std::string out;
  std::size_t told = 0;
  for (const auto& [id, left] : left_out()) {
    if (++told > kMost) break;
    const profile::ProcessRecord* process = find_or_null(processes(), id);
    const std::string program =
        process == nullptr || process->comm.empty() ? std::string() : fmt::format(" ({})", process->comm);
    out += fmt::format(
        "{}Of process {}{}, {}{} are left out: what it said takes more than its share of memory, "
        "which is {:.1f} MB.",
        out.empty() ? "" : " ", id.pid, program, left.at_least ? "at least " : "", counts_of(left),
        static_cast<double>(left.may_keep) / (1 << 20));
  }
  if (left_out().size() > kMost)
    out += fmt::format(" Something is left out of {} more processes.", left_out().size() - kMost);
  if (data_->late_left_out > 0)
    out += fmt::format(
        "{}{} pieces of generated code have no name at some place: more lay there, or in one process, than "
        "are kept.",
        out.empty() ? "" : " ", data_->late_left_out);
  return out;
}

}  // namespace tailor::query
