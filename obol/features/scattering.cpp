#include "obol/features/scattering.h"

#include <algorithm>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/features/dense_scattering.h"
#include "obol/features/scattering_block.h"

namespace obol::features {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Blocks = std::shared_ptr<const BlockScattering>;

constexpr auto kRecords = static_cast<std::int64_t>(kLanes);

// Images [planes, pixels] and features [planes, dimension] of them are one contiguous matrix each,
// whose row is one colour of one record.
struct Planes {
  std::int64_t records;
  std::int64_t colours;
  std::int64_t pixels;
  std::int64_t features;
};

// Calls body(first plane, distance between the planes of a block, number of them, scratch). A block
// is one colour of up to 16 records.
template <class Body>
void for_blocks(const BlockScattering& blocks, const Planes& planes, const Body& body) {
  const std::int64_t groups = (planes.records + kRecords - 1) / kRecords;
  at::parallel_for(0, groups * planes.colours, 1, [&](std::int64_t begin, std::int64_t end) {
    Scratch scratch = blocks.scratch();
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t record = item / planes.colours * kRecords;
      const std::int64_t count = std::min(kRecords, planes.records - record);
      body(record * planes.colours + item % planes.colours, static_cast<std::size_t>(count),
           scratch);
    }
  });
}

Planes planes_of(const BlockScattering& blocks, const Tensor& rows) {
  const BlockShape& shape = blocks.shape();
  const auto pixels = static_cast<std::int64_t>(shape.height * shape.width);
  return {.records = rows.size(0),
          .colours = rows.size(1) / pixels,
          .pixels = pixels,
          .features = static_cast<std::int64_t>(shape.channels() * shape.pixels())};
}

BlockImages images_at(const float* rows, const Planes& planes, std::int64_t plane,
                      std::size_t count) {
  return {.first = rows + plane * planes.pixels,
          .stride = static_cast<std::size_t>(planes.colours * planes.pixels),
          .count = count};
}

// Of contiguous floats [n, colours * pixels].
Tensor scatter(const BlockScattering& blocks, const Tensor& rows) {
  const Planes planes = planes_of(blocks, rows);
  Tensor features = at::empty({planes.records, planes.colours * planes.features}, rows.options());
  const auto* from = rows.data_ptr<float>();
  auto* to = features.data_ptr<float>();
  const auto stride = static_cast<std::size_t>(planes.colours * planes.features);
  for_blocks(blocks, planes, [&](std::int64_t plane, std::size_t count, Scratch& scratch) {
    blocks.forward(images_at(from, planes, plane, count), to + plane * planes.features, stride,
                   scratch);
  });
  return features;
}

Tensor gradient_of(const BlockScattering& blocks, const Tensor& rows, const Tensor& of_features) {
  const Planes planes = planes_of(blocks, rows);
  Tensor of_rows = at::empty_like(rows);
  const auto* from = rows.data_ptr<float>();
  const auto* gradient = of_features.data_ptr<float>();
  auto* to = of_rows.data_ptr<float>();
  const auto stride = static_cast<std::size_t>(planes.colours * planes.features);
  for_blocks(blocks, planes, [&](std::int64_t plane, std::size_t count, Scratch& scratch) {
    blocks.gradient(images_at(from, planes, plane, count), gradient + plane * planes.features,
                    stride, to + plane * planes.pixels, scratch);
  });
  return of_rows;
}

// Keeps a shared pointer beside the tensors of a node of the graph.
struct KeptBlocks : torch::CustomClassHolder {
  explicit KeptBlocks(Blocks blocks) : blocks(std::move(blocks)) {}
  Blocks blocks;
};

class ScatteringOnCpu : public torch::autograd::Function<ScatteringOnCpu> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& images, const Blocks& blocks) {
    const Tensor rows = images.contiguous();
    context->save_for_backward({rows});
    context->saved_data["blocks"] =
        c10::IValue::make_capsule(c10::make_intrusive<KeptBlocks>(blocks));
    return scatter(*blocks, rows);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto kept = context->saved_data["blocks"].toCapsule();
    const Blocks& blocks = static_cast<const KeptBlocks&>(*kept).blocks;
    const Tensor rows = context->get_saved_variables()[0];
    return {gradient_of(*blocks, rows, gradients[0].contiguous()), Tensor()};
  }
};

// [n, 1, rows, columns] to moduli [n, angles, rows / stride, columns / stride].
Tensor moduli_of(const Tensor& planes, const Tensor& wavelets, std::int64_t stride) {
  const std::int64_t padding = (wavelets.size(-1) - stride) / 2;
  const Tensor answers = at::conv2d(planes, wavelets.to(planes.options()), {}, stride, padding);
  const Tensor squares = answers.unflatten(1, {-1, 2}).square().sum(2);
  return (squares + kSmoothing).sqrt();
}

Tensor low_passed(const Tensor& planes, const Tensor& low, std::int64_t stride) {
  const std::int64_t padding = (low.size(-1) - stride) / 2;
  const Tensor alone = planes.flatten(0, 1).unsqueeze(1);
  // A GPU may answer in another layout.
  return at::conv2d(alone, low.to(planes.options()), {}, stride, padding)
      .reshape({planes.size(0), planes.size(1), planes.size(2) / stride, planes.size(3) / stride});
}

BlockShape block_shape(const data::ImageShape& shape, int order) {
  if (order != 1 && order != 2)
    throw InvalidArgument(violation("The order of a scattering", "1 or 2", order));
  if (shape.channels < 1 || shape.height < 1 || shape.width < 1)
    throw InvalidArgument(
        violation("The shape of images to scatter", "positive", to_string(shape)));
  return {.height = static_cast<std::size_t>(shape.height),
          .width = static_cast<std::size_t>(shape.width),
          .order = order};
}

}  // namespace

Scattering::Scattering(const data::ImageShape& shape, const ScatteringOptions& options)
    : shape_(shape),
      blocks_(std::make_shared<const BlockScattering>(block_shape(shape, options.order))) {
  const ScatteringWeights weights = scattering_weights();
  if (!options.device.is_cpu() && DenseScattering::fits(shape.height, shape.width))
    dense_ = std::make_shared<const DenseScattering>(weights, shape.height, shape.width,
                                                     options.order, options.device);
  fine_ = weights.fine.to(options.device);
  coarse_ = weights.coarse.to(options.device);
  low_ = weights.low.to(options.device);
  low_halved_ = weights.low_halved.to(options.device);
}

std::int64_t Scattering::channels() const {
  return shape_.channels * static_cast<std::int64_t>(blocks_->shape().channels());
}
std::int64_t Scattering::height() const {
  return static_cast<std::int64_t>(blocks_->shape().rows() / 4);
}
std::int64_t Scattering::width() const {
  return static_cast<std::int64_t>(blocks_->shape().columns() / 4);
}

Tensor Scattering::as_rows(const Tensor& images) const {
  const Tensor rows = images.dim() == 4 ? images.flatten(1) : images;
  if (rows.dim() != 2 || rows.size(1) != shape_.pixels())
    throw InvalidArgument(violation("A batch to scatter",
                                    fmt::format("of images of {}", to_string(shape_)),
                                    fmt::format("[{}]", fmt::join(images.sizes(), ", "))));
  return rows;
}

Tensor Scattering::shaped(const Tensor& features) const {
  return features.view({features.size(0), channels(), height(), width()});
}

Tensor Scattering::operator()(const Tensor& images) const {
  if (images.scalar_type() != torch::kFloat) return reference(images);
  if (!images.is_cpu())
    return dense_ ? shaped((*dense_)(as_rows(images).reshape({-1, shape_.height * shape_.width})))
                  : reference(images);
  return shaped(ScatteringOnCpu::apply(as_rows(images), blocks_));
}

Tensor Scattering::of_records(const Tensor& images) const {
  const torch::NoGradGuard no_grad;
  const Tensor rows = as_rows(images).to(torch::kCPU, torch::kFloat).contiguous();
  return shaped(scatter(*blocks_, rows)).to(images.device());
}

Tensor Scattering::reference(const Tensor& images) const {
  const BlockShape& shape = blocks_->shape();
  const std::int64_t below = 4 * height() - shape_.height;
  const std::int64_t beside = 4 * width() - shape_.width;
  const Tensor planes = as_rows(images).reshape({-1, 1, shape_.height, shape_.width});
  const Tensor x =
      at::constant_pad_nd(planes, {beside / 2, beside - beside / 2, below / 2, below - below / 2});
  const Tensor fine = moduli_of(x, fine_, 1);
  std::vector<Tensor> parts = {low_passed(x, low_, 4), low_passed(fine, low_, 4),
                               low_passed(moduli_of(x, coarse_, 2), low_halved_, 2)};
  if (shape.order == 2) {
    const Tensor second = moduli_of(fine.flatten(0, 1).unsqueeze(1), coarse_, 2);
    parts.push_back(low_passed(second.reshape({x.size(0), -1, second.size(2), second.size(3)}),
                               low_halved_, 2));
  }
  return at::cat(parts, 1).reshape({images.size(0), channels(), height(), width()});
}

}  // namespace obol::features
