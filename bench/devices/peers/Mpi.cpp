// MPI's collectives, with the protocol of ../Rounds.h: mpirun -n DEVICES mpi.
#include <mpi.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "../Rounds.h"

namespace {

struct Ask {
  char name[32] = {};
  long bytes = 0;
  double seconds = 0;
};

double measure(const Ask& ask, int rank, int count) {
  const std::string name = ask.name;
  const int n = static_cast<int>(ask.bytes / 4), part = n / count;
  std::vector<float> from(static_cast<size_t>(n), 1.0f), to(static_cast<size_t>(n), 0.0f);
  const auto call = [&] {
    if (name == "all_reduce") MPI_Allreduce(from.data(), to.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (name == "all_gather") MPI_Allgather(from.data(), part, MPI_FLOAT, to.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
    if (name == "reduce_scatter")
      MPI_Reduce_scatter_block(from.data(), to.data(), part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (name == "all_to_all") MPI_Alltoall(from.data(), part, MPI_FLOAT, to.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
  };
  call();
  double from0 = devices::now();
  call();
  int calls = devices::callsFor(devices::now() - from0);
  MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
  double best = 1e30;
  const double end = devices::now() + ask.seconds;
  for (int round = 0, more = 1; more; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    from0 = devices::now();
    for (int i = 0; i < calls; ++i) call();
    best = std::min(best, (devices::now() - from0) / calls);
    more = round < 2 || devices::now() < end;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  (void)rank;
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, count = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  for (;;) {
    Ask ask;
    std::string name;
    if (rank == 0) {
      if (std::cin >> name >> ask.bytes >> ask.seconds)
        name.copy(ask.name, sizeof ask.name - 1);
      else
        ask.bytes = -1;
      for (int r = 1; r < count; ++r) MPI_Send(&ask, sizeof ask, MPI_BYTE, r, 0, MPI_COMM_WORLD);
    } else {
      // MPI waits by spinning, which others who are measured would feel.
      for (int there = 0; !there; MPI_Iprobe(0, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE)) usleep(500);
      MPI_Recv(&ask, sizeof ask, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (ask.bytes < 0) break;
    const double took = measure(ask, rank, count);
    if (rank == 0) std::cout << took << std::endl;
  }
  MPI_Finalize();
}
