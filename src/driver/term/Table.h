// Tables for people.
#pragma once

#include <string>
#include <vector>

namespace smalti::term {

enum class Align : unsigned char { left, right };

/// Columns are as wide as their widest cell; cells count code points, not bytes.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  /// Title row (in bold when `color`), then the rows, each after `indent` spaces; no trailing blanks.
  std::string str(bool color, int indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace smalti::term
