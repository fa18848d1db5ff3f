// Ops of several devices (collectives: all_reduce, collective_permute, …): which devices receive from which.
#pragma once

#include <vector>

#include "ir/program/PlainOps.h"

namespace smalti {

/// The senders and receivers of one collective.
struct Exchange {
  std::vector<std::vector<int64_t>> senders;  ///< lists of devices, in the order in which the op takes their values
  std::vector<int> from;                      ///< by receiving device: which list; -1: it gets zeros
};

bool isCollective(std::string_view op);

/// The exchange of a collective that obeys its type rule, on `devices` partitions of one replica, as JAX creates them.
/// Error SM2014: devices that do not exist, occur twice or are missing, and groups that do not fit each other or the
/// types.
Result<Exchange> exchangeOf(const TypedOp& collective, int64_t devices);

/// The mesh that a manual_computation runs on; one without axes when it has none.
const DeviceMesh& meshOf(const Program&, const Op& manualComputation);

/// Every collective that main reaches, on the devices of the manual_computation around it. The rest of the Program has
/// been verified.
Status verifyCollectives(const Program&);

}  // namespace smalti
