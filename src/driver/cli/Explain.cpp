// smalti explain: the pages of docs/errors, from inside the program.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Text.h"
#include "driver/cli/Embedded.h"
#include "driver/cli/Verbs.h"
#include "driver/term/Style.h"
#include "driver/term/Table.h"

namespace smalti::cli {
namespace {

std::string_view codeOf(const EmbeddedFile& page) { return page.name.substr(0, page.name.find('.')); }

/// "# SM1001: title" → "title".
std::string_view titleOf(const EmbeddedFile& page) {
  const std::string_view line = page.text.substr(0, page.text.find('\n'));
  const size_t colon = line.find(": ");
  return colon == std::string_view::npos ? line : line.substr(colon + 2);
}

int list(const Session& session) {
  Json rows = Json::array();
  term::Table table({{"code"}, {"what it means"}});
  for (const EmbeddedFile& page : errorPages()) {
    table.add({std::string(codeOf(page)), std::string(titleOf(page))});
    rows.push_back({{"code", codeOf(page)}, {"title", titleOf(page)}});
  }
  if (session.json())
    session.printJson(rows);
  else
    session.print(table.str(session.colorOut()));
  return kOk;
}

int explain(const Session& session, const std::string& typed) {
  if (typed.empty()) return list(session);
  std::string code = typed;
  for (char& c : code) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (code.find_first_not_of("0123456789") == std::string::npos) code = "SM" + code;
  std::vector<std::string> codes;
  for (const EmbeddedFile& page : errorPages()) {
    codes.emplace_back(codeOf(page));
    if (codes.back() != code) continue;
    if (session.json())
      session.printJson({{"code", code}, {"title", titleOf(page)}, {"page", page.text}});
    else
      session.print(std::string(page.text));
    return kOk;
  }
  // "SM9" is an area; the distance between words does not know.
  std::vector<std::string> area;
  for (const std::string& c : codes)
    if (code.size() == c.size() && c.substr(0, 3) == code.substr(0, 3)) area.push_back(c);
  const auto near = nearest(code, area.empty() ? codes : area);
  return session.refuse({.code = "SM1019",
                         .message = fmt::format("there is no code '{}'", typed.substr(0, 100)),
                         .place = {},
                         .help = near.empty() ? "smalti explain lists them all"
                                              : fmt::format("the nearest are {}", fmt::join(near, ", "))});
}

}  // namespace

void declareExplain(CLI::App& app, Session& session) {
  auto code = std::make_shared<std::string>();
  app.add_option("code", *code, "SM and four digits; without it, all codes are listed")->type_name("CODE");
  session.addOptions(app, {OptionGroup::output});
  app.callback([&session, code] { session.action = [&session, code] { return explain(session, *code); }; });
}

}  // namespace smalti::cli
