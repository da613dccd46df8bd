#include "viewer/cli/span_profile.h"

#include <utility>

#include "daemon/profile/tee_sink.h"
#include "daemon/store/catalogue.h"
#include "daemon/store/file_writer.h"
#include "daemon/store/selecting_sink.h"
#include "daemon/store/store_directory.h"
#include "daemon/store/store_reader.h"
#include "proto/base/errors.h"

namespace tailor::cli {
namespace {

Result<store::RecordingNumber> newest_recording(const store::Catalogue& catalogue) {
  auto segments = catalogue.segments();
  if (!segments) return segments.error();
  if (segments->empty()) return not_found("the store of the daemon is empty");
  return segments->back().recording;
}

}  // namespace

Result<std::uint64_t> write_span(const Span& span, const std::string& output, const store::OutputOptions& how,
                                 const query::FindKept& kept, const query::SymbolCache* cache,
                                 const query::OnDamage& on_damage) {
  auto catalogue = store::Catalogue::open(store::catalogue_path(span.store), store::Catalogue::Mode::kRead);
  if (!catalogue) return catalogue.error();
  auto recording = newest_recording(*catalogue);
  if (!recording) return recording.error();
  auto parents = catalogue->parents_of(*recording, span.process);
  if (!parents) return parents.error();
  auto writer = store::FileWriter::create(output, how);
  if (!writer) return writer.error();
  query::HitFunctions hits;
  profile::TeeSink both({writer->get(), &hits});
  store::SelectingSink sink(both, span.process, span.from, span.to, std::move(*parents));
  store::ReadReport report;
  store::SaidLoss loss;
  const store::StoreSelection selection{*recording, span.from, span.to};
  if (auto ok = store::read_store(span.store, *catalogue, selection, sink, report, loss); !ok)
    return ok.error();
  const std::string damage = query::damage_text(report, loss);
  if (on_damage && !damage.empty()) on_damage(damage);
  for (const profile::FileNames& names : hits.names(kept, cache)) (*writer)->on_names(names);
  if (auto ok = (*writer)->finish(); !ok) return ok.error();
  return (*writer)->stats().samples;
}

}  // namespace tailor::cli
