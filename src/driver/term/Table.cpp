#include "driver/term/Table.h"

#include <algorithm>

#include "driver/term/Style.h"

namespace smalti::term {

std::string Table::str(bool color, int indent) const {
  std::vector<int> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    int width = displayWidth(columns_[c].title);
    for (const auto& row : rows_)
      if (c < row.size()) width = std::max(width, displayWidth(row[c]));
    widths.push_back(width);
  }
  std::string text;
  const auto addRow = [&](const auto& cellOf, size_t cells, bool bold) {
    std::string line;
    for (size_t c = 0; c < cells; ++c) {
      const std::string& cell = cellOf(c);
      const std::string padding(static_cast<size_t>(widths[c] - displayWidth(cell)), ' ');
      const std::string shown = bold ? styled(Style::bold, cell, color) : cell;
      if (c > 0) line += "  ";
      line += columns_[c].align == Align::right ? padding + shown : shown + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += std::string(static_cast<size_t>(line.empty() ? 0 : indent), ' ') + line + "\n";
  };
  const bool titled =
      std::any_of(columns_.begin(), columns_.end(), [](const Column& column) { return !column.title.empty(); });
  if (titled) addRow([&](size_t c) -> const std::string& { return columns_[c].title; }, columns_.size(), true);
  for (const auto& row : rows_)
    addRow([&](size_t c) -> const std::string& { return row[c]; }, std::min(row.size(), columns_.size()), false);
  return text;
}

}  // namespace smalti::term
