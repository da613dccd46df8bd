#include "daemon/query/code/code_timeline.h"

#include <algorithm>
#include <iterator>

namespace tailor::query {
namespace {

using Kind = MappedCode::Kind;

// What is there once `now` was mapped over `before`.
MappedCode shown_after(const MappedCode& before, const MappedCode& now) {
  const bool moved = now.kind == Kind::kAnonymous && before.kind == Kind::kFile && before.of_program;
  return moved ? before : now;
}

// The last of entries in the order of time that had begun at `time`.
template <typename Entries>
auto last_by(Entries& entries, TimeNs time) {
  return std::upper_bound(entries.begin(), entries.end(), time,
                          [](TimeNs at, const auto& entry) { return at < entry.from; });
}

}  // namespace

void CodeTimeline::count(std::size_t entries) {
  *budget_ -= std::min(*budget_, entries);
}

// What is told out of its time moves what is newer; that counts too, so that nobody can make it last.
template <typename Entries, typename Entry>
typename Entries::iterator CodeTimeline::insert(Entries& entries, Entry entry) {
  constexpr std::size_t kMovesOfAnEntry = 64;
  const auto at = last_by(entries, entry.from);
  count(static_cast<std::size_t>(entries.end() - at) / kMovesOfAnEntry);
  return entries.insert(at, entry);
}

void CodeTimeline::split(std::uint64_t at) {
  const auto after = spans_.upper_bound(at);
  if (after == spans_.begin()) return;
  const auto span = std::prev(after);
  if (span->first == at || span->second.end <= at) return;
  const std::size_t entries = 1 + span->second.mapped.size() + span->second.loaded.size();
  if (!has_room(entries)) return;  // add() gives the whole of it up
  Span rest = span->second;
  span->second.end = at;
  spans_.emplace_hint(after, at, std::move(rest));
  count(entries);
}

template <typename Add>
void CodeTimeline::add(std::uint64_t begin, std::uint64_t end, TimeNs from, Add add) {
  if (begin >= end) return;
  split(begin);
  split(end);
  auto at = spans_.lower_bound(begin);
  if (at != spans_.begin() && std::prev(at)->second.end > begin) --at;
  for (std::uint64_t next = begin; next < end;) {
    if (at == spans_.end() || at->first > next) {
      // A gap. Without room it stays one: nothing is known of it.
      const std::uint64_t gap_end = at == spans_.end() ? end : std::min(end, at->first);
      if (has_room(2)) {
        at = spans_.emplace_hint(at, next, Span{gap_end, {}, {}});
        count(1);
      } else {
        next = gap_end;
        continue;
      }
    }
    Span& span = at->second;
    if (at->first < begin || span.end > end || !has_room(1)) {
      span.given_up = std::min(span.given_up, from);
    } else {
      add(span);
      count(1);
    }
    next = span.end;
    ++at;
  }
}

// The history up to `now`, which follows `before`. Whether it ends what was there.
bool CodeTimeline::follow(const Mapped* before, Mapped& now) {
  const MappedCode was = before == nullptr ? MappedCode{} : before->shown;
  now.shown = shown_after(was, now.what);
  // A program that is executed leaves nothing, also where nothing was mapped and only code was told.
  const bool again = now.what == was && now.what.kind != Kind::kNothing;
  const bool changes = profile::ends_code(now.what.kind) && !again;
  now.changed = changes ? now.from : before == nullptr ? kTimeMin : before->changed;
  return changes;
}

// `last`, one of `mapped`, if `inherited` was there before all of them. What does not depend on it is known
// already, so the first entry that shows the same in both cases ends the search. Nothing: it takes too long.
std::optional<CodeTimeline::Followed> CodeTimeline::follow_inherited(const std::vector<Mapped>& mapped,
                                                                     const Mapped& last,
                                                                     const MappedCode& inherited) {
  constexpr std::size_t kMostFollowed = 4096;
  Followed out{{kTimeMin, inherited, inherited, kTimeMin}};
  for (std::size_t i = 0; i < mapped.size(); ++i) {
    if (i == kMostFollowed) return std::nullopt;
    Mapped now = mapped[i];
    out.changed |= follow(&out.now, now);
    out.now = now;
    if (&mapped[i] == &last) return out;
    const bool same = now.shown == mapped[i].shown && now.shown.of_program == mapped[i].shown.of_program;
    if (same && mapped[i + 1].from > now.from) break;
  }
  const bool later = last.changed > out.now.from;
  Followed whole{last, out.changed || later};
  if (!later) whole.now.changed = out.now.changed;
  return whole;
}

void CodeTimeline::map(std::uint64_t begin, std::uint64_t end, TimeNs from, const MappedCode& what) {
  add(begin, end, from, [&](Span& span) {
    auto at = insert(span.mapped, Mapped{from, what, {}, kTimeMin});
    const Mapped* before = at == span.mapped.begin() ? nullptr : &*std::prev(at);
    for (; at != span.mapped.end(); before = &*at++) follow(before, *at);
  });
}

void CodeTimeline::load(std::uint64_t begin, std::uint64_t end, TimeNs from, CodeId code) {
  add(begin, end, from, [&](Span& span) { insert(span.loaded, Loaded{from, kTimeMax, code}); });
  if (begin >= end || !has_room(1)) return;
  loads_.insert_or_assign({code, from}, Load{begin, end});
  count(1);
}

void CodeTimeline::unload(CodeId code, TimeNs time) {
  const auto after = loads_.upper_bound({code, time});
  if (after == loads_.begin() || std::prev(after)->first.first != code) return;
  const TimeNs from = std::prev(after)->first.second;
  Load& load = std::prev(after)->second;
  if (load.to <= time) return;
  load.to = time;
  for (auto at = spans_.lower_bound(load.begin); at != spans_.end() && at->first < load.end; ++at) {
    if (!has_room(1)) {
      given_up_ = std::min(given_up_, time);
      return;
    }
    count(1);
    auto& loaded = at->second.loaded;
    for (auto each = last_by(loaded, from); each != loaded.begin() && std::prev(each)->from == from; --each) {
      if (std::prev(each)->code == code) std::prev(each)->to = std::min(std::prev(each)->to, time);
    }
  }
}

CodeTimeline::State CodeTimeline::find(std::uint64_t address, TimeNs time,
                                       const std::optional<State>& inherited) const {
  if (given_up_ <= time) return {.mapped = {}, .from = given_up_};
  State state = inherited.value_or(State{});
  state.until = std::min(state.until, given_up_);
  const auto after = spans_.upper_bound(address);
  if (after == spans_.begin() || address >= std::prev(after)->second.end) return state;
  const Span& span = std::prev(after)->second;
  if (span.given_up <= time) return {.mapped = {}, .from = span.given_up};
  state.until = std::min(state.until, span.given_up);
  const auto later = last_by(span.mapped, time);
  if (later != span.mapped.end()) state.until = std::min(state.until, later->from);
  TimeNs changed = kTimeMin;  // by the process itself
  if (later != span.mapped.begin()) {
    const Mapped& last = *std::prev(later);
    state.mapped = last.shown;
    state.mapped_from = last.from;
    state.from = std::max(state.from, last.from);
    changed = last.changed;
    if (inherited) {  // what was inherited comes before all
      const auto followed = follow_inherited(span.mapped, last, inherited->mapped);
      if (!followed) return {.mapped = {}, .from = last.from, .until = state.until};
      state.mapped = followed->now.shown;
      changed = followed->now.changed;
      if (followed->changed) state.code = 0;
    }
    state.changed = std::max(state.changed, changed);
  }
  const auto later_code = last_by(span.loaded, time);
  if (later_code != span.loaded.end()) state.until = std::min(state.until, later_code->from);
  if (later_code == span.loaded.begin()) return state;
  const Loaded& code = *std::prev(later_code);
  const bool ended = code.to <= time;
  state.from = std::max(state.from, ended ? code.to : code.from);
  if (!ended) state.until = std::min(state.until, code.to);
  const bool there = !ended && changed <= code.from;
  state.code = there ? code.code : 0;
  state.loaded = code.from;
  state.generation = 0;
  return state;
}

bool CodeTimeline::had_code(std::uint64_t address) const {
  const auto after = spans_.upper_bound(address);
  if (after == spans_.begin() || address >= std::prev(after)->second.end) return false;
  return !std::prev(after)->second.loaded.empty();
}

std::vector<MappedCode> CodeTimeline::mapped_at(std::uint64_t address) const {
  std::vector<MappedCode> out;
  const auto after = spans_.upper_bound(address);
  if (after == spans_.begin() || address >= std::prev(after)->second.end) return out;
  const Span& span = std::prev(after)->second;
  for (auto each = span.mapped.begin(); each != span.mapped.end(); ++each) {
    const auto next = std::next(each);
    const bool seen = next == span.mapped.end() || next->from > each->from;
    if (seen && each->from < span.given_up) out.push_back(each->shown);
  }
  if (span.given_up != kTimeMax) out.emplace_back();
  return out;
}

}  // namespace tailor::query
