// sdy's syntax: meshes, shardings, lists of axes.
#pragma once

#include "interop/stablehlo/Syntax.h"
#include "ir/program/Program.h"

namespace smalti::interop::stablehlo {

/// `<@mesh, [{"x"}, {}]>`
bool readSharding(Cursor&, Sharding&);
/// `[<…>, <…>]`
bool readShardings(Cursor&, std::vector<Sharding>&);
/// `{"x", "y"}`
bool readAxes(Cursor&, std::vector<std::string>&);
/// `<["x"=2, "y"=2]>`
bool readMesh(Cursor&, DeviceMesh&);

std::string print(const Sharding&);
std::string print(const std::vector<Sharding>&);
std::string printAxes(const std::vector<std::string>&);

}  // namespace smalti::interop::stablehlo
