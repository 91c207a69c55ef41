#include "obol/method/state.h"

#include <memory>
#include <span>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/base/text.h"
#include "obol/method/optimizer.h"
#include "obol/model/tensors.h"

namespace obol::method {
namespace {

using model::TensorReader;
using model::TensorWriter;
using torch::Tensor;
using torch::optim::AdamParamState;
using torch::optim::SGDParamState;

const TensorTexts kOfCheckpoint = {{"kind", "checkpoint"}};

const std::string& section(const run::Sections& sections, const char* name) {
  const auto found = sections.find(name);
  if (found == sections.end())
    throw DataError(fmt::format("a checkpoint must have the section \"{}\", but has none", name));
  return found->second;
}

TensorReader reader_of(const run::Sections& sections, const char* name) {
  TensorFile file(std::as_bytes(std::span(section(sections, name))),
                  fmt::format("the section {} of a checkpoint", name), TensorSum::kElsewhere);
  if (file.texts() != kOfCheckpoint)
    throw DataError(violation(fmt::format("the section {} of a checkpoint", name),
                              "tensors of a checkpoint", "something else"));
  return TensorReader(std::move(file));
}

bool is_adam(const torch::optim::Optimizer& optimizer) {
  return dynamic_cast<const torch::optim::Adam*>(&optimizer) != nullptr;
}

const std::vector<Tensor>& parameters_of(torch::optim::Optimizer& optimizer) {
  return optimizer.param_groups().front().params();
}

// The tensors of one parameter are "17.first" and so on.
std::string name_in(std::size_t parameter, const char* what) {
  return fmt::format("{}.{}", parameter, what);
}
constexpr const char* kStep = "step";
constexpr const char* kFirst = "first";    // Adam's mean of gradients, SGD's momentum
constexpr const char* kSecond = "second";  // Adam's mean of their squares

Tensor copied_like(TensorReader& reader, const std::string& name, const Tensor& like) {
  const Tensor to = torch::empty_like(like.detach());
  reader.copy(name, to);
  return to;
}

}  // namespace

std::string saved(const Tensor& tensor) { return saved(std::vector<Tensor>{tensor}); }

std::string saved(const std::vector<Tensor>& tensors) {
  TensorWriter writer;
  for (std::size_t k = 0; k < tensors.size(); ++k) writer.add(std::to_string(k), tensors[k]);
  return writer.bytes(kOfCheckpoint, TensorSum::kElsewhere);
}

std::string saved(const torch::nn::Module& module) {
  TensorWriter writer;
  writer.add(module);
  return writer.bytes(kOfCheckpoint, TensorSum::kElsewhere);
}

std::string saved(torch::optim::Optimizer& optimizer) {
  TensorWriter writer;
  const std::vector<Tensor>& parameters = parameters_of(optimizer);
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const auto found = optimizer.state().find(key_of(optimizer.state(), parameters[k]));
    if (found == optimizer.state().end()) continue;
    if (is_adam(optimizer)) {
      const auto& own = static_cast<const AdamParamState&>(*found->second);
      writer.add(name_in(k, kStep), torch::full({}, own.step(), torch::kLong));
      writer.add(name_in(k, kFirst), own.exp_avg());
      writer.add(name_in(k, kSecond), own.exp_avg_sq());
    } else {
      const auto& own = static_cast<const SGDParamState&>(*found->second);
      if (own.momentum_buffer().defined()) writer.add(name_in(k, kFirst), own.momentum_buffer());
    }
  }
  return writer.bytes(kOfCheckpoint, TensorSum::kElsewhere);
}

void restore(const run::Sections& sections, const char* name, const Tensor& to) {
  restore(sections, name, std::vector<Tensor>{to});
}

void restore(const run::Sections& sections, const char* name, const std::vector<Tensor>& to) {
  TensorReader reader = reader_of(sections, name);
  for (std::size_t k = 0; k < to.size(); ++k) reader.copy(std::to_string(k), to[k]);
  reader.finish();
}

void restore(const run::Sections& sections, const char* name, const torch::nn::Module& to) {
  TensorReader reader = reader_of(sections, name);
  reader.copy(to);
  reader.finish();
}

void restore(const run::Sections& sections, const char* name, torch::optim::Optimizer& to) {
  TensorReader reader = reader_of(sections, name);
  const std::vector<Tensor>& parameters = parameters_of(to);
  to.state().clear();
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    if (!reader.has(name_in(k, kFirst))) continue;
    auto& state = to.state()[key_of(to.state(), parameters[k])];
    const Tensor first = copied_like(reader, name_in(k, kFirst), parameters[k]);
    if (is_adam(to)) {
      const Tensor step = torch::zeros({}, torch::kLong);
      reader.copy(name_in(k, kStep), step);
      auto own = std::make_unique<AdamParamState>();
      own->step(step.item<std::int64_t>());
      own->exp_avg(first);
      own->exp_avg_sq(copied_like(reader, name_in(k, kSecond), parameters[k]));
      state = std::move(own);
    } else {
      auto own = std::make_unique<SGDParamState>();
      own->momentum_buffer(first);
      state = std::move(own);
    }
  }
  reader.finish();
}

std::int64_t restored_number(const run::Sections& sections, const char* name) {
  const auto number = parse_integer(section(sections, name));
  if (!number || *number < 0)
    throw DataError(fmt::format(
        "the section \"{}\" of a checkpoint must be a number of steps, but is not", name));
  return *number;
}

}  // namespace obol::method
