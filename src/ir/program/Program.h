// A Program: kernel calls, plain array ops between them, private functions, a mesh around them.
// JAX's modules have this form; one runner runs it, one importer reads it, one exporter writes it.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/KernelPackage.h"
#include "smalti/array.h"

namespace smalti {

using ValueId = int;  ///< index into Function::values

/// Named axes; a device's id is its row-major position over them.
struct DeviceMesh {
  std::string name;
  struct Axis {
    std::string name;
    int64_t size = 1;
  };
  std::vector<Axis> axes;
  int64_t numDevices() const;
};

/// The mesh axes that split each dimension (outer to inner). Empty `mesh`: replicated.
struct Sharding {
  std::string mesh;
  std::vector<std::vector<std::string>> dims;
};

/// Attribute of a plain op. Names and meanings are StableHLO's (README of src/interop lists them).
using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, Array, std::vector<Sharding>,
                               std::vector<std::string>>;

struct Op;
/// Body of reduce, manual_computation: block arguments and ops ending in a `return` op.
struct Block {
  std::vector<ValueId> arguments;
  std::vector<Op> ops;
};

/// One op. `name` is StableHLO's mnemonic without the dialect ("add", "broadcast_in_dim"), or one of
/// "kernel_call", "call", "return", "manual_computation", "sharding_constraint".
struct Op {
  std::string name;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<std::pair<std::string, Attribute>> attributes;
  std::vector<Block> regions;
  int kernel = -1;     ///< kernel_call: index into Program::kernels
  std::string callee;  ///< call
  SourcePlace place;

  const Attribute* find(std::string_view attribute) const;
};

struct Function {
  std::string name;
  bool isPrivate = false;
  std::vector<ArrayType> values;  ///< type of every value, by ValueId
  std::vector<ValueId> arguments;
  std::vector<ArrayType> resultTypes;
  std::vector<Op> ops;                                            ///< ends in "return"
  std::vector<std::string> argumentAttributes, resultAttributes;  ///< text, kept for export
};

struct Program {
  std::string name;
  std::string moduleAttributes;  ///< text, kept for export
  std::vector<DeviceMesh> meshes;
  std::vector<Function> functions;  ///< functions[main] is the entry
  int main = 0;
  std::vector<KernelPackage> kernels;  ///< in program order

  const Function* find(std::string_view function) const;
  const DeviceMesh* findMesh(std::string_view mesh) const;
};

/// Checks every invariant: names, types of each op (PlainOps.h), calls without recursion, kernels' signatures, meshes
/// and shardings. All violations are reported (first one with the others `related`). Codes SM2002, SM2005 to SM2007,
/// SM2013, SM2014. What reads, makes or changes a Program ends with this; what runs one relies on it.
Status verify(const Program&);

/// Size of a dimension's part on one device, and how many parts there are; 0 when an axis is unknown.
int64_t numParts(const DeviceMesh&, const std::vector<std::string>& axes);

/// A Program of one kernel call and nothing else: operands in, results out.
Program wrap(KernelPackage);

}  // namespace smalti
