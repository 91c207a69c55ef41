// obol doctor: what this build can do on this machine, measured.
#include <iostream>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/tensor_part.h"
#include "obol/base/console.h"
#include "obol/base/random.h"
#include "obol/base/text.h"
#include "obol/base/version.h"
#include "obol/data/catalogue.h"

namespace obol::cli {
namespace {

using nlohmann::json;

constexpr double kSlowBlas = 10.0;  // GFLOP/s a thread; a tuned BLAS has several times that

struct Part {
  const char* name;
  bool is_there;
};

constexpr std::array<Part, 5> kParts = {{{"torch", OBOL_HAS_TORCH != 0},
                                         {"cuda", OBOL_HAS_CUDA != 0},
                                         {"png", OBOL_HAS_PNG != 0},
                                         {"jpeg", OBOL_HAS_JPEG != 0},
                                         {"federated", OBOL_HAS_FEDERATED != 0}}};

json to_json(const TensorFacts& facts) {
  json gpus = json::array();
  for (const GpuFacts& gpu : facts.gpus)
    gpus.push_back({{"name", gpu.name},
                    {"memory_bytes", gpu.memory_bytes},
                    {"compute", fmt::format("{}.{}", gpu.compute_major, gpu.compute_minor)},
                    {"gflops", gpu.gflops}});
  return {{"libtorch", facts.libtorch_version},
          {"libtorch_has_cuda", facts.libtorch_has_cuda},
          {"threads", facts.threads},
          {"blas", facts.blas},
          {"gflops", facts.gflops},
          {"gpus", gpus},
          {"gpu_problem", facts.gpu_problem}};
}

void print_line(std::string_view what, std::string_view value) {
  std::cout << fmt::format("  {:<14}{}\n", what, value);
}

void print(const TensorFacts& facts) {
  print_line("LibTorch", fmt::format("{}, {} CUDA, {} threads", facts.libtorch_version,
                                     facts.libtorch_has_cuda ? "with" : "without", facts.threads));
  print_line("BLAS",
             fmt::format("{}, {:.0f} GFLOP/s in a float32 product", facts.blas, facts.gflops));
  for (const GpuFacts& gpu : facts.gpus) {
    std::string line =
        fmt::format("{}, {}, compute capability {}.{}", gpu.name, human_bytes(gpu.memory_bytes),
                    gpu.compute_major, gpu.compute_minor);
    line += gpu.gflops > 0 ? fmt::format(", {:.0f} GFLOP/s in a float32 product", gpu.gflops)
                           : ", but this LibTorch cannot use it";
    print_line("GPU", line);
  }
  if (facts.gpus.empty()) print_line("GPU", fmt::format("none ({})", facts.gpu_problem));
}

void warn(const TensorFacts& facts) {
  if (facts.gflops < kSlowBlas * facts.threads)
    log_warning(
        "BLAS must reach {:.0f} GFLOP/s here to train in reasonable time, but reaches {:.1f}: "
        "install libopenblas0-openmp",
        kSlowBlas * facts.threads, facts.gflops);
}

ExitCode doctor(bool as_json) {
  const TensorPart* tensors = tensor_part();
  json all = {{"version", version()},
              {"commit", commit()},
              {"cores", std::thread::hardware_concurrency()},
              {"random_bits", SecureBits().provenance()},
              {"data_folder", data::data_folder().string()}};
  if (!as_json) {
    std::cout << fmt::format("obol {} ({})\n", version(), commit());
    print_line("cores", fmt::format("{}", std::thread::hardware_concurrency()));
    print_line("random bits", SecureBits().provenance());
    print_line("data folder", data::data_folder().string());
  }
  std::string parts;
  for (const Part& part : kParts) {
    all["parts"][part.name] = part.is_there;
    parts +=
        fmt::format("{}{} {}", parts.empty() ? "" : ", ", part.name, part.is_there ? "yes" : "no");
  }
  if (!as_json) print_line("parts", parts);
  if (tensors != nullptr) {
    const TensorFacts facts = tensors->facts();
    all["tensors"] = to_json(facts);
    if (!as_json) print(facts);
    warn(facts);
  }
  if (as_json) std::cout << all.dump(2) << '\n';
  return ExitCode::kOk;
}

}  // namespace

void add_doctor(CLI::App& root, Action& action) {
  CLI::App* command =
      root.add_subcommand("doctor", "what this build can do on this machine, measured");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "for programs");
  command->callback([&action, as_json] { action = [as_json] { return doctor(*as_json); }; });
}

}  // namespace obol::cli
