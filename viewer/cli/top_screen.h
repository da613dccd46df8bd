// The terminal as a screen that is drawn again and again (curses).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tailor::cli {

// Takes the terminal over as long as it lives. One at a time, one thread.
class Screen {
 public:
  enum class Key { kNone, kUp, kDown, kPageUp, kPageDown, kEnter, kBack, kEscape, kText, kResize };
  struct Input {
    Key key = Key::kNone;
    char text = 0;  // kText: the letter
  };

  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  std::size_t width() const;
  std::size_t height() const;
  // `title` above, `help` below, and as many `lines` between as fit, from `first` on. The line `chosen` is
  // reversed. Texts are escaped already (text.h) and have no colours.
  void draw(const std::string& title, const std::vector<std::string>& lines, std::size_t first,
            std::size_t chosen, const std::string& help);
  // Waits for a key, for at most `milliseconds`.
  Input wait(int milliseconds);

  static constexpr std::size_t kNoLine = static_cast<std::size_t>(-1);
};

}  // namespace tailor::cli
