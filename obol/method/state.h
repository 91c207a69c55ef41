// Tensors, networks and optimisers as sections of a checkpoint: numbers and shapes, in the layout
// of obol/base/tensor_file.h, under the checksum of the checkpoint.
//
//   sections["generator"] = saved(*generator);
//   restore(sections, "generator", *generator);
//
// What is restored is there already, with its shape and type, and takes the numbers: a section
// never decides how much memory is used. DataError where there is no such section, where a tensor
// is missing or left over, and where one has another shape or type.
#pragma once

#include <string>
#include <vector>

#include <torch/torch.h>

#include "obol/run/checkpoint.h"

namespace obol::method {

std::string saved(const torch::Tensor& tensor);
std::string saved(const std::vector<torch::Tensor>& tensors);
std::string saved(const torch::nn::Module& module);
// What it keeps of each parameter; its options are the recipe's affair.
std::string saved(torch::optim::Optimizer& optimizer);

void restore(const run::Sections& sections, const char* name, const torch::Tensor& to);
void restore(const run::Sections& sections, const char* name, const std::vector<torch::Tensor>& to);
void restore(const run::Sections& sections, const char* name, const torch::nn::Module& to);
void restore(const run::Sections& sections, const char* name, torch::optim::Optimizer& to);

// A number that is a section of its own; not negative.
std::int64_t restored_number(const run::Sections& sections, const char* name);

}  // namespace obol::method
