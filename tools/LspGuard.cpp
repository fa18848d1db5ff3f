#include "LspGuard.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "interop/config/JsonNesting.h"
#include "interop/text/Scan.h"
#include "llvm/Support/raw_ostream.h"

namespace smalti {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxMessageBytes = 256u << 20;

/// Reads messages: headers, an empty line, and as many bytes as Content-Length says.
class MessageReader {
 public:
  explicit MessageReader(int fd) : fd_(fd) {}

  /// nullopt at the end, or when a message is too large. Headers without a length are skipped.
  std::optional<std::string> next() {
    constexpr std::string_view kEnd = "\r\n\r\n";
    while (true) {
      size_t end;
      while ((end = buffer_.find(kEnd)) == std::string::npos)
        if (buffer_.size() > kMaxMessageBytes || !more()) return std::nullopt;
      const auto length = lengthIn(std::string_view(buffer_).substr(0, end));
      buffer_.erase(0, end + kEnd.size());
      if (!length) continue;
      if (*length > kMaxMessageBytes) return std::nullopt;
      while (buffer_.size() < *length)
        if (!more()) return std::nullopt;
      std::string body = buffer_.substr(0, *length);
      buffer_.erase(0, *length);
      return body;
    }
  }

 private:
  static std::optional<size_t> lengthIn(std::string_view headers) {
    constexpr std::string_view kName = "Content-Length:";
    const size_t at = headers.find(kName);
    if (at == std::string_view::npos) return std::nullopt;
    const size_t first = headers.find_first_not_of(' ', at + kName.size());
    size_t length = 0;
    if (first == std::string_view::npos) return std::nullopt;
    const auto read = std::from_chars(headers.data() + first, headers.data() + headers.size(), length);
    return read.ec == std::errc() ? std::optional(length) : std::nullopt;
  }
  bool more() {
    std::array<char, 1 << 16> part;
    ssize_t n;
    do n = ::read(fd_, part.data(), part.size());
    while (n < 0 && errno == EINTR);
    if (n > 0) buffer_.append(part.data(), static_cast<size_t>(n));
    return n > 0;
  }

  int fd_;
  std::string buffer_;
};

bool send(int fd, std::string_view body) {
  const std::string message = fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
  for (std::string_view rest = message; !rest.empty();) {
    const ssize_t n = ::write(fd, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    rest.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

/// The diagnostic of text that MLIR's parser shall not see.
std::optional<Json> refusalOf(const std::string& text, const std::string& uri) {
  const auto scanned = interop::text::scan(text, uri);
  if (scanned || scanned.error().code != "SM2201") return std::nullopt;
  const Diagnostic& d = scanned.error();
  const Json start{{"line", std::max(d.place.line - 1, 0)}, {"character", std::max(d.place.column - 1, 0)}};
  return Json{{"range", {{"start", start}, {"end", start}}},
              {"severity", 1},
              {"source", "smalti"},
              {"code", d.code},
              {"message", d.need.empty() ? d.message : fmt::format("{}: {}", d.message, d.need)}};
}

class Guard {
 public:
  /// From the editor to the server.
  std::string passOn(std::string body) {
    Json message = Json::parse(body, nullptr, false);
    if (!message.is_object()) return body;
    const Json method = message.value("method", Json());
    if (method != "textDocument/didOpen" && method != "textDocument/didChange") return body;
    bool changed = false;
    try {
      Json& params = message.at("params");
      const std::string uri = params.at("textDocument").at("uri");
      const std::scoped_lock lock(mutex_);
      refused_.erase(uri);
      const auto look = [&](Json& document) {
        std::string& text = document.at("text").get_ref<std::string&>();
        auto refusal = refusalOf(text, uri);
        if (!refusal) return;
        refused_[uri] = std::move(*refusal);
        text.clear();
        changed = true;
      };
      if (method == "textDocument/didOpen")
        look(params.at("textDocument"));
      else
        for (Json& change : params.at("contentChanges")) look(change);
    } catch (const Json::exception&) {
      return body;  // not as the protocol has it: the server says so
    }
    return changed ? message.dump(-1, ' ', false, Json::error_handler_t::replace) : body;
  }

  /// From the server to the editor.
  std::string passBack(std::string body) {
    const std::scoped_lock lock(mutex_);
    if (refused_.empty()) return body;
    Json message = Json::parse(body, nullptr, false);
    if (!message.is_object() || message.value("method", Json()) != "textDocument/publishDiagnostics") return body;
    Json& params = message["params"];
    const auto refused = refused_.find(params.value("uri", std::string()));
    if (refused == refused_.end()) return body;
    params["diagnostics"] = Json::array({refused->second});
    return message.dump();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Json> refused_;  ///< the diagnostic of a document, by its URI
};

}  // namespace

int runGuarded(const std::function<int()>& server) {
  std::array<int, 2> toServer{}, fromServer{};
  const int editorIn = ::dup(STDIN_FILENO), editorOut = ::dup(STDOUT_FILENO);
  if (editorIn < 0 || editorOut < 0 || ::pipe2(toServer.data(), O_CLOEXEC) != 0 ||
      ::pipe2(fromServer.data(), O_CLOEXEC) != 0 || ::dup2(toServer[0], STDIN_FILENO) < 0 ||
      ::dup2(fromServer[1], STDOUT_FILENO) < 0) {
    std::perror("smalti-lsp-server");
    return 1;
  }
  ::close(toServer[0]);
  ::close(fromServer[1]);
  auto guard = std::make_shared<Guard>();
  // It may still wait for the editor when the server has ended.
  std::thread([guard, editorIn, to = toServer[1]] {
    MessageReader reader(editorIn);
    while (auto body = reader.next()) {
      if (interop::jsonNestedTooDeep(*body)) {
        std::fputs("smalti-lsp-server: a message is nested too deep and is ignored\n", stderr);
        continue;
      }
      if (!send(to, guard->passOn(std::move(*body)))) break;
    }
    ::close(to);
  }).detach();
  std::thread back([guard, editorOut, from = fromServer[0]] {
    MessageReader reader(from);
    while (auto body = reader.next())
      if (!send(editorOut, guard->passBack(std::move(*body)))) break;
  });
  const int code = server();
  llvm::outs().flush();
  ::dup2(editorOut, STDOUT_FILENO);  // closes the pipe
  back.join();
  return code;
}

}  // namespace smalti
