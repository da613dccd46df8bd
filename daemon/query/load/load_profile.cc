#include <optional>
#include <utility>

#include "daemon/query/load/profile.h"
#include "daemon/query/load/profile_loader.h"
#include "daemon/store/store_reader.h"
#include "proto/base/errors.h"

namespace tailor::query {
store::MayGoOn asked_after_blocks(ProfileLoader& loader, const Stop* stop) {
  return [&loader, stop](std::uint64_t read) -> Status {
    if (stop != nullptr && stop->stopped()) return stop->error();
    return loader.may_go_on(read);
  };
}

Result<Profile> Profile::load_from(const LoadOptions& options,
                                   const std::function<Status(ProfileLoader&)>& read) {
  std::optional<ProfileLoader> first(std::in_place, options);
  Status done = read(*first);
  if (!done && first->needs_shares()) {
    first.emplace(options, OnlyMeasure());
    if (Status measured = read(*first); !measured) return measured.error();
    ProfileShares shares = first->take_shares();
    first.emplace(options, std::move(shares));
    done = read(*first);
  }
  if (!done) return done.error();
  if (!first->learned_late()) return first->finish();
  ProfileLoader again(options, std::move(*first));
  if (Status once_more = read(again); !once_more) return once_more.error();
  return again.finish();
}

Result<Profile> Profile::load(store::Input& input, const LoadOptions& options) {
  return load_from(options, [&](ProfileLoader& loader) {
    return store::read_profile(input, loader, loader.read_report(), loader.said_loss(),
                               asked_after_blocks(loader, options.stop), &loader);
  });
}

Result<Profile> Profile::load_file(const std::string& path, const LoadOptions& options) {
  auto input = store::open_file(path);
  if (!input) return input.error();
  auto profile = load(**input, options);
  if (!profile && profile.error().kind == ErrorKind::kUnavailable) return profile;  // no fault of the file
  if (!profile) return in_context(path + ": ", profile.error());
  return profile;
}

Result<Profile> Profile::load_store(const std::string& directory, const store::Catalogue& catalogue,
                                    store::RecordingNumber recording, const LoadOptions& options) {
  const store::StoreSelection selection{recording, options.from, options.to};
  return load_from(options, [&](ProfileLoader& loader) {
    return store::read_store(directory, catalogue, selection, loader, loader.read_report(),
                             loader.said_loss(), asked_after_blocks(loader, options.stop), &loader);
  });
}

}  // namespace tailor::query
