#include "mpi/PeerMonitor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <random>
#include <sstream>

#include "base/process/StoppedProcess.h"

namespace smalti {
namespace {

/// How long a process may take to answer when all connect, and between the words of those that do.
constexpr int kConnectMs = 1000;
/// Delay before reporting from here: a process that waits for the dead one reports with the waiting line.
constexpr std::chrono::milliseconds kTellAfter{300};
constexpr char kGoodbye = 'g';
/// The last messages of a process that ends may arrive after its goodbye.
constexpr std::chrono::seconds kLastMessages{1};

int64_t nanosecondsNow() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The beginning of a connection.
struct Hello {
  uint64_t token = 0;  ///< of the job: nobody else's connection is taken
  int32_t rank = 0;
};

/// Addresses of this host for others, best last: "192.0.2.7 …".
std::string addresses() {
  std::string all;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return all;
  for (const ifaddrs* a = list; a; a = a->ifa_next) {
    if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET) continue;
    const in_addr address = reinterpret_cast<const sockaddr_in*>(a->ifa_addr)->sin_addr;
    if ((ntohl(address.s_addr) >> 24) == 127) continue;
    char text[INET_ADDRSTRLEN] = {};
    if (inet_ntop(AF_INET, &address, text, sizeof text)) all += std::string(text) + " ";
  }
  freeifaddrs(list);
  return all;
}

sockaddr_in socketAddress(const std::string& address, int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, address.c_str(), &to.sin_addr);
  return to;
}

bool waitFor(int socket, short events) {
  pollfd p{socket, events, 0};
  return poll(&p, 1, kConnectMs) == 1;
}

int connectTo(const std::string& address, int port, const Hello& hello) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  const sockaddr_in to = socketAddress(address, port);
  int error = 0;
  socklen_t size = sizeof error;
  if ((connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ||
       (errno == EINPROGRESS && waitFor(socket, POLLOUT))) &&
      getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0 &&
      send(socket, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello)
    return socket;
  close(socket);
  return -1;
}

/// A host that is gone closes no connection: the system asks it every second.
void keepAlive(int socket) {
  const int on = 1, second = 1, twice = 2;
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &second, sizeof second);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &second, sizeof second);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &twice, sizeof twice);
}

}  // namespace

PeerMonitor::PeerMonitor(int rank, std::vector<std::string> names, const Gather& gather)
    : rank_(rank), names_(std::move(names)), lines_(names_.size(), -1), endedAt_(names_.size()) {
  connectAll(gather);
  if (pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0) return;
  sigset_t all, before;  // signals are for the user's own threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  watcher_ = std::thread([this] { watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

PeerMonitor::~PeerMonitor() {
  if (watcher_.joinable()) {
    (void)!write(wake_[1], "x", 1);
    watcher_.join();
  }
  for (const int line : lines_) {
    if (line < 0) continue;
    (void)!send(line, &kGoodbye, 1, MSG_NOSIGNAL);
    close(line);
  }
  close(wake_[0]);
  close(wake_[1]);
}

void PeerMonitor::connectAll(const Gather& gather) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in own = socketAddress("0.0.0.0", 0);
  socklen_t size = sizeof own;
  int port = 0;
  if (bind(listener, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0 &&
      listen(listener, static_cast<int>(names_.size())) == 0 &&
      getsockname(listener, reinterpret_cast<sockaddr*>(&own), &size) == 0)
    port = ntohs(own.sin_port);
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::ostringstream mine;
  mine << (uint64_t{std::random_device()()} << 32 | std::random_device()()) << ' ' << host << ' ' << port << ' '
       << addresses();
  const std::vector<std::string> all = gather(mine.str());

  Hello hello{0, rank_};
  std::istringstream(all[0]) >> hello.token;
  for (int r = 0; r < rank_; ++r) {
    std::istringstream in(all[static_cast<size_t>(r)]);
    uint64_t token = 0;
    std::string theirHost, address;
    int theirPort = 0;
    in >> token >> theirHost >> theirPort;
    int& line = lines_[static_cast<size_t>(r)];
    if (theirHost == host) line = connectTo("127.0.0.1", theirPort, hello);
    while (line < 0 && theirPort > 0 && in >> address) line = connectTo(address, theirPort, hello);
  }
  for (int missing = static_cast<int>(names_.size()) - 1 - rank_; missing > 0 && waitFor(listener, POLLIN);) {
    const int line = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    Hello theirs;
    const bool known = line >= 0 && waitFor(line, POLLIN) && recv(line, &theirs, sizeof theirs, 0) == sizeof theirs &&
                       theirs.token == hello.token && theirs.rank > rank_ &&
                       theirs.rank < static_cast<int>(names_.size());
    if (!known) {
      if (line >= 0) close(line);
      continue;
    }
    lines_[static_cast<size_t>(theirs.rank)] = line;
    --missing;
  }
  close(listener);
  for (const int line : lines_)
    if (line >= 0) keepAlive(line);
}

void PeerMonitor::watch() {
  std::vector<pollfd> polled;
  std::vector<int> ranks;
  for (size_t r = 0; r < lines_.size(); ++r)
    if (lines_[r] >= 0) polled.push_back({lines_[r], POLLIN, 0}), ranks.push_back(static_cast<int>(r));
  polled.push_back({wake_[0], POLLIN, 0});
  for (;;) {
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    if (polled.back().revents != 0) return;
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (polled[i].revents == 0) continue;
      char word = 0;
      if (recv(polled[i].fd, &word, 1, MSG_DONTWAIT) == 1 && word == kGoodbye) {
        polled[i].fd = -1;  // it has ended on purpose
        endedAt_[static_cast<size_t>(ranks[i])].store(nanosecondsNow());
        continue;
      }
      // The launcher also ends the others: they should first report what has happened.
      struct sigaction now{};
      if (sigaction(SIGTERM, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) std::signal(SIGTERM, SIG_IGN);
      dead_.store(ranks[i], std::memory_order_release);
      pollfd wake{wake_[0], POLLIN, 0};
      if (poll(&wake, 1, static_cast<int>(kTellAfter.count())) == 0 && !reported_.load()) report();
      return;
    }
  }
}

int PeerMonitor::ended(int rank) const {
  const auto since = [&](size_t r) { return endedAt_[r].load(std::memory_order_relaxed); };
  for (size_t r = 0; r < endedAt_.size(); ++r)
    if ((rank < 0 || r == static_cast<size_t>(rank)) && since(r) > 0 &&
        nanosecondsNow() - since(r) > std::chrono::nanoseconds(kLastMessages).count())
      return static_cast<int>(r);
  return -1;
}

void PeerMonitor::report() const {
  const Diagnostic d =
      stoppedProcess(names_[static_cast<size_t>(dead_.load())] + " has died", kSeeItsOutputAndTheLauncher);
  const std::string text = "error[" + d.code + "]: " + d.message + "\n  need: " + d.need + "\n  have: " + d.have +
                           "\n  help: " + d.help + "\n";
  std::fputs(text.c_str(), stderr);
}

}  // namespace smalti
