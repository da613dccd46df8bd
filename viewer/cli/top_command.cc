#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <sstream>

#include "daemon/query/reports/annotate_report.h"
#include "daemon/query/reports/same_plans.h"
#include "daemon/query/time/wall_time.h"
#include "daemon/serve/library.h"
#include "daemon/serve/service.h"
#include "viewer/cli/command.h"
#include "viewer/cli/daemon.h"
#include "viewer/cli/held_up.h"
#include "viewer/cli/render.h"
#include "viewer/cli/runs_of_query.h"
#include "viewer/cli/text.h"
#include "viewer/cli/top_screen.h"
#include "viewer/cli/top_table.h"

namespace tailor::cli {
namespace {

struct TopOptions {
  std::string store, filter;
  double interval_s = 2, window_s = 60;
  std::size_t limit = 100;
  bool once = false, json = false, ascii = false;
};

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

serve::FingerprintsRequest::Order order_of(TopOrder order) {
  using Order = serve::FingerprintsRequest::Order;
  return order == TopOrder::kCpu          ? Order::kCpu
         : order == TopOrder::kExecutions ? Order::kExecutions
                                          : Order::kElapsed;
}

std::string_view order_key(TopOrder order) {
  return order == TopOrder::kCpu ? "CPU time" : order == TopOrder::kExecutions ? "runs" : "mean elapsed time";
}

// What the store says now.
class Top {
 public:
  explicit Top(const TopOptions& options)
      : options_(options),
        directory_(store_directory(options.store)),
        library_(serve::open_store_library(directory_, flush_daemon,
                                           [this](const std::string& text) { damage_ = text; })),
        service_(*library_, {TAILOR_VERSION, {}}),
        filter_(options.filter) {}

  Result<query::Json> ask() {
    serve::FingerprintsRequest request;
    request.filter.since_ns = since_ns();
    request.filter.ran_since = true;
    request.containing = filter_;
    request.limit = options_.limit;
    request.order = order_of(order);
    return service_.answer(request, serve::Access::everything(), Stop());
  }

  Status refresh() {
    auto answer = ask();
    if (!answer) return answer.error();
    queries = top_queries(*answer);
    return find_held_up();
  }

  std::vector<std::string> held_up(const Terminal& terminal) const {
    return held_up_lines(held_up_, query::wall_clock_ns(), terminal);
  }

  // The list is of what the store knows beside the samples: whether these are damaged has to be looked for.
  // Where that fails, this is said with the list, which is as good as before.
  void look_for_damage() {
    const auto looked =
        service_.file_state_of_time({since_ns(), INT64_MAX}, UINT64_MAX, serve::Access::everything(), Stop());
    if (!looked.ok()) damage_ += (damage_.empty() ? "" : " ") + looked.error().message;
  }
  // Of what was looked at, and of what was read since; "": nothing is damaged.
  std::string damage() const { return damage_.empty() ? "" : fmt::format("{}: {}", directory_, damage_); }

  // The plan of the query, or its IR: of all its runs, or of the last one that has samples.
  Result<ListingText> drill(const TopQuery& query, bool one, bool code, const Terminal& terminal) {
    const auto runs = runs_of_query(service_, query.fingerprint);
    if (!runs) return runs.error();
    if (runs->last_sampled.empty()) return not_found("no run of the query has a sample yet");
    const auto view = service_.open(one ? serve::prefix_target(runs->last_sampled) : runs->target(), {},
                                    serve::Detail::kSums, serve::Access::everything(), Stop());
    if (!view) return view.error();
    const query::Profile& profile = view->profile;
    if (code) {
      const auto report = query::annotate_report(profile, view->selection, 0);
      if (!report) return report.error();
      return render(profile, *report, terminal, {});
    }
    auto report = query::plan_report(profile, view->selection);
    if (!report) return report.error();
    query::unite_plans(*report);
    const std::string head = one ? "" : wrap(runs->text(), terminal.width, 0) + "\n\n";
    return ListingText{head + render(profile, *report, terminal)};
  }

  std::string title() const {
    std::string text = fmt::format("tailor top: queries that ran in the last {:.0f} s, by {}",
                                   options_.window_s, order_key(order));
    if (!filter_.empty()) text += ", with \"" + escape_line(filter_, false) + "\"";
    return text;
  }
  double window_ns() const { return options_.window_s * 1e9; }
  void set_filter(std::string text) { filter_ = std::move(text); }

  TopOrder order = TopOrder::kCpu;
  std::vector<TopQuery> queries;

 private:
  std::uint64_t since_ns() const {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto window = std::chrono::duration<double>(options_.window_s);
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now - window).count());
  }

  // Of the executions in the window, however many there are.
  Status find_held_up() {
    serve::ExecutionFilter filter;
    filter.since_ns = since_ns();
    filter.ran_since = true;
    held_up_.clear();
    return service_.visit(filter, serve::Access::everything(), Stop(), [&](store::ExecutionRow row) {
      if (!may_be_held_up(row)) return true;
      row.record.labels.clear();  // they may be long
      held_up_.push_back(std::move(row));
      return held_up_.size() < kMostHeldUp;
    });
  }

  static constexpr std::size_t kMostHeldUp = 1000;

  const TopOptions& options_;
  std::vector<store::ExecutionRow> held_up_;
  const std::string directory_;
  std::string damage_;
  std::unique_ptr<serve::Library> library_;
  serve::Service service_;
  std::string filter_;
};

// From the list of queries to a plan to its IR, and back.
class Interactive {
 public:
  Interactive(Top& top, const TopOptions& options) : top_(top), options_(options) {}

  int run() {
    if (Status done = top_.refresh(); !done.ok()) return complain(done.error());
    top_.look_for_damage();
    Screen screen;
    while (true) {
      draw(screen);
      const Screen::Input input = screen.wait(static_cast<int>(options_.interval_s * 1000));
      if (input.key == Screen::Key::kNone && level_ == 0 && !paused_ && !typed_) refresh();
      if (input.key == Screen::Key::kText && !typed_ && input.text == 'q') return kOk;
      handle(input, screen);
    }
  }

 private:
  void refresh() {
    const Status done = top_.refresh();
    problem_ = done.ok() ? "" : escape_line(done.error().message, false);
    chosen_ = std::min(chosen_, top_.queries.empty() ? 0 : top_.queries.size() - 1);
  }

  Terminal terminal(const Screen& screen) const {
    Terminal out = Terminal::detect();
    out.colour = false;
    out.ascii = out.ascii || options_.ascii;
    out.width = std::max<std::size_t>(40, screen.width());
    return out;
  }

  std::vector<std::string> damage_lines(const Terminal& terminal) const {
    if (top_.damage().empty()) return {};
    return split_lines("\n" + wrap(escape(top_.damage(), terminal.ascii), terminal.width, 0));
  }

  void draw(Screen& screen) {
    if (level_ > 0) {
      first_ = std::min(first_, text_.empty() ? 0 : text_.size() - 1);
      const std::string whose = one_ ? "The last run of the query" : "All runs of the query";
      return screen.draw(level_ == 1 ? whose : whose + ": the code, line by line", text_, first_,
                         Screen::kNoLine,
                         fmt::format("arrows: scroll   Enter: its code   l: {}   Backspace: back   q: quit",
                                     one_ ? "all runs" : "the last run"));
    }
    auto lines = top_lines(top_.queries, top_.window_ns(), top_.order, terminal(screen));
    for (const std::string& line : top_.held_up(terminal(screen))) lines.push_back(line);
    for (const std::string& line : damage_lines(terminal(screen))) lines.push_back(line);
    const std::size_t room = screen.height() > 3 ? screen.height() - 3 : 1;
    const std::size_t first = chosen_ + 1 > room ? chosen_ + 1 - room : 0;
    const std::string keys = "arrows: choose   Enter: its plan   s: order   /: filter   p: pause   q: quit";
    const std::string help = typed_              ? "filter: " + *typed_ + "   (Enter: use it   Esc: leave it)"
                             : !problem_.empty() ? problem_
                             : paused_           ? "paused   " + keys
                                                 : keys;
    screen.draw(top_.title(), lines, first, top_.queries.empty() ? Screen::kNoLine : chosen_ + 1, help);
  }

  void handle(const Screen::Input& input, Screen& screen) {
    if (typed_) return type(input);
    using Key = Screen::Key;
    const std::size_t page = screen.height() > 3 ? screen.height() - 3 : 1;
    std::size_t& place = level_ == 0 ? chosen_ : first_;
    const std::size_t count = level_ == 0 ? top_.queries.size() : text_.size();
    if (input.key == Key::kUp && place > 0) --place;
    if (input.key == Key::kDown && place + 1 < count) ++place;
    if (input.key == Key::kPageUp) place -= std::min(place, page);
    if (input.key == Key::kPageDown) place = std::min(place + page, count == 0 ? 0 : count - 1);
    if (input.key == Key::kEnter && level_ < 2 && !top_.queries.empty()) open(level_ + 1, screen);
    if ((input.key == Key::kBack || input.key == Key::kEscape) && level_ > 0)
      level_ == 2 ? open(1, screen) : close();
    if (input.key == Key::kText && level_ == 0) command(input.text);
    if (input.key == Key::kText && level_ > 0 && input.text == 'l') {
      one_ = !one_;
      open(level_, screen);
    }
  }

  void command(char letter) {
    if (letter == 'p') paused_ = !paused_;
    if (letter == '/') typed_ = "";
    if (letter != 's') return;
    top_.order = top_.order == TopOrder::kCpu          ? TopOrder::kExecutions
                 : top_.order == TopOrder::kExecutions ? TopOrder::kElapsed
                                                       : TopOrder::kCpu;
    refresh();
  }

  void type(const Screen::Input& input) {
    constexpr std::size_t kMostLetters = 200;
    if (input.key == Screen::Key::kText && typed_->size() < kMostLetters) *typed_ += input.text;
    if (input.key == Screen::Key::kBack && !typed_->empty()) typed_->pop_back();
    if (input.key == Screen::Key::kEscape) typed_.reset();  // the filter stays as it was
    if (input.key != Screen::Key::kEnter) return;
    top_.set_filter(*typed_);
    typed_.reset();
    chosen_ = 0;
    refresh();
  }

  void open(int level, const Screen& screen) {
    const auto shown = top_.drill(top_.queries[chosen_], one_, level == 2, terminal(screen));
    text_ = shown.ok() ? split_lines(shown->text)
                       : std::vector<std::string>{escape_line(shown.error().message, false)};
    level_ = level;
    first_ = shown.ok() && shown->hottest > 0 ? shown->hottest - 1 : 0;
  }
  void close() {
    level_ = 0;
    one_ = false;
    refresh();
  }

  Top& top_;
  const TopOptions& options_;
  int level_ = 0;  // 0: queries, 1: a plan, 2: its IR
  std::size_t chosen_ = 0, first_ = 0;
  std::vector<std::string> text_;
  std::optional<std::string> typed_;  // the filter while it is typed
  std::string problem_;
  bool paused_ = false;
  bool one_ = false;  // the last run instead of all
};

void tell_damage(Top& top) {
  top.look_for_damage();
  if (!top.damage().empty()) warn(top.damage());
}

int run_top(const TopOptions& options) {
  Top top(options);
  if (options.json) {
    const auto answer = top.ask();
    if (!answer) return complain(answer.error());
    tell_damage(top);
    print_json(query::dump(*answer));
    return kOk;
  }
  if (!options.once && ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0)
    return Interactive(top, options).run();
  if (Status done = top.refresh(); !done.ok()) return complain(done.error());
  tell_damage(top);
  Terminal terminal = Terminal::detect();
  terminal.ascii = terminal.ascii || options.ascii;
  fmt::print("{}\n", top.title());
  for (const std::string& line : top_lines(top.queries, top.window_ns(), top.order, terminal))
    fmt::print("{}\n", line);
  for (const std::string& line : top.held_up(terminal)) fmt::print("{}\n", line);
  return top.queries.empty() ? nothing_to_show() : kOk;
}

}  // namespace

void add_top(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "top", "The queries of the last minute by CPU time, live; leads from a query to its plan and its code");
  auto options = std::make_shared<TopOptions>();
  command.add_option("--interval", options->interval_s, "Seconds between two updates")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command.add_option("--window", options->window_s, "Only queries that ran in this many seconds before now")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  command.add_option("--filter", options->filter, "Only queries whose name or text contains this");
  command.add_option("-n,--limit", options->limit, "How many queries at most")->capture_default_str();
  command.add_flag("--once", options->once,
                   "Prints the table once and exits; this is the default without a terminal");
  command.add_option("--store", options->store,
                     "The directory of the store (default: that of the daemon, TAILOR_STORE)");
  command.add_flag("--json", options->json, "JSON instead of text: `fingerprints` of docs/http-api.md");
  command.add_flag("--ascii", options->ascii, "No characters outside ASCII");
  command.callback([options, &action] { action = [options] { return run_top(*options); }; });
}

}  // namespace tailor::cli
