#include "daemon/query/load/damage.h"

#include <fmt/format.h>

#include <string_view>

#include "daemon/store/store_reader.h"

namespace tailor::query {
namespace {

std::string counted(std::uint64_t number, std::string_view one, std::string_view rest) {
  return fmt::format("{} {}{} {}{}", number, one, number == 1 ? "" : "s", number == 1 ? "is" : "are", rest);
}

bool has_holes(const store::ReadReport& read) {
  return read.damaged_spots + read.malformed_blocks + read.missing_blocks + read.missing_samples > 0;
}

// With an END block the number of samples is known, without one nobody can tell.
std::string holes_text(const store::ReadReport& read) {
  std::string samples;
  if (read.finished && read.missing_samples > 0) {
    samples = fmt::format("{} of {} samples are missing", read.missing_samples,
                          read.missing_samples + read.samples);
  } else if (read.finished) {
    samples = "no sample is missing";
  } else {
    samples = "how many samples are missing is not known";
  }
  std::string out = fmt::format("The profile is damaged: {} ({}, {}, {})", samples,
                                counted(read.missing_blocks, "block", " missing"),
                                counted(read.damaged_spots, "spot", " unreadable"),
                                counted(read.malformed_blocks, "block", " malformed"));
  if (!read.first_problem.empty()) out += "; first " + read.first_problem;
  return out + ".";
}

std::string end_text(const Profile& profile) {
  const store::ReadReport& read = profile.read_report();
  std::string out = "The profile ends early";
  const TimeNs begin = profile.recording().start;
  if (profile.last_time() > begin && read.samples > 0)
    out += fmt::format(", {:.3f} s after its begin", static_cast<double>(profile.last_time() - begin) / 1e9);
  out += ": it is still being written, its recorder was killed, or the file was cut.";
  if (!has_holes(read) && !read.first_problem.empty()) {
    out += " There: " + read.first_problem + ".";
  } else if (read.tail_bytes > 0) {
    out += fmt::format(" Its last {} bytes form no block.", read.tail_bytes);
  }
  return out + " How much came after that is not known.";
}

std::string loss_text(const store::SaidLoss& loss) {
  if (loss.blocks == 0) return "";
  return fmt::format("While recording, {} blocks with {} samples could not be written: {}.", loss.blocks,
                     loss.samples, loss.reason);
}

// Its writer left them out, or the reader does.
std::string names_text(std::uint64_t functions) {
  if (functions == 0) return "";
  return fmt::format(
      "The names of {} function{} are left out, because they take more memory than a profile of this size "
      "may. Reports look for these functions in their files.",
      functions, functions == 1 ? "" : "s");
}

void add_sentence(std::string& text, const std::string& sentence) {
  if (!sentence.empty()) text += (text.empty() ? "" : " ") + sentence;
}

}  // namespace

std::string damage_text(const Profile& profile) {
  std::string out;
  if (has_holes(profile.read_report())) add_sentence(out, holes_text(profile.read_report()));
  if (!profile.read_report().finished) add_sentence(out, end_text(profile));
  add_sentence(out, loss_text(profile.said_loss()));
  add_sentence(out, names_text(profile.said_loss().names + profile.names_left_out()));
  add_sentence(out, profile.left_out_text());
  return out;
}

std::string damage_text(const store::ReadReport& read, const store::SaidLoss& loss) {
  std::string out;
  if (has_holes(read)) add_sentence(out, holes_text(read));
  add_sentence(out, loss_text(loss));
  add_sentence(out, names_text(loss.names));
  return out;
}

void StoreDamage::add(const store::ReadReport& part, const store::SaidLoss& said) {
  store::add_report(part, read);
  read.finished = read.finished && part.finished;
  store::add_loss(said, loss);
}

bool is_damaged(const Profile& profile) {
  return is_damaged(profile.read_report(), profile.said_loss());
}

bool is_damaged(const store::ReadReport& read, const store::SaidLoss& loss) {
  return has_holes(read) || !read.finished || loss.blocks > 0;
}

}  // namespace tailor::query
