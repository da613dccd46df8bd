#include "daemon/journal/replay.h"

#include <optional>

#include "daemon/journal/journal_codec.h"
#include "daemon/journal/journal_reader.h"
#include "daemon/store/file_writer.h"

namespace tailor::journal {

Result<ReplayReport> replay(store::Input& journal, profile::ProfileSink& sink, bool slot_states) {
  JournalReader reader(journal);
  Status header = reader.check_header();
  if (!header.ok()) return header.error();
  std::optional<pipeline::Pipeline> pipeline;
  ReplayReport report;
  v1::JournalRecord record;
  while (true) {
    auto more = reader.next(record);
    if (!more.ok()) return more.error();
    if (!*more) break;
    ++report.records;
    if (record.has_start() != !pipeline.has_value() || report.complete)
      return reader.damage("is out of place");
    if (record.has_start()) {
      pipeline::PipelineOptions options = decode(record.start());
      options.slot_states = slot_states;
      pipeline.emplace(sink, options);
    } else if (record.has_end()) {
      report.complete = true;
    } else if (Status given = deliver(record, *pipeline); !given.ok()) {
      return reader.damage("makes no sense: " + given.error().message);
    }
  }
  return report;
}

Result<ReplayReport> replay_file(const std::string& journal, const std::string& output,
                                 const store::OutputOptions& how) {
  auto input = store::open_file(journal);
  if (!input.ok()) return input.error();
  auto file = store::FileWriter::create(output, how);
  if (!file.ok()) return file.error();
  auto report = replay(**input, **file);
  if (!report.ok()) return report;
  if (Status finished = (*file)->finish(); !finished.ok()) return finished.error();
  return report;
}

}  // namespace tailor::journal
