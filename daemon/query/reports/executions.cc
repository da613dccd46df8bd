#include "daemon/query/reports/executions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/query/load/profile_loader.h"
#include "daemon/query/load/recording_chain.h"
#include "daemon/query/sums/keys.h"
#include "daemon/store/store_reader.h"

namespace tailor::query {

namespace {

// The time in which executions ran, by the clock of their recording.
struct Span {
  TimeNs from = kTimeMax, to = kTimeMin;

  void add(const profile::ExecutionRecord& execution) {
    from = std::min(from, execution.begin);
    to = std::max(to, execution.end);
  }
};
using Spans = std::map<store::RecordingNumber, Span>;

Result<LoadedExecutions> load_one(const std::string& directory, const store::Catalogue& catalogue,
                                  std::span<const store::ExecutionRow> rows, const Span& span,
                                  const LoadOptions& options) {
  LoadOptions range = options;
  range.from = span.from;
  range.to = span.to;
  Selection selection;
  for (const store::ExecutionRow& row : rows)
    selection.executions.insert({row.record.process, row.record.handle});
  auto profile = Profile::load_store(directory, catalogue, rows.front().recording, range);
  if (!profile.ok()) return profile.error();
  return LoadedExecutions{std::move(*profile), std::move(selection)};
}

Result<LoadedExecutions> load_several(const std::string& directory, const store::Catalogue& catalogue,
                                      std::span<const store::ExecutionRow> rows, const Spans& spans,
                                      const LoadOptions& options) {
  std::vector<store::RecordingNumber> numbers;
  for (const auto& [number, span] : spans) numbers.push_back(number);
  auto chain = chain_recordings(directory, catalogue, numbers, options.functions, options.stop);
  if (!chain) return chain.error();
  if (chain->links.empty()) return not_found("the store no longer holds what these executions did");
  LoadOptions range = options;
  range.from = kTimeMax;
  range.to = kTimeMin;
  std::map<store::RecordingNumber, const ChainLink*> links;
  for (const ChainLink& link : chain->links) {
    links[link.number] = &link;
    range.from = std::min(range.from, link.time(spans.at(link.number).from));
    range.to = std::max(range.to, link.time(spans.at(link.number).to));
  }
  Selection selection;
  std::map<Unchained, std::size_t> left_out;
  for (const store::ExecutionRow& row : rows) {
    if (const auto link = links.find(row.recording); link != links.end()) {
      selection.executions.insert({link->second->process(row.record.process), row.record.handle});
    } else {
      ++left_out[chain->left_out.at(row.recording)];
    }
  }
  auto profile = Profile::load_from(range, [&](ProfileLoader& loader) -> Status {
    RecordingChain whole(chain->links, loader);
    for (const ChainLink& link : chain->links) {
      whole.enter(link);
      const Span& span = spans.at(link.number);
      Status read = store::read_store(directory, catalogue, {link.number, span.from, span.to}, whole,
                                      loader.read_report(), loader.said_loss(),
                                      asked_after_blocks(loader, options.stop), &whole);
      if (!read) return read;
    }
    whole.finish();
    return Ok{};
  });
  if (!profile) return profile.error();
  return LoadedExecutions{std::move(*profile), std::move(selection), std::move(left_out)};
}

}  // namespace

Result<LoadedExecutions> load_executions(const std::string& directory, const store::Catalogue& catalogue,
                                         std::span<const store::ExecutionRow> rows,
                                         const LoadOptions& options) {
  Spans spans;
  for (const store::ExecutionRow& row : rows) spans[row.recording].add(row.record);
  if (spans.size() == 1) return load_one(directory, catalogue, rows, spans.begin()->second, options);
  return load_several(directory, catalogue, rows, spans, options);
}

Result<std::vector<store::ExecutionRow>> find_executions(const store::Catalogue& catalogue,
                                                         std::span<const ExecutionId> ids) {
  std::vector<store::ExecutionRow> rows;
  for (const ExecutionId& id : ids) {
    auto found = catalogue.find_executions(hex(id));
    if (!found.ok()) return found.error();
    if (found->empty()) return not_found(fmt::format("no execution {} is known", hex(id)));
    rows.push_back(std::move(found->front()));
  }
  return rows;
}

}  // namespace tailor::query
