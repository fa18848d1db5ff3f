// Gloo's collectives over TCP on this host, a process for each device, with the protocol of ../Rounds.h: gloo DEVICES.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "../Rounds.h"

namespace {

struct Ask {
  char name[32] = {};
  long bytes = 0;
  double seconds = 0;
};

template <class T>
void broadcastFromRoot(const std::shared_ptr<gloo::Context>& context, T& value) {
  gloo::BroadcastOptions options(context);
  options.setOutput(reinterpret_cast<char*>(&value), sizeof value);
  options.setRoot(0);
  options.setTimeout(std::chrono::hours(1));
  gloo::broadcast(options);
}

double measure(const std::shared_ptr<gloo::Context>& context, const Ask& ask) {
  const std::string name = ask.name;
  const auto n = static_cast<size_t>(ask.bytes / 4), part = n / static_cast<size_t>(context->size);
  std::vector<float> from(n, 1.0f), to(n, 0.0f);
  const std::vector<int> counts(static_cast<size_t>(context->size), static_cast<int>(part));
  std::unique_ptr<gloo::ReduceScatterHalvingDoubling<float>> scatter;
  if (name == "reduce_scatter")
    scatter = std::make_unique<gloo::ReduceScatterHalvingDoubling<float>>(context, std::vector<float*>{from.data()},
                                                                          static_cast<int>(n), counts);
  const auto call = [&] {
    if (name == "all_reduce") {
      gloo::AllreduceOptions o(context);
      o.setInput(from.data(), n);
      o.setOutput(to.data(), n);
      o.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
      gloo::allreduce(o);
    }
    if (name == "all_gather") {
      gloo::AllgatherOptions o(context);
      o.setInput(from.data(), part);
      o.setOutput(to.data(), n);
      gloo::allgather(o);
    }
    if (name == "reduce_scatter") scatter->run();
    if (name == "all_to_all") {
      gloo::AlltoallOptions o(context);
      o.setInput(from.data(), n);
      o.setOutput(to.data(), n);
      gloo::alltoall(o);
    }
  };
  call();
  double begin = devices::now();
  call();
  int calls = devices::callsFor(devices::now() - begin);
  broadcastFromRoot(context, calls);
  double best = 1e30;
  const double end = devices::now() + ask.seconds;
  for (int round = 0, more = 1; more; ++round) {
    gloo::BarrierOptions barrier(context);
    gloo::barrier(barrier);
    begin = devices::now();
    for (int i = 0; i < calls; ++i) call();
    best = std::min(best, (devices::now() - begin) / calls);
    more = round < 2 || devices::now() < end;
    broadcastFromRoot(context, more);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 2;
  char folder[] = "/tmp/bench-gloo-XXXXXX";
  if (!mkdtemp(folder)) return 1;
  int rank = 0;
  for (int r = 1; r < count && rank == 0; ++r)
    if (fork() == 0) rank = r;
  auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
  gloo::rendezvous::FileStore store(folder);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, count);
  context->connectFullMesh(store, device);
  for (;;) {
    Ask ask;
    std::string name;
    if (rank == 0) {
      if (std::cin >> name >> ask.bytes >> ask.seconds)
        name.copy(ask.name, sizeof ask.name - 1);
      else
        ask.bytes = -1;
    }
    broadcastFromRoot(context, ask);
    if (ask.bytes < 0) break;
    const double took = measure(context, ask);
    if (rank == 0) std::cout << took << std::endl;
  }
  if (rank != 0) _exit(0);
  while (wait(nullptr) > 0) {
  }
  if (std::system((std::string("rm -r ") + folder).c_str())) return 1;
}
