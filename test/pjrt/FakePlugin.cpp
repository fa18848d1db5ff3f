// A PJRT plugin whose devices are the abstract machine: for tests of the client, with faults on demand.
//
// FAKE_PJRT_DEVICES=N             number of devices (2)
// FAKE_PJRT_PROCESS=K/N:FOLDER    this is process K of N, each with as many of the devices; they exchange operands by
//                                 files in the folder
// FAKE_PJRT_NUMERICS=tpu          products as a TPU's (f32)
// FAKE_PJRT_ERROR=ENTRY:CODE:TEXT the entry answers with this error
// FAKE_PJRT_CRASH=ENTRY           the entry ends the process by SIGABRT, after a line as libtpu writes it
// FAKE_PJRT_CRASH_ON=TYPE         executing a program with an operand of this type does so ("i8")
// FAKE_PJRT_HANG=ENTRY            the entry does not return
// FAKE_PJRT_NOTHING=ENTRY         the entry reports success and gives nothing
// FAKE_PJRT_NO_BUFFER=1           operands are copied to no buffer, though an event says that they have been
// FAKE_PJRT_LATE_MS=N             what events stand for happens so much later, on another thread
// FAKE_PJRT_LATE_ERROR=TEXT       events end with this error
// FAKE_PJRT_NULL=ENTRY            the table has a null pointer there
// FAKE_PJRT_LARGER=ENTRY          the entry expects a larger struct, as that of a newer plugin would
// FAKE_PJRT_TABLE_BYTES=N, FAKE_PJRT_VERSION=MAJOR.MINOR, FAKE_PJRT_NO_TABLE=1   a wrong table
//
// Entries are given by their number in pjrt/Abi.h. Like a real plugin it refuses structs that are smaller than its own.
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pjrt/Abi.h"
#include "pjrt/Wire.h"
#include "smalti/module.h"

namespace {

using namespace smalti::pjrt::abi;
using smalti::Array;
using smalti::ArrayType;

std::atomic<int64_t> liveObjects{0};

/// Counts what the client has not destroyed.
struct Counted {
  Counted() { ++liveObjects; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --liveObjects; }
};

struct Error : Counted {
  int code;
  std::string text;
  Error(int code, std::string text) : code(code), text(std::move(text)) {}
};
struct Event : Counted {
  std::shared_future<std::string> done;  ///< text of its error; "": none
};
struct Buffer : Counted {
  Array array;
  int type = 0;
  std::shared_future<std::string> ready;
};
/// Which axes of the mesh split each dimension of an array; no dimensions: each device has all of it.
using Split = std::vector<std::vector<std::string>>;

struct Executable : Counted {
  smalti::Module module;
  std::vector<std::pair<std::string, int64_t>> mesh;
  std::vector<Split> arguments, results;
  std::vector<void*> here;     ///< devices of this process that it is loaded on
  std::vector<int> positions;  ///< of these, among all that it is loaded on
  int numDevices = 1;
  std::atomic<int> numRuns{0};
  explicit Executable(smalti::Module module) : module(std::move(module)) {}
};
struct Topology : Counted {
  std::vector<void*> devices;
};
struct Device {
  int id;
};
struct Client : Counted {
  std::vector<Device> devices;
  std::vector<void*> pointers, here;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Is the fault `name` set for this entry? What follows the number and a colon goes to `rest`.
bool isSet(const char* name, int entry, std::string* rest = nullptr) {
  const std::string value = variable(name), number = std::to_string(entry);
  if (value != number && !value.starts_with(number + ":")) return false;
  if (rest && value.size() > number.size()) *rest = value.substr(number.size() + 1);
  return true;
}

[[noreturn]] void crash() {
  constexpr std::string_view kLine =
      "F0000 00:00:1795440551.870736   13172 latency_table_vf.cc:719] Operation not supported: kFake\n";
  (void)!::write(STDERR_FILENO, kLine.data(), kLine.size());
  std::abort();
}

void* error(int code, std::string text) { return new Error(code, std::move(text)); }

/// When it is over, `work` has been done; late if so wished.
template <class Work>
std::shared_future<std::string> later(Work work) {
  const std::string late = variable("FAKE_PJRT_LATE_MS"), wrong = variable("FAKE_PJRT_LATE_ERROR");
  const auto whole = [late, wrong, work] {
    if (!late.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(late.c_str())));
    if (wrong.empty()) work();
    return wrong;
  };
  std::promise<std::string> promise;
  auto future = promise.get_future().share();
  if (late.empty())
    promise.set_value(whole());
  else
    std::thread([promise = std::move(promise), whole]() mutable { promise.set_value(whole()); }).detach();
  return future;
}

void* eventOf(std::shared_future<std::string> done) {
  auto* event = new Event;
  event->done = std::move(done);
  return event;
}

constexpr std::array<std::pair<int, smalti::DType>, 16> kTypes{{
    {1, smalti::DType::pred},
    {2, smalti::DType::i8},
    {3, smalti::DType::i16},
    {4, smalti::DType::i32},
    {5, smalti::DType::i64},
    {6, smalti::DType::u8},
    {7, smalti::DType::u16},
    {8, smalti::DType::u32},
    {9, smalti::DType::u64},
    {10, smalti::DType::f16},
    {11, smalti::DType::f32},
    {12, smalti::DType::f64},
    {13, smalti::DType::bf16},
    {16, smalti::DType::f8e5m2},
    {17, smalti::DType::f8e4m3fn},
    {21, smalti::DType::i4},
}};

int numberOf(smalti::DType dtype) {
  for (const auto& [number, type] : kTypes)
    if (type == dtype) return number;
  return 0;
}

// ---- what the entries do; each fills its struct or returns an error

void* errorMessage(TextArgs& a) {
  const auto& e = *static_cast<Error*>(a.object);
  a.text = e.text.data();
  a.size = e.text.size();
  return nullptr;
}
void* errorCode(IntArgs& a) {
  a.value = static_cast<Error*>(a.object)->code;
  return nullptr;
}
void* initialize(NoArgs&) { return nullptr; }

template <class Object>
void* destroy(ObjectArgs& a) {
  delete static_cast<Object*>(a.object);
  return nullptr;
}

void* awaitEvent(ObjectArgs& a) {
  const std::string wrong = static_cast<Event*>(a.object)->done.get();
  return wrong.empty() ? nullptr : error(13, wrong);
}
void* isReady(BoolArgs& a) {
  a.value = static_cast<Event*>(a.object)->done.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  return nullptr;
}
void* onReady(OnReadyArgs& a) {
  std::thread([done = static_cast<Event*>(a.event)->done, callback = a.callback, argument = a.argument] {
    const std::string wrong = done.get();
    callback(wrong.empty() ? nullptr : error(13, wrong), argument);
  }).detach();
  return nullptr;
}

/// FAKE_PJRT_PROCESS.
struct Processes {
  int number = 0, count = 1;
  std::string folder;  ///< where they meet
};
Processes processes() {
  Processes p;
  const std::string text = variable("FAKE_PJRT_PROCESS");
  if (text.empty()) return p;
  p.number = std::atoi(text.c_str());
  p.count = std::atoi(text.c_str() + text.find('/') + 1);
  p.folder = text.substr(text.find(':') + 1);
  return p;
}

void* createClient(ClientCreateArgs& a) {
  auto* client = new Client;
  const std::string wished = variable("FAKE_PJRT_DEVICES");
  const int count = wished.empty() ? 2 : std::atoi(wished.c_str());
  const Processes process = processes();
  // Ids need not be positions.
  for (int i = 0; i < count; ++i) client->devices.push_back({10 + i});
  for (int i = 0; i < count; ++i) {
    client->pointers.push_back(&client->devices[static_cast<size_t>(i)]);
    if (i * process.count / count == process.number) client->here.push_back(client->pointers.back());
  }
  a.client = client;
  return nullptr;
}
void* listDevices(ListArgs& a) {
  const auto& client = *static_cast<Client*>(a.object);
  a.items = client.pointers.data();
  a.count = client.pointers.size();
  return nullptr;
}
void* listDevicesHere(ListArgs& a) {
  const auto& client = *static_cast<Client*>(a.object);
  a.items = client.here.data();
  a.count = client.here.size();
  return nullptr;
}
void* describeDevice(GetArgs& a) {
  a.result = a.object;
  return nullptr;
}
void* deviceId(IntArgs& a) {
  a.value = static_cast<Device*>(a.object)->id;
  return nullptr;
}
void* deviceKind(TextArgs& a) {
  a.text = "fake chip";
  a.size = 9;
  return nullptr;
}
void* platformName(TextArgs& a) {
  a.text = "fake";
  a.size = 4;
  return nullptr;
}

void* createTopology(TopologyCreateArgs& a) {
  const std::string name(a.name, a.nameSize);
  if (name.find(':') == std::string::npos) return error(3, "Invalid TPU external name: " + name);
  auto* topology = new Topology;
  topology->devices.resize(4);
  a.topology = topology;
  return nullptr;
}
void* listTopology(ListArgs& a) {
  const auto& topology = *static_cast<Topology*>(a.object);
  a.items = topology.devices.data();
  a.count = topology.devices.size();
  return nullptr;
}

/// `#sdy.sharding<@mesh, [{"x"}, {}]>` of each of the types in a part of main's signature.
std::vector<Split> splitsIn(const std::string& signature) {
  std::vector<Split> splits;
  static const std::regex kType(
      "tensor<[^>]*(<[^>]*>)?[^>]*>( \\{sdy.sharding = #sdy.sharding<@[^,]*, \\[([^\\]]*)\\]>)?");
  static const std::regex kDimension("\\{([^}]*)\\}"), kAxis("\"([^\"]*)\"");
  const std::sregex_iterator none;
  for (std::sregex_iterator type(signature.begin(), signature.end(), kType); type != none; ++type) {
    const std::string dims = (*type)[3];
    Split& split = splits.emplace_back();
    for (std::sregex_iterator d(dims.begin(), dims.end(), kDimension); d != none; ++d) {
      const std::string axes = (*d)[1];
      auto& names = split.emplace_back();
      for (std::sregex_iterator x(axes.begin(), axes.end(), kAxis); x != none; ++x) names.push_back((*x)[1]);
    }
  }
  return splits;
}

void* compileTo(const Program& program, Executable*& executable) {
  if (std::string_view(program.format, program.formatSize) != "mlir") return error(3, "Unknown program format");
  const std::string text(program.code, program.codeSize);
  auto module = smalti::Module::parse(text, "program");
  if (!module) return error(13, module.error().str());
  executable = new Executable(std::move(*module));
  const auto lineWith = [&](const std::string& word) {
    const size_t at = std::min(text.find(word), text.size());
    return text.substr(at, std::min(text.find('\n', at), text.size()) - at);
  };
  const std::string mesh = lineWith("sdy.mesh"), main = lineWith("@main(");
  static const std::regex kAxis("\"([^\"]*)\"=([0-9]+)");
  for (std::sregex_iterator x(mesh.begin(), mesh.end(), kAxis), none; x != none; ++x)
    executable->mesh.emplace_back((*x)[1], std::stoll((*x)[2]));
  const size_t results = std::min(main.find("->"), main.size());
  executable->arguments = splitsIn(main.substr(0, results));
  executable->results = splitsIn(main.substr(results));
  return nullptr;
}
void* compile(CompileArgs& a) {
  Executable* executable = nullptr;
  void* wrong = compileTo(*a.program, executable);
  a.executable = executable;
  return wrong;
}

/// The device ids of CompileOptionsProto.executable_build_options.device_assignment.computation_devices.
std::vector<int64_t> assignedIds(std::string_view options) {
  namespace wire = smalti::pjrt::wire;
  const auto inside = [](std::string_view message, int number) {
    std::vector<std::string_view> found;
    wire::Reader reader(message);
    while (const auto field = reader.next())
      if (field->number == number && !field->bytes.empty()) found.push_back(field->bytes);
    return found;
  };
  std::vector<int64_t> ids;
  for (const auto build : inside(options, 3))
    for (const auto assignment : inside(build, 9))
      for (const auto computation : inside(assignment, 3))
        for (const auto list : inside(computation, 1)) ids.push_back(static_cast<unsigned char>(list[0]));
  return ids;
}

void* clientCompile(ClientCompileArgs& a) {
  const auto& client = *static_cast<Client*>(a.client);
  Executable* executable = nullptr;
  if (void* wrong = compileTo(*a.program, executable)) return wrong;
  const auto ids = assignedIds({a.options, a.optionsSize});
  executable->numDevices = static_cast<int>(ids.size());
  for (size_t position = 0; position < ids.size(); ++position) {
    bool known = false;
    for (size_t i = 0; i < client.devices.size(); ++i) {
      if (client.devices[i].id != ids[position]) continue;
      known = true;
      for (void* here : client.here)
        if (here == client.pointers[i]) {
          executable->here.push_back(here);
          executable->positions.push_back(static_cast<int>(position));
        }
    }
    if (!known) {
      delete executable;
      return error(3, "the device assignment names device " + std::to_string(ids[position]));
    }
  }
  a.loaded = executable;
  return nullptr;
}
void* loadedOn(ListArgs& a) {
  const auto& executable = *static_cast<Executable*>(a.object);
  a.items = executable.here.data();
  a.count = executable.here.size();
  return nullptr;
}

void* getExecutable(GetArgs& a) {
  a.result = new Executable(static_cast<Executable*>(a.object)->module);
  return nullptr;
}
void* countOutputs(CountArgs& a) {
  a.count = static_cast<Executable*>(a.object)->module.results().size();
  return nullptr;
}
void* serialize(SerializeArgs& a) {
  a.handle = new std::string("a fake executable");
  a.bytes = static_cast<std::string*>(a.handle)->data();
  a.size = static_cast<std::string*>(a.handle)->size();
  a.destroy = [](void* handle) { delete static_cast<std::string*>(handle); };
  return nullptr;
}

void* fromHost(BufferFromHostArgs& a) {
  std::optional<ArrayType> type;
  for (const auto& [number, dtype] : kTypes)
    if (number == a.type) type = ArrayType{dtype, {a.dims, a.dims + a.numDims}};
  if (!type) return error(12, "no such element type");
  if (!variable("FAKE_PJRT_NO_BUFFER").empty()) {
    a.doneWithHostBuffer = eventOf(later([] {}));
    return nullptr;
  }
  auto* buffer = new Buffer;
  buffer->array = *Array::allocate(*type);
  buffer->type = a.type;
  // The semantics say that the data is there during the call only.
  std::memcpy(buffer->array.data(), a.data, static_cast<size_t>(type->bytes()));
  buffer->ready = later([] {});
  a.buffer = buffer;
  a.doneWithHostBuffer = eventOf(buffer->ready);
  return nullptr;
}
void* bufferType(IntArgs& a) {
  a.value = static_cast<Buffer*>(a.object)->type;
  return nullptr;
}
void* bufferDims(DimensionsArgs& a) {
  const auto& shape = static_cast<Buffer*>(a.object)->array.shape();
  a.dims = shape.data();
  a.count = shape.size();
  return nullptr;
}
void* toHost(ToHostArgs& a) {
  auto& buffer = *static_cast<Buffer*>(a.source);
  const auto bytes = static_cast<size_t>(buffer.array.bytes());
  if (!a.destination) {
    a.size = bytes;
    return nullptr;
  }
  if (!a.layout || a.layout->type != 0 || a.layout->tiled.minorToMajorSize != buffer.array.shape().size())
    return error(3, "no row-major layout");
  if (a.size < bytes) return error(3, "the destination is too small");
  a.event = eventOf(later([to = a.destination, from = buffer.array, ready = buffer.ready, bytes] {
    ready.wait();
    std::memcpy(to, from.data(), bytes);
  }));
  return nullptr;
}

/// The shape of a device's part, and where it begins.
struct Part {
  smalti::Shape shape, start;
};
Part partOf(const Executable& executable, const smalti::Shape& whole, const Split& split, int position) {
  std::map<std::string, std::pair<int64_t, int64_t>> axes;  // size, and where the device is
  for (auto axis = executable.mesh.rbegin(); axis != executable.mesh.rend(); ++axis) {
    axes[axis->first] = {axis->second, position % axis->second};
    position = static_cast<int>(position / axis->second);
  }
  Part part{whole, smalti::Shape(whole.size(), 0)};
  for (size_t d = 0; d < split.size() && d < whole.size(); ++d) {
    for (const std::string& axis : split[d]) {
      part.shape[d] /= axes[axis].first;
      part.start[d] = part.start[d] * axes[axis].first + axes[axis].second;
    }
    part.start[d] *= part.shape[d];
  }
  return part;
}

void copyPart(const ArrayType& whole, const Part& part, std::byte* wholeData, std::byte* partData, bool toWhole) {
  const size_t elementBytes = whole.elements() > 0 ? static_cast<size_t>(whole.bytes() / whole.elements()) : 1;
  for (int64_t i = 0, n = smalti::num_elements(part.shape); i < n; ++i) {
    int64_t rest = i, offset = 0, stride = 1;
    for (size_t d = whole.shape.size(); d-- > 0;) {
      offset += (part.start[d] + rest % part.shape[d]) * stride;
      rest /= part.shape[d];
      stride *= whole.shape[d];
    }
    std::byte* there = wholeData + static_cast<size_t>(offset) * elementBytes;
    std::byte* here = partData + static_cast<size_t>(i) * elementBytes;
    std::memcpy(toWhole ? there : here, toWhole ? here : there, elementBytes);
  }
}

/// What the other processes' devices got, by files; those of this one are given.
void exchange(const Executable& executable, size_t argument, int run, std::vector<Array>& parts) {
  namespace fs = std::filesystem;
  const Processes process = processes();
  if (process.count == 1 || executable.here.size() == static_cast<size_t>(executable.numDevices)) return;
  const auto fileOf = [&](int position) {
    return process.folder + "/" + std::to_string(run) + "." + std::to_string(argument) + "." + std::to_string(position);
  };
  const ArrayType type = parts[static_cast<size_t>(executable.positions[0])].type();
  for (const int position : executable.positions) {
    const Array& own = parts[static_cast<size_t>(position)];
    std::ofstream(fileOf(position) + ".part", std::ios::binary)
        .write(reinterpret_cast<const char*>(own.data()), own.bytes());
    fs::rename(fileOf(position) + ".part", fileOf(position));
  }
  for (int position = 0; position < executable.numDevices; ++position) {
    Array& part = parts[static_cast<size_t>(position)];
    if (part.data()) continue;
    part = *Array::allocate(type);
    while (!fs::exists(fileOf(position))) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::ifstream(fileOf(position), std::ios::binary).read(reinterpret_cast<char*>(part.data()), part.bytes());
  }
}

void* execute(ExecuteArgs& a) {
  auto& executable = *static_cast<Executable*>(a.loaded);
  const smalti::Module& module = executable.module;
  if (a.numArguments != module.arguments().size()) return error(3, "wrong number of arguments");
  if (a.numDevices != executable.here.size()) return error(3, "wrong number of devices");
  for (const ArrayType& type : module.arguments())
    if (name(type.dtype) == variable("FAKE_PJRT_CRASH_ON")) crash();
  const int run = executable.numRuns++;
  std::vector<Array> inputs;
  for (size_t i = 0; i < a.numArguments; ++i) {
    std::vector<Array> parts(static_cast<size_t>(executable.numDevices));
    for (size_t d = 0; d < a.numDevices; ++d) {
      auto& buffer = *static_cast<Buffer*>(a.arguments[d][i]);
      buffer.ready.wait();
      parts[static_cast<size_t>(executable.positions[d])] = buffer.array;
    }
    exchange(executable, i, run, parts);
    const ArrayType& type = module.arguments()[i];
    Array input = *Array::allocate(type);
    for (size_t position = 0; position < parts.size(); ++position) {
      const Part part = partOf(executable, type.shape, executable.arguments[i], static_cast<int>(position));
      if (part.shape != parts[position].shape())
        return error(3, "operand " + std::to_string(i) + " is not of the shape that the program says");
      copyPart(type, part, input.data(), parts[position].data(), true);
    }
    inputs.push_back(std::move(input));
  }
  smalti::Settings settings;
  (void)settings.set("target", "interpret");
  if (const std::string numerics = variable("FAKE_PJRT_NUMERICS"); !numerics.empty())
    (void)settings.set("numerics", numerics);
  auto ran = module.run(inputs, settings);
  if (!ran) return error(13, ran.error().str());
  for (size_t d = 0; d < a.numDevices; ++d) {
    const auto done = later([] {});
    for (size_t i = 0; i < ran->results.size(); ++i) {
      Array& all = ran->results[i];
      const Part part = partOf(executable, all.shape(), executable.results[i], executable.positions[d]);
      const ArrayType type{all.dtype(), part.shape};
      auto* buffer = new Buffer;
      buffer->array = *Array::allocate(type);
      buffer->type = numberOf(type.dtype);
      buffer->ready = done;
      copyPart(all.type(), part, all.data(), buffer->array.data(), false);
      a.outputs[d][i] = buffer;
    }
    if (a.events) a.events[d] = eventOf(done);
  }
  return nullptr;
}

// ---- the table

/// The entry as the client calls it: faults first, then the struct's size, then what it does.
template <int kEntry, class Args, void* (*kDo)(Args&)>
void* entry(void* pointer) {
  std::string rest;
  if (isSet("FAKE_PJRT_CRASH", kEntry)) crash();
  while (isSet("FAKE_PJRT_HANG", kEntry)) ::pause();
  if (isSet("FAKE_PJRT_NOTHING", kEntry)) return nullptr;
  if (isSet("FAKE_PJRT_ERROR", kEntry, &rest)) {
    const size_t colon = rest.find(':');
    return error(std::atoi(rest.c_str()), colon == std::string::npos ? "" : rest.substr(colon + 1));
  }
  auto& args = *static_cast<Args*>(pointer);
  const size_t needed = sizeof(Args) + (isSet("FAKE_PJRT_LARGER", kEntry) ? 16 : 0);
  if (args.structSize < needed)
    return error(3, "Unexpected PJRT args size: expected " + std::to_string(needed) + ", got " +
                        std::to_string(args.structSize) + ". The plugin is likely built with a later version.");
  return kDo(args);
}

struct Table {
  ApiHead head;
  std::array<EntryFunction, kNumEntries> entries{};
};

#define ENTRY(NUMBER, ARGS, ...) table.entries[NUMBER] = entry<NUMBER, ARGS, __VA_ARGS__>

Table makeTable() {
  Table table{};
  table.head = {.structSize = sizeof(Table),
                .extensions = nullptr,
                .versionStructSize = 24,
                .versionExtensions = nullptr,
                .major = 0,
                .minor = 117};
  ENTRY(kErrorDestroy, ObjectArgs, destroy<Error>);
  ENTRY(kErrorMessage, TextArgs, errorMessage);
  ENTRY(kErrorGetCode, IntArgs, errorCode);
  ENTRY(kPluginInitialize, NoArgs, initialize);
  ENTRY(kEventDestroy, ObjectArgs, destroy<Event>);
  ENTRY(kEventIsReady, BoolArgs, isReady);
  ENTRY(kEventAwait, ObjectArgs, awaitEvent);
  ENTRY(kEventOnReady, OnReadyArgs, onReady);
  ENTRY(kClientCreate, ClientCreateArgs, createClient);
  ENTRY(kClientDestroy, ObjectArgs, destroy<Client>);
  ENTRY(kClientPlatformName, TextArgs, platformName);
  ENTRY(kClientDevices, ListArgs, listDevices);
  ENTRY(kClientAddressableDevices, ListArgs, listDevicesHere);
  ENTRY(kClientCompile, ClientCompileArgs, clientCompile);
  ENTRY(kClientBufferFromHostBuffer, BufferFromHostArgs, fromHost);
  ENTRY(kDeviceDescriptionId, IntArgs, deviceId);
  ENTRY(kDeviceDescriptionKind, TextArgs, deviceKind);
  ENTRY(kDeviceGetDescription, GetArgs, describeDevice);
  ENTRY(kExecutableDestroy, ObjectArgs, destroy<Executable>);
  ENTRY(kExecutableNumOutputs, CountArgs, countOutputs);
  ENTRY(kExecutableSerialize, SerializeArgs, serialize);
  ENTRY(kLoadedExecutableDestroy, ObjectArgs, destroy<Executable>);
  ENTRY(kLoadedExecutableGetExecutable, GetArgs, getExecutable);
  ENTRY(kLoadedExecutableAddressableDevices, ListArgs, loadedOn);
  ENTRY(kLoadedExecutableExecute, ExecuteArgs, execute);
  ENTRY(kBufferDestroy, ObjectArgs, destroy<Buffer>);
  ENTRY(kBufferElementType, IntArgs, bufferType);
  ENTRY(kBufferDimensions, DimensionsArgs, bufferDims);
  ENTRY(kBufferToHostBuffer, ToHostArgs, toHost);
  ENTRY(kTopologyCreate, TopologyCreateArgs, createTopology);
  ENTRY(kTopologyDestroy, ObjectArgs, destroy<Topology>);
  ENTRY(kTopologyGetDeviceDescriptions, ListArgs, listTopology);
  ENTRY(kCompile, CompileArgs, compile);
  if (const std::string null = variable("FAKE_PJRT_NULL"); !null.empty())
    table.entries[static_cast<size_t>(std::atoi(null.c_str()))] = nullptr;
  if (const std::string bytes = variable("FAKE_PJRT_TABLE_BYTES"); !bytes.empty())
    table.head.structSize = std::strtoull(bytes.c_str(), nullptr, 10);
  if (const std::string version = variable("FAKE_PJRT_VERSION"); !version.empty()) {
    table.head.major = std::atoi(version.c_str());
    table.head.minor = std::atoi(version.c_str() + version.find('.') + 1);
  }
  return table;
}

}  // namespace

extern "C" {
const void* GetPjrtApi() {
  static const Table kTable = makeTable();
  return variable("FAKE_PJRT_NO_TABLE").empty() ? &kTable : nullptr;
}
/// What the client has not destroyed.
int64_t FakePjrtLiveObjects() { return liveObjects; }
}
