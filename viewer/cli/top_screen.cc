#include "viewer/cli/top_screen.h"

#include <ncursesw/curses.h>

#include <clocale>

#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

constexpr int kEscape = 27, kDelete = 127, kControlH = 8;

}  // namespace

Screen::Screen() {
  std::setlocale(LC_CTYPE, "");
  ::set_escdelay(25);
  ::initscr();
  ::cbreak();
  ::noecho();
  ::keypad(stdscr, TRUE);
  ::curs_set(0);
}

Screen::~Screen() {
  ::endwin();
}

std::size_t Screen::width() const {
  return static_cast<std::size_t>(getmaxx(stdscr));
}

std::size_t Screen::height() const {
  return static_cast<std::size_t>(getmaxy(stdscr));
}

void Screen::draw(const std::string& title, const std::vector<std::string>& lines, std::size_t first,
                  std::size_t chosen, const std::string& help) {
  const auto put = [&](std::size_t row, const std::string& text, bool strong) {
    if (strong) ::wattr_on(stdscr, A_REVERSE, nullptr);
    const std::string shown = strong ? pad(cut(text, width(), false), width()) : cut(text, width(), false);
    ::wmove(stdscr, static_cast<int>(row), 0);
    ::waddnstr(stdscr, shown.c_str(), -1);
    if (strong) ::wattr_off(stdscr, A_REVERSE, nullptr);
  };
  ::werase(stdscr);
  put(0, title, false);
  const std::size_t rows = height();
  for (std::size_t row = 1; row + 1 < rows && first + row - 1 < lines.size(); ++row)
    put(row, lines[first + row - 1], first + row - 1 == chosen);
  if (rows > 1) put(rows - 1, help, false);
  ::wrefresh(stdscr);
}

Screen::Input Screen::wait(int milliseconds) {
  ::wtimeout(stdscr, milliseconds);
  const int key = ::wgetch(stdscr);
  switch (key) {
    case ERR:
      return {Key::kNone, 0};
    case KEY_UP:
      return {Key::kUp, 0};
    case KEY_DOWN:
      return {Key::kDown, 0};
    case KEY_PPAGE:
      return {Key::kPageUp, 0};
    case KEY_NPAGE:
      return {Key::kPageDown, 0};
    case KEY_RESIZE:
      return {Key::kResize, 0};
    case KEY_ENTER:
    case '\n':
    case '\r':
      return {Key::kEnter, 0};
    case KEY_BACKSPACE:
    case kControlH:
    case kDelete:
      return {Key::kBack, 0};
    case kEscape:
      return {Key::kEscape, 0};
    default:
      return key >= ' ' && key < kDelete ? Input{Key::kText, static_cast<char>(key)} : Input{};
  }
}

}  // namespace tailor::cli
